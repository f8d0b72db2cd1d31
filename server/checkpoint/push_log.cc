#include "server/checkpoint/push_log.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "spdlog/spdlog.h"
#include "xxhash.h"

namespace weir::server {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = 12;
// A part is a call, which has at most kMessageBytesMax; decoded it can be larger, but not without bound.
constexpr uint64_t kPayloadBytesMax = uint64_t{1} << 31;

// Appends values to a payload.
class Writer {
 public:
  template <typename T>
  void Add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename T>
  void AddAll(const T* values, size_t count) {
    bytes_.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Takes values from a payload; once it has ended, everything fails.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : left_(bytes) {}

  template <typename T>
  bool Take(T* value) {
    return TakeAll(value, 1);
  }
  template <typename T>
  bool TakeAll(T* values, size_t count) {
    if (count > left_.size() / sizeof(T)) return false;
    if (count > 0) std::memcpy(values, left_.data(), count * sizeof(T));
    left_.remove_prefix(count * sizeof(T));
    return true;
  }
  size_t left() const { return left_.size(); }

 private:
  absl::string_view left_;
};

bool IsZero(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits == 0;  // a negative zero is kept: what is replayed is the same to the bit
}

void WriteRows(const GradientRows& rows, Writer* out) {
  out->Add(rows.table);
  out->Add(static_cast<uint8_t>(rows.distinct));
  out->Add(static_cast<uint32_t>(rows.keys.size()));
  out->AddAll(rows.keys.data(), rows.keys.size());
  std::vector<uint8_t> mask((rows.gradients.size() + 7) / 8);
  std::vector<float> values;
  for (size_t i = 0; i < rows.gradients.size(); ++i) {
    if (IsZero(rows.gradients[i])) continue;
    mask[i / 8] = static_cast<uint8_t>(mask[i / 8] | 1 << i % 8);
    values.push_back(rows.gradients[i]);
  }
  out->AddAll(mask.data(), mask.size());
  out->AddAll(values.data(), values.size());
}

bool ReadRows(const TableRegistry& tables, Reader* in, GradientRows* rows) {
  uint8_t distinct = 0;
  uint32_t keys = 0;
  if (!in->Take(&rows->table) || !in->Take(&distinct) || !in->Take(&keys)) return false;
  const absl::StatusOr<Table*> table = tables.Find(rows->table);
  if (!table.ok() || keys > in->left() / sizeof(Key)) return false;
  rows->distinct = distinct != 0;
  rows->keys.resize(keys);
  if (!in->TakeAll(rows->keys.data(), keys)) return false;
  const size_t entries = size_t{keys} * (*table)->dim();
  if ((entries + 7) / 8 > in->left()) return false;
  std::vector<uint8_t> mask((entries + 7) / 8);
  if (!in->TakeAll(mask.data(), mask.size())) return false;
  rows->gradients.assign(entries, 0.0f);
  for (size_t i = 0; i < entries; ++i) {
    if ((mask[i / 8] >> i % 8 & 1) != 0 && !in->Take(&rows->gradients[i])) return false;
  }
  return (*table)->CheckOwned(rows->keys).ok();
}

absl::Status Damaged(const std::string& path, uint64_t byte, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, " is damaged at byte ", byte, ": ", why));
}

}  // namespace

std::string SerializePush(const PushPart& part) {
  Writer out;
  out.Add(part.id.worker_rank);
  out.Add(part.id.incarnation);
  out.Add(part.id.step);
  out.Add(part.id.part);
  out.Add(part.parts);
  out.Add(part.samples);
  out.Add(static_cast<uint32_t>(part.tables.size()));
  for (const GradientRows& rows : part.tables) WriteRows(rows, &out);
  return out.Take();
}

absl::StatusOr<PushPart> ParsePush(absl::string_view payload, const TableRegistry& tables) {
  Reader in(payload);
  PushPart part;
  uint32_t count = 0;
  bool good = in.Take(&part.id.worker_rank) && in.Take(&part.id.incarnation) && in.Take(&part.id.step) && in.Take(&part.id.part) &&
              in.Take(&part.parts) && in.Take(&part.samples) && in.Take(&count) && count <= kTablesMax;
  for (uint32_t i = 0; good && i < count; ++i) good = ReadRows(tables, &in, &part.tables.emplace_back());
  if (good && in.left() == 0) return part;
  return absl::DataLossError("it is no push of this server's tables");
}

absl::StatusOr<std::unique_ptr<PushLog>> PushLog::Open(const std::string& folder, uint32_t index) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", folder));
  return absl::WrapUnique(new PushLog(folder, index));
}

std::string PushLog::PathOf(int64_t step) const { return absl::StrCat(folder_, "/server-", index_, "-", step, ".log"); }

