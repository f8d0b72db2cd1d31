#include "worker/checkpoint_saver.h"

#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/output_file.h"
#include "base/state_file.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"
#include "spdlog/spdlog.h"

namespace weir::worker {
namespace {

class FolderSaver final : public CheckpointSaver {
 public:
  FolderSaver(ControlClient* control, const Progress* progress) : control_(control), progress_(progress) {}
  ~FolderSaver() override { WaitForWriting(); }

  absl::Status Save(const Moment& moment, const std::function<void(StateVisitor*)>& visit) override {
    WaitForWriting();
    std::string bytes;
    bytes.reserve(bytes_before_ + bytes_before_ / 8);
    SaveCheckpointRequest request;
    WEIR_RETURN_IF_ERROR(Collect(visit, &bytes, request.mutable_file()));
    bytes_before_ = bytes.size();
    const std::string& dir = control_->checkpoint_dir();
    WEIR_RETURN_IF_ERROR(BeginCheckpoint(dir, moment.step));
    const std::string path = absl::StrCat(UnfinishedCheckpoint(dir, moment.step), "/", request.file().name());
    writing_ = std::thread([this, step = moment.step, path, bytes = std::move(bytes)] { Write(step, path, bytes); });
    request.set_step(moment.step);
    request.mutable_position()->set_ranges(moment.position.ranges);
    request.mutable_position()->set_rows(moment.position.rows);
    request.set_last(moment.last);
    request.set_steps(progress_->steps());
    request.set_samples(progress_->samples());
    return control_->SaveCheckpoint(std::move(request));
  }

 private:
  absl::Status Collect(const std::function<void(StateVisitor*)>& visit, std::string* bytes, SavedFile* saved) {
    const std::unique_ptr<StateFileWriter> file = StateFileWriter::InMemory(bytes);
    StateSaver saver(file.get());
    visit(&saver);
    WEIR_RETURN_IF_ERROR(saver.status());
    WEIR_ASSIGN_OR_RETURN(const StateFileInfo info, file->Finish());
    saved->set_name(WorkerFileName(control_->index()));
    saved->set_bytes(info.bytes);
    saved->set_checksum(info.checksum);
    return absl::OkStatus();
  }

  // On a thread of its own: training goes on.
  void Write(int64_t step, const std::string& path, const std::string& bytes) {
    const auto write = [&]() -> absl::Status {
      WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(path));
      WEIR_RETURN_IF_ERROR(file->Write(bytes));
      WEIR_RETURN_IF_ERROR(file->Sync());
      return control_->CheckpointWritten(step);
    };
    const absl::Status status = write();
    if (status.ok()) return;
    const std::string why = absl::StrCat("worker ", control_->index(), ": the checkpoint before step ", step,
                                         " could not be saved, earlier ones stay: ", status.message());
    if (const absl::Status stopped = control_->Stop(why); !stopped.ok()) spdlog::error("{}; nor could the coordinator be told", why);
  }

  void WaitForWriting() {
    if (writing_.joinable()) writing_.join();
  }

  ControlClient* const control_;
  const Progress* const progress_;
  size_t bytes_before_ = 0;  // of the last file
  std::thread writing_;      // of it
};

}  // namespace

std::unique_ptr<CheckpointSaver> CheckpointSaver::Create(ControlClient* control, const Progress* progress) {
  if (control->checkpoint_dir().empty()) return nullptr;
  return std::make_unique<FolderSaver>(control, progress);
}

}  // namespace weir::worker
