#include "worker/checkpoint_saver.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/state_file.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"
#include "proto/checkpoint_schedule.h"

namespace weir::worker {
namespace {

// How often the coordinator is asked whether the time has come.
constexpr int64_t kAskEvery = 16;  // steps

class FolderSaver final : public CheckpointSaver {
 public:
  FolderSaver(ControlClient* control, const Progress* progress, CheckpointSchedule schedule)
      : control_(control), progress_(progress), schedule_(schedule) {}

  absl::StatusOr<bool> Due(int64_t step) override {
    if (step == 0) return false;
    if (schedule_.steps > 0) return step % schedule_.steps == 0;
    if (step % kAskEvery != 0) return false;
    return control_->CheckpointDue(step);
  }

  absl::Status Save(const Moment& moment, const std::function<void(StateVisitor*)>& visit) override {
    const int64_t step = moment.step;
    const std::string& dir = control_->checkpoint_dir();
    // One makes the folder, before anybody writes into it.
    if (control_->index() == 0) WEIR_RETURN_IF_ERROR(BeginCheckpoint(dir, step));
    WEIR_RETURN_IF_ERROR(
        control_->Barrier(absl::StrCat("checkpoint ", step), absl::Seconds(control_->job().cluster().call_timeout_seconds())));
    SaveCheckpointRequest request;
    request.mutable_file()->set_name(WorkerFileName(control_->index()));
    const std::string path = absl::StrCat(UnfinishedCheckpoint(dir, step), "/", request.file().name());
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StateFileWriter> file, StateFileWriter::Create(path));
    StateSaver saver(file.get());
    visit(&saver);
    WEIR_RETURN_IF_ERROR(saver.status());
    WEIR_ASSIGN_OR_RETURN(const StateFileInfo info, file->Finish());
    request.mutable_file()->set_bytes(info.bytes);
    request.mutable_file()->set_checksum(info.checksum);
    request.set_step(step);
    request.mutable_position()->set_ranges(moment.position.ranges);
    request.mutable_position()->set_rows(moment.position.rows);
    request.set_last(moment.last);
    request.set_steps(progress_->steps());
    request.set_samples(progress_->samples());
    return control_->SaveCheckpoint(std::move(request));
  }

 private:
  ControlClient* const control_;
  const Progress* const progress_;
  const CheckpointSchedule schedule_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointSaver>> CheckpointSaver::Create(ControlClient* control, const Progress* progress) {
  if (control->checkpoint_dir().empty()) return nullptr;
  WEIR_ASSIGN_OR_RETURN(const CheckpointSchedule schedule, ParseCheckpointSchedule(control->job().checkpoint().every()));
  return std::make_unique<FolderSaver>(control, progress, schedule);
}

}  // namespace weir::worker
