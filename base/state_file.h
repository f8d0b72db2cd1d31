// Files of named records that are either whole or refused: what a process saves of its state (checkpoints).
//
//   file:    "WEIRSTA1", records, and at last a record without a name whose payload is the number of records before it
//   record:  u32 bytes of the name, u64 bytes of the payload, u64 XXH3 of name and payload, the name, the payload; little-endian
//
// A name may stand more than once; the order is kept. Golden bytes: tests/base/state_file_test.cc.
#ifndef WEIR_BASE_STATE_FILE_H_
#define WEIR_BASE_STATE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/output_file.h"
#include "xxhash.h"

namespace weir {

inline constexpr size_t kStateNameBytesMax = 4096;

// Of a whole file: what says later that it is the same.
struct StateFileInfo {
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3 of all bytes
};

// Single-threaded. Errors (disk full, read-only folder) name the path; after one the file is of no use.
class StateFileWriter {
 public:
  // Replaces what is at `path`.
  static absl::StatusOr<std::unique_ptr<StateFileWriter>> Create(const std::string& path);
  // Appends the bytes to `memory`, which outlives it, for who writes them later.
  static std::unique_ptr<StateFileWriter> InMemory(std::string* memory);
  ~StateFileWriter();

  // REQUIRES: a name of 1 to kStateNameBytesMax bytes.
  absl::Status Add(absl::string_view name, absl::string_view payload);
  // Ends the file and makes it durable (not in memory). Call once.
  absl::StatusOr<StateFileInfo> Finish();

 private:
  StateFileWriter(std::unique_ptr<OutputFile> file, std::string* memory);
  absl::Status Write(absl::string_view bytes);
  absl::Status WriteRecord(absl::string_view name, absl::string_view payload);

  // One of the two.
  const std::unique_ptr<OutputFile> file_;
  std::string* const memory_;
  XXH3_state_t* const checksum_;
  StateFileInfo info_;
  uint64_t records_ = 0;
};

// Single-threaded. Memory: one record.
class StateFileReader {
 public:
  // NOT_FOUND, or DATA_LOSS when it is no such file; both name the path.
  static absl::StatusOr<std::unique_ptr<StateFileReader>> Open(const std::string& path);
  ~StateFileReader();

  struct Record {
    std::string name;
    std::string payload;
  };
  // The next record; false after the last. DATA_LOSS, naming path and place: the file was cut off or changed.
  absl::StatusOr<bool> Next(Record* record);
  // Of what has been read so far; after Next answered false, of the whole file.
  StateFileInfo info() const;

 private:
  StateFileReader(std::string path, std::FILE* file, uint64_t file_bytes);
  // False: the file ends before.
  bool Read(char* out, size_t bytes);
  absl::Status Damaged(absl::string_view why) const;

  const std::string path_;
  std::FILE* const file_;
  const uint64_t file_bytes_;
  XXH3_state_t* const checksum_;
  uint64_t read_ = 0;
  uint64_t records_ = 0;
};

}  // namespace weir

#endif  // WEIR_BASE_STATE_FILE_H_
