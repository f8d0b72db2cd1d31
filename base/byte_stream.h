// The bytes of a data file, decompressed where the name's ending says so: .gz (members one after another too), .xz (streams too), .zst
// (frames too).
#ifndef WEIR_BASE_BYTE_STREAM_H_
#define WEIR_BASE_BYTE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

// Single-threaded. Memory: a fixed buffer, and what the format's decoder needs (bounded: kXzMemoryBytesMax, zstd's default window of 128
// MiB). Messages leave out the path: the caller adds it.
class ByteStream {
 public:
  // NOT_FOUND or another status of the system, naming the path; INVALID_ARGUMENT: not a regular file.
  static absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path);
  virtual ~ByteStream() = default;

  // Writes up to `size` > 0 bytes to `out` and returns how many: at least one, 0 at the end. DATA_LOSS: the stream is corrupt or ends
  // early; what was decoded before is given first.
  virtual absl::StatusOr<size_t> Read(char* out, size_t size) = 0;

  // The next Read starts at this offset of the uncompressed content. Plain files seek; compressed ones are decompressed up to there, from
  // the start to go back. OUT_OF_RANGE: past the end.
  virtual absl::Status Seek(uint64_t offset) = 0;

  static constexpr uint64_t kXzMemoryBytesMax = uint64_t{256} << 20;
};

}  // namespace weir

#endif  // WEIR_BASE_BYTE_STREAM_H_
