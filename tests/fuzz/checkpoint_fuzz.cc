// Files of checkpoints as a disk or a stranger might leave them: they are read or refused, and nothing takes more memory than they have
// bytes for. The first byte says what the others are; checksums are put right, since they would stop every mutation at the door.
//   0  a state file behind its first eight bytes        1  the payload of a logged push
//   2  the payload of a shard's record                  3  manifest.json
//   4  what a worker held back of its row gradients     5  a log of pushes
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/state_file.h"
#include "base/state_visitor.h"
#include "compression/dct_rows.h"
#include "proto/checkpoint_folder.h"
#include "server/checkpoint/push_log.h"
#include "server/checkpoint/shard_files.h"
#include "tests/server/small_job.h"

namespace weir::server {
namespace {

std::string MakeDir() {
  std::string dir = absl::StrCat(std::filesystem::temp_directory_path().string(), "/checkpoint_fuzz.XXXXXX");
  if (mkdtemp(dir.data()) == nullptr) std::abort();
  return dir;
}

// Every refusal says why.
void Expect(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();
}

void WriteBytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void ReadStateFile(const std::string& path, const std::string& bytes) {
  WriteBytes(path, "WEIRSTA1" + bytes);
  const auto reader = StateFileReader::Open(path);
  if (!reader.ok()) return Expect(reader.status());
  StateFileReader::Record record;
  while (true) {
    const absl::StatusOr<bool> more = (*reader)->Next(&record);
    if (!more.ok()) return Expect(more.status());
    if (!*more) return;
  }
}

SavedFile WriteRecords(const std::string& path, const std::vector<std::pair<std::string, std::string>>& records) {
  const auto writer = StateFileWriter::Create(path).value();
  for (const auto& [name, payload] : records) {
    if (!writer->Add(name, payload).ok()) std::abort();
  }
  const StateFileInfo info = writer->Finish().value();
  SavedFile saved;
  saved.set_name(std::filesystem::path(path).filename().string());
  saved.set_bytes(info.bytes);
  saved.set_checksum(info.checksum);
  return saved;
}

void RestoreRecord(const std::string& dir, const std::string& bytes, const TableRegistry& tables) {
  CheckpointManifest manifest;
  *manifest.add_servers()->mutable_file() = WriteRecords(dir + "/server-0.state", {{"C1", bytes}});
  Expect(RestoreShards(manifest, dir, tables));
}

void RestoreHeldBack(const std::string& path, const std::string& bytes) {
  const std::string zero(8, '\0');
  const size_t keys = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]) % bytes.size();
  WriteRecords(path, {{"step", zero},
                      {"sparsity", zero},
                      {"renew", zero},
                      {"threshold", zero.substr(4)},
                      {"residual.keys", bytes.substr(0, keys)},
                      {"residual.values", bytes.substr(keys)}});
  const auto restorer = StateRestorer::Open({path}, 0, 1);
  if (!restorer.ok()) std::abort();
  compression::DctRows rows(2, {});
  rows.VisitState(restorer->get());
  Expect((*restorer)->status());
}

void ReadLog(const std::string& dir, const std::string& bytes, const TableRegistry& tables) {
  WriteBytes(dir + "/server-0-0.log", bytes);
  const auto log = PushLog::Open(dir, 0).value();
  Expect(log->Replay(0, tables, [](const PushPart&) { return absl::OkStatus(); }));
}

void ReadPush(const std::string& bytes, const TableRegistry& tables) {
  const absl::StatusOr<PushPart> part = ParsePush(bytes, tables);
  if (!part.ok()) return Expect(part.status());
  // What was accepted is written as another, perhaps shorter, form of the same: zeros under the mask go.
  const absl::StatusOr<PushPart> again = ParsePush(SerializePush(*part), tables);
  if (!again.ok() || SerializePush(*again) != SerializePush(*part)) std::abort();
}

}  // namespace
}  // namespace weir::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::server;  // NOLINT(build/namespaces): the entry cannot stand in one
  static const std::string dir = MakeDir();
  if (size == 0) return 0;
  const std::string bytes(data + 1, data + size);
  const auto tables = TableRegistry::Create(SmallJob().Make(), 0, 1).value();
  switch (data[0]) {
    case 0:
      ReadStateFile(dir + "/file.state", bytes);
      break;
    case 1:
      ReadPush(bytes, *tables);
      break;
    case 2:
      RestoreRecord(dir, bytes, *tables);
      break;
    case 3:
      WriteBytes(dir + "/manifest.json", bytes);
      Expect(weir::ReadManifest(dir).status());
      break;
    case 4:
      RestoreHeldBack(dir + "/worker-0.state", bytes);
      break;
    case 5:
      ReadLog(dir, bytes, *tables);
      break;
    default:
      break;
  }
  return 0;
}
