#include "base/input_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace weir {
namespace {

// Fits a core's second-level cache, so that a line is still there when it is parsed.
constexpr size_t kBufferBytes = size_t{256} << 10;

class BufferedLineReader final : public LineReader {
 public:
  BufferedLineReader(std::string path, std::unique_ptr<ByteStream> stream)
      : path_(std::move(path)), stream_(std::move(stream)), buffer_(kBufferBytes) {}

  absl::StatusOr<bool> Next(absl::string_view* line) override {
    for (;;) {
      const char* begin = buffer_.data() + begin_;
      const size_t filled = end_ - begin_;
      const auto* end = static_cast<const char*>(std::memchr(begin + searched_, '\n', filled - searched_));
      if (end != nullptr && static_cast<size_t>(end - begin) <= kLineBytesMax) {
        size_t length = static_cast<size_t>(end - begin);
        begin_ += length + 1;
        if (length > 0 && begin[length - 1] == '\r') --length;
        *line = absl::string_view(begin, length);
        break;
      }
      searched_ = filled;
      if (end != nullptr || filled > kLineBytesMax)
        return Fail(absl::DataLossError(absl::StrCat("the line is longer than ", kLineBytesMax, " bytes")));
      if (ended_) {
        if (filled == 0) return false;
        *line = absl::string_view(begin, filled);
        begin_ = end_;
        break;
      }
      if (!error_.ok()) return error_;
      if (absl::Status status = Fill(); !status.ok()) return Fail(status);
    }
    searched_ = 0;
    ++line_number_;
    return true;
  }

  absl::Status Seek(uint64_t byte_offset, uint64_t line_number) override {
    error_ = absl::OkStatus();
    searched_ = 0;
    line_number_ = line_number;
    if (byte_offset >= base_ && byte_offset <= base_ + end_) {
      begin_ = byte_offset - base_;
      return absl::OkStatus();
    }
    begin_ = end_ = 0;
    ended_ = false;
    base_ = byte_offset;
    if (absl::Status status = stream_->Seek(byte_offset); !status.ok()) return Fail(status);
    return absl::OkStatus();
  }

  uint64_t byte_offset() const override { return base_ + begin_; }
  uint64_t line_number() const override { return line_number_; }

 private:
  // Reads on behind the unfinished line, which moves to the front.
  absl::Status Fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      base_ += begin_;
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());  // ends above kLineBytesMax
    WEIR_ASSIGN_OR_RETURN(const size_t count, stream_->Read(buffer_.data() + end_, buffer_.size() - end_));
    end_ += count;
    ended_ = count == 0;
    return absl::OkStatus();
  }

  absl::Status Fail(const absl::Status& status) {
    error_ = absl::Status(status.code(), absl::StrCat(path_, ", line ", line_number_, ": ", status.message()));
    return error_;
  }

  const std::string path_;
  const std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // of the next line, in buffer_
  size_t end_ = 0;       // of what is read
  size_t searched_ = 0;  // bytes from begin_ that hold no "\n"
  uint64_t base_ = 0;    // offset of buffer_[0] in the content
  uint64_t line_number_ = 1;
  bool ended_ = false;  // nothing comes behind end_
  absl::Status error_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, ByteStream::Open(path));
  return std::make_unique<BufferedLineReader>(path, std::move(stream));
}

absl::StatusOr<uint64_t> CountRows(const std::vector<std::string>& paths) {
  uint64_t rows = 0;
  for (const std::string& path : paths) {
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<LineReader> reader, LineReader::Open(path));
    absl::string_view line;
    while (true) {
      WEIR_ASSIGN_OR_RETURN(const bool more, reader->Next(&line));
      if (!more) break;
      ++rows;
    }
  }
  return rows;
}

}  // namespace weir
