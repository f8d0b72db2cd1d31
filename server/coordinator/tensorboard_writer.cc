#include "server/coordinator/tensorboard_writer.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/coordinator/crc32c.h"
#include "server/coordinator/tensorboard_event.pb.h"

namespace weir::server {
namespace {

constexpr absl::string_view kFilePrefix = "events.out.tfevents.";  // TensorBoard looks for "tfevents"

template <typename Integer>
void AppendLittleEndian(Integer value, std::string* bytes) {
  for (size_t i = 0; i < sizeof(value); ++i) bytes->push_back(static_cast<char>(value >> (8 * i)));
}

double UnixSeconds(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

absl::Status PrepareFolder(const std::string& dir, TensorBoardWriter::Earlier earlier) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make folder ", dir));
  if (earlier == TensorBoardWriter::Earlier::kKeep) return absl::OkStatus();
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    if (!absl::StartsWith(entry.path().filename().string(), kFilePrefix)) continue;
    std::filesystem::remove(entry.path(), error);
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", entry.path().string(), " of an earlier run"));
  }
  return error ? absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read folder ", dir)) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorBoardWriter>> TensorBoardWriter::Create(const std::string& dir, absl::Time now, Earlier earlier) {
  WEIR_RETURN_IF_ERROR(PrepareFolder(dir, earlier));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                        OutputFile::Create(absl::StrCat(dir, "/", kFilePrefix, absl::ToUnixSeconds(now), ".weir.", getpid())));
  std::unique_ptr<TensorBoardWriter> writer(new TensorBoardWriter(std::move(file)));
  tensorboard::Event version;
  version.set_wall_time(UnixSeconds(now));
  version.set_file_version("brain.Event:2");
  WEIR_RETURN_IF_ERROR(writer->WriteEvent(version));
  return writer;
}

absl::Status TensorBoardWriter::Write(int64_t step, absl::Time now, const std::vector<std::pair<std::string, double>>& scalars) {
  tensorboard::Event event;
  event.set_wall_time(UnixSeconds(now));
  event.set_step(step);
  for (const auto& [tag, scalar] : scalars) {
    tensorboard::Summary::Value* value = event.mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(scalar));
  }
  return WriteEvent(event);
}

absl::Status TensorBoardWriter::WriteEvent(const tensorboard::Event& event) { return file_->Write(Frame(event.SerializeAsString())); }

std::string TensorBoardWriter::Frame(const std::string& event) {
  std::string record;
  AppendLittleEndian(uint64_t{event.size()}, &record);
  AppendLittleEndian(MaskedCrc32c(record), &record);
  record += event;
  AppendLittleEndian(MaskedCrc32c(event), &record);
  return record;
}

}  // namespace weir::server