std::vector<int64_t> PushLog::Files() const {
  std::vector<int64_t> steps;
  std::error_code ignored;
  const std::string prefix = absl::StrCat("server-", index_, "-");
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    absl::string_view number = name;
    int64_t step = 0;
    if (absl::ConsumePrefix(&number, prefix) && absl::ConsumeSuffix(&number, ".log") && absl::SimpleAtoi(number, &step)) {
      steps.push_back(step);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::Status PushLog::Begin(int64_t step) {
  MutexLock lock(&mu_);
  for (const int64_t earlier : Files()) {
    std::error_code error;
    fs::remove(PathOf(earlier), error);
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", PathOf(earlier)));
  }
  WEIR_ASSIGN_OR_RETURN(file_, OutputFile::Create(PathOf(step)));
  return absl::OkStatus();
}

absl::Status PushLog::Rotate(int64_t step, int64_t last_whole) {
  MutexLock lock(&mu_);
  const std::vector<int64_t> files = Files();
  // The coordinator asks again where the answer was lost.
  if (!files.empty() && files.back() == step) return absl::OkStatus();
  for (const int64_t first : files) {
    std::error_code ignored;
    if (first < last_whole) fs::remove(PathOf(first), ignored);
  }
  WEIR_ASSIGN_OR_RETURN(file_, OutputFile::Create(PathOf(step)));
  return absl::OkStatus();
}

absl::Status PushLog::ReplayFile(const std::string& path, bool last, const TableRegistry& tables,
                                 const std::function<absl::Status(PushPart)>& accept) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::error_code error;
  const uint64_t file_bytes = fs::file_size(path, error);
  uint64_t at = 0;
  std::string payload;
  while (at < file_bytes) {
    uint32_t bytes = 0;
    uint64_t checksum = 0;
    char head[kHeadBytes];
    bool whole = file_bytes - at >= kHeadBytes && file.read(head, kHeadBytes);
    if (whole) {
      std::memcpy(&bytes, head, sizeof(bytes));
      std::memcpy(&checksum, head + sizeof(bytes), sizeof(checksum));
      whole = bytes <= kPayloadBytesMax && bytes <= file_bytes - at - kHeadBytes;
    }
    if (whole) {
      payload.resize(bytes);
      whole = static_cast<bool>(file.read(payload.data(), bytes));
    }
    if (!whole) {
      if (!last) return Damaged(path, at, "its last record is cut off, but a later file follows");
      // Nobody was told that this push had been accepted: its worker pushes it again.
      spdlog::warn("{}: the last record was cut off at byte {}, and is left out", path, at);
      fs::resize_file(path, at, error);
      return error ? absl::ErrnoToStatus(error.value(), absl::StrCat("cannot cut ", path)) : absl::OkStatus();
    }
    if (XXH3_64bits(payload.data(), payload.size()) != checksum) return Damaged(path, at, "the record's checksum is wrong");
    absl::StatusOr<PushPart> part = ParsePush(payload, tables);
    if (!part.ok()) return Damaged(path, at, part.status().message());
    WEIR_RETURN_IF_ERROR(accept(*std::move(part)));
    at += kHeadBytes + bytes;
  }
  return absl::OkStatus();
}

absl::Status PushLog::Replay(int64_t step, const TableRegistry& tables, const std::function<absl::Status(PushPart)>& accept) {
  std::vector<int64_t> files = Files();
  files.erase(files.begin(), std::lower_bound(files.begin(), files.end(), step));
  if (files.empty() || files.front() != step) {
    return absl::DataLossError(absl::StrCat(PathOf(step), " is missing: without it the pushes since that step are lost"));
  }
  for (const int64_t first : files) WEIR_RETURN_IF_ERROR(ReplayFile(PathOf(first), first == files.back(), tables, accept));
  MutexLock lock(&mu_);
  WEIR_ASSIGN_OR_RETURN(file_, OutputFile::Continue(PathOf(files.back())));
  return absl::OkStatus();
}

absl::Status PushLog::Record(const std::string& payload) {
  const auto bytes = static_cast<uint32_t>(payload.size());
  const uint64_t checksum = XXH3_64bits(payload.data(), payload.size());
  std::string record(kHeadBytes, '\0');
  std::memcpy(record.data(), &bytes, sizeof(bytes));
  std::memcpy(record.data() + sizeof(bytes), &checksum, sizeof(checksum));
  MutexLock lock(&mu_);
  WEIR_RETURN_IF_ERROR(status_);
  if (payload.size() > kPayloadBytesMax) return absl::ResourceExhaustedError(absl::StrCat("a push of ", payload.size(), " bytes"));
  status_ = file_->Write(record);
  if (status_.ok()) status_ = file_->Write(payload);
  return status_;
}

}  // namespace weir::server
