#include "base/state_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weir {
namespace {

constexpr absl::string_view kMagic = "WEIRSTA1";

struct RecordHead {
  uint32_t name_bytes = 0;
  uint64_t payload_bytes = 0;
  uint64_t checksum = 0;
};
constexpr size_t kHeadBytes = 20;

std::string HeadBytes(const RecordHead& head) {
  std::string bytes(kHeadBytes, '\0');
  std::memcpy(bytes.data(), &head.name_bytes, 4);
  std::memcpy(bytes.data() + 4, &head.payload_bytes, 8);
  std::memcpy(bytes.data() + 12, &head.checksum, 8);
  return bytes;
}

RecordHead ParseHead(const char* bytes) {
  RecordHead head;
  std::memcpy(&head.name_bytes, bytes, 4);
  std::memcpy(&head.payload_bytes, bytes + 4, 8);
  std::memcpy(&head.checksum, bytes + 12, 8);
  return head;
}

uint64_t RecordChecksum(absl::string_view name, absl::string_view payload) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), XXH3_64bits(name.data(), name.size()));
}

}  // namespace

StateFileWriter::StateFileWriter(std::unique_ptr<OutputFile> file, std::string* memory)
    : file_(std::move(file)), memory_(memory), checksum_(XXH3_createState()) {
  XXH3_64bits_reset(checksum_);
}

StateFileWriter::~StateFileWriter() { XXH3_freeState(checksum_); }

absl::StatusOr<std::unique_ptr<StateFileWriter>> StateFileWriter::Create(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  auto writer = absl::WrapUnique(new StateFileWriter(std::move(file), nullptr));
  WEIR_RETURN_IF_ERROR(writer->Write(kMagic));
  return writer;
}

std::unique_ptr<StateFileWriter> StateFileWriter::InMemory(std::string* memory) {
  auto writer = absl::WrapUnique(new StateFileWriter(nullptr, memory));
  writer->Write(kMagic).IgnoreError();  // memory takes all
  return writer;
}

absl::Status StateFileWriter::Write(absl::string_view bytes) {
  XXH3_64bits_update(checksum_, bytes.data(), bytes.size());
  info_.bytes += bytes.size();
  if (file_ != nullptr) return file_->Write(bytes);
  memory_->append(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status StateFileWriter::WriteRecord(absl::string_view name, absl::string_view payload) {
  WEIR_RETURN_IF_ERROR(Write(HeadBytes({static_cast<uint32_t>(name.size()), payload.size(), RecordChecksum(name, payload)})));
  WEIR_RETURN_IF_ERROR(Write(name));
  return Write(payload);
}

absl::Status StateFileWriter::Add(absl::string_view name, absl::string_view payload) {
  if (name.empty() || name.size() > kStateNameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a record's name has ", name.size(), " bytes, not 1 to ", kStateNameBytesMax));
  }
  ++records_;
  return WriteRecord(name, payload);
}

absl::StatusOr<StateFileInfo> StateFileWriter::Finish() {
  char count[sizeof(records_)];
  std::memcpy(count, &records_, sizeof(count));
  WEIR_RETURN_IF_ERROR(WriteRecord("", absl::string_view(count, sizeof(count))));
  if (file_ != nullptr) WEIR_RETURN_IF_ERROR(file_->Sync());
  info_.checksum = XXH3_64bits_digest(checksum_);
  return info_;
}

StateFileReader::StateFileReader(std::string path, std::FILE* file, uint64_t file_bytes)
    : path_(std::move(path)), file_(file), file_bytes_(file_bytes), checksum_(XXH3_createState()) {
  XXH3_64bits_reset(checksum_);
}

StateFileReader::~StateFileReader() {
  std::fclose(file_);
  XXH3_freeState(checksum_);
}

absl::StatusOr<std::unique_ptr<StateFileReader>> StateFileReader::Open(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  struct stat status = {};
  if (fstat(fileno(file), &status) != 0) status.st_size = 0;
  auto reader = absl::WrapUnique(new StateFileReader(path, file, static_cast<uint64_t>(status.st_size)));
  char magic[kMagic.size()];
  if (!reader->Read(magic, sizeof(magic)) || absl::string_view(magic, sizeof(magic)) != kMagic) {
    return absl::DataLossError(absl::StrCat(path, " is no state file of this version: it does not begin with ", kMagic));
  }
  return reader;
}

bool StateFileReader::Read(char* out, size_t bytes) {
  if (std::fread(out, 1, bytes, file_) != bytes) return false;
  XXH3_64bits_update(checksum_, out, bytes);
  read_ += bytes;
  return true;
}

absl::Status StateFileReader::Damaged(absl::string_view why) const {
  return absl::DataLossError(absl::StrCat(path_, " is damaged: record ", records_, ", byte ", read_, ": ", why));
}

absl::StatusOr<bool> StateFileReader::Next(Record* record) {
  char bytes[kHeadBytes];
  if (!Read(bytes, sizeof(bytes))) return Damaged("the file ends here, before its last record");
  const RecordHead head = ParseHead(bytes);
  if (head.name_bytes > kStateNameBytesMax || head.payload_bytes > file_bytes_ - read_) {
    return Damaged(absl::StrCat("it claims ", head.payload_bytes, " bytes, but the file has ", file_bytes_ - read_, " more"));
  }
  record->name.resize(head.name_bytes);
  record->payload.resize(head.payload_bytes);
  if (!Read(record->name.data(), head.name_bytes) || !Read(record->payload.data(), head.payload_bytes)) {
    return Damaged("the file ends inside it");
  }
  if (RecordChecksum(record->name, record->payload) != head.checksum) return Damaged("its checksum is wrong");
  if (!record->name.empty()) {
    ++records_;
    return true;
  }
  uint64_t records = 0;
  if (record->payload.size() == sizeof(records)) std::memcpy(&records, record->payload.data(), sizeof(records));
  if (records != records_) return Damaged(absl::StrCat("the file should have ", records, " records"));
  if (read_ != file_bytes_) return Damaged("the file goes on after its last record");
  return false;
}

StateFileInfo StateFileReader::info() const { return {read_, XXH3_64bits_digest(checksum_)}; }

}  // namespace weir
