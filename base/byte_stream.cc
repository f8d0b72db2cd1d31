#include "base/byte_stream.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weir {
namespace {

constexpr size_t kInputBytes = size_t{64} << 10;
constexpr size_t kSkipBytes = size_t{64} << 10;

class PlainStream final : public ByteStream {
 public:
  PlainStream(int fd, uint64_t size) : fd_(fd), size_(size) {}
  ~PlainStream() override { close(fd_); }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    ssize_t count;
    do {
      count = pread(fd_, out, size, static_cast<off_t>(offset_));
    } while (count < 0 && errno == EINTR);
    if (count < 0) return absl::ErrnoToStatus(errno, "reading");
    offset_ += static_cast<uint64_t>(count);
    return static_cast<size_t>(count);
  }

  absl::Status Seek(uint64_t offset) override {
    if (offset > size_) return absl::OutOfRangeError(absl::StrCat("offset ", offset, " is past the end at ", size_));
    offset_ = offset;
    return absl::OkStatus();
  }

 private:
  const int fd_;
  const uint64_t size_;
  uint64_t offset_ = 0;
};

// Where a decoder reads and writes; it moves all four forward.
struct Window {
  const uint8_t* in;
  size_t in_left;
  uint8_t* out;
  size_t out_left;
};

// One compression format, as a state machine.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual const char* format() const = 0;
  virtual absl::Status Reset() = 0;
  // Decodes what it can. `input_ended`: nothing comes after window->in. Error messages are the library's.
  virtual absl::Status Decode(Window* window, bool input_ended) = 0;
  // Everything so far was decoded and given out, and the input may end here.
  virtual bool complete() const = 0;
};

class GzipDecoder final : public Decoder {
 public:
  ~GzipDecoder() override { inflateEnd(&zlib_); }
  const char* format() const override { return "gzip"; }
  bool complete() const override { return member_ended_; }

  absl::Status Reset() override {
    inflateEnd(&zlib_);
    zlib_ = z_stream{};
    member_ended_ = false;
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) return absl::ResourceExhaustedError("zlib does not start");
    return absl::OkStatus();
  }

  absl::Status Decode(Window* window, bool) override {
    if (window->in_left == 0) return absl::OkStatus();
    if (member_ended_ && inflateReset(&zlib_) != Z_OK) return absl::InternalError("zlib does not start again");
    member_ended_ = false;
    zlib_.next_in = const_cast<Bytef*>(window->in);
    zlib_.avail_in = static_cast<uInt>(window->in_left);
    zlib_.next_out = window->out;
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(window->out_left, size_t{1} << 30));
    const int code = inflate(&zlib_, Z_NO_FLUSH);
    window->in = zlib_.next_in;
    window->in_left = zlib_.avail_in;
    window->out_left -= static_cast<size_t>(zlib_.next_out - window->out);
    window->out = zlib_.next_out;
    member_ended_ = code == Z_STREAM_END;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return absl::OkStatus();
    return absl::DataLossError(zlib_.msg != nullptr ? zlib_.msg : zError(code));
  }

 private:
  z_stream zlib_ = {};
  bool member_ended_ = false;
};

class XzDecoder final : public Decoder {
 public:
  ~XzDecoder() override { lzma_end(&lzma_); }
  const char* format() const override { return "xz"; }
  bool complete() const override { return ended_; }

  absl::Status Reset() override {
    lzma_end(&lzma_);
    lzma_ = LZMA_STREAM_INIT;
    ended_ = false;
    if (lzma_stream_decoder(&lzma_, ByteStream::kXzMemoryBytesMax, LZMA_CONCATENATED) != LZMA_OK) {
      return absl::ResourceExhaustedError("liblzma does not start");
    }
    return absl::OkStatus();
  }

  absl::Status Decode(Window* window, bool input_ended) override {
    lzma_.next_in = window->in;
    lzma_.avail_in = window->in_left;
    lzma_.next_out = window->out;
    lzma_.avail_out = window->out_left;
    const lzma_ret code = lzma_code(&lzma_, input_ended ? LZMA_FINISH : LZMA_RUN);
    *window = {lzma_.next_in, lzma_.avail_in, lzma_.next_out, lzma_.avail_out};
    ended_ = code == LZMA_STREAM_END;
    switch (code) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR:  // no progress: the caller sees that itself
        return absl::OkStatus();
      case LZMA_FORMAT_ERROR:
        return absl::DataLossError("no xz header");
      case LZMA_MEMLIMIT_ERROR:
        return absl::DataLossError("it needs more memory than is allowed");
      default:
        return absl::DataLossError("damaged data or check sum");
    }
  }

 private:
  lzma_stream lzma_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ~ZstdDecoder() override { ZSTD_freeDStream(zstd_); }
  const char* format() const override { return "zstd"; }
  bool complete() const override { return frame_ended_; }

  absl::Status Reset() override {
    if (zstd_ == nullptr) zstd_ = ZSTD_createDStream();
    frame_ended_ = false;
    if (zstd_ == nullptr || ZSTD_isError(ZSTD_initDStream(zstd_))) return absl::ResourceExhaustedError("zstd does not start");
    return absl::OkStatus();
  }

  absl::Status Decode(Window* window, bool) override {
    ZSTD_inBuffer in = {window->in, window->in_left, 0};
    ZSTD_outBuffer out = {window->out, window->out_left, 0};
    const size_t code = ZSTD_decompressStream(zstd_, &out, &in);
    *window = {window->in + in.pos, window->in_left - in.pos, window->out + out.pos, window->out_left - out.pos};
    if (ZSTD_isError(code)) return absl::DataLossError(ZSTD_getErrorName(code));
    frame_ended_ = code == 0;
    return absl::OkStatus();
  }

 private:
  ZSTD_DStream* zstd_ = nullptr;
  bool frame_ended_ = false;
};

class CompressedStream final : public ByteStream {
 public:
  CompressedStream(std::unique_ptr<ByteStream> file, std::unique_ptr<Decoder> decoder)
      : file_(std::move(file)), decoder_(std::move(decoder)), input_(kInputBytes) {}

  absl::Status Start() {
    input_begin_ = input_end_ = 0;
    input_ended_ = false;
    offset_ = 0;
    WEIR_RETURN_IF_ERROR(file_->Seek(0));
    return decoder_->Reset();
  }

  absl::StatusOr<size_t> Read(char* out, size_t size) override {
    for (;;) {
      if (input_begin_ == input_end_ && !input_ended_) WEIR_RETURN_IF_ERROR(FillInput());
      if (input_begin_ == input_end_ && input_ended_ && decoder_->complete()) return 0;
      Window window = {input_.data() + input_begin_, input_end_ - input_begin_, reinterpret_cast<uint8_t*>(out), size};
      const absl::Status status = decoder_->Decode(&window, input_ended_);
      const size_t consumed = input_end_ - input_begin_ - window.in_left;
      const size_t produced = size - window.out_left;
      input_begin_ += consumed;
      offset_ += produced;
      if (produced > 0) return produced;  // a broken decoder stays broken: its error comes with the next call
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat("the ", decoder_->format(), " stream is corrupt: ", status.message()));
      }
      if (consumed == 0 && !decoder_->complete()) {
        return absl::DataLossError(
            absl::StrCat("the ", decoder_->format(), input_ended_ ? " stream ends early; is the file cut off?" : " stream is corrupt"));
      }
    }
  }

  absl::Status Seek(uint64_t offset) override {
    if (offset < offset_) WEIR_RETURN_IF_ERROR(Start());
    std::vector<char> skipped(kSkipBytes);
    while (offset_ < offset) {
      WEIR_ASSIGN_OR_RETURN(const size_t count, Read(skipped.data(), std::min<uint64_t>(kSkipBytes, offset - offset_)));
      if (count == 0) return absl::OutOfRangeError(absl::StrCat("offset ", offset, " is past the end at ", offset_));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status FillInput() {
    WEIR_ASSIGN_OR_RETURN(const size_t count, file_->Read(reinterpret_cast<char*>(input_.data()), input_.size()));
    input_begin_ = 0;
    input_end_ = count;
    input_ended_ = count == 0;
    return absl::OkStatus();
  }

  const std::unique_ptr<ByteStream> file_;
  const std::unique_ptr<Decoder> decoder_;
  std::vector<uint8_t> input_;
  size_t input_begin_ = 0;
  size_t input_end_ = 0;
  bool input_ended_ = false;
  uint64_t offset_ = 0;  // in the uncompressed content
};

std::unique_ptr<Decoder> DecoderFor(const std::string& path) {
  if (absl::EndsWith(path, ".gz")) return std::make_unique<GzipDecoder>();
  if (absl::EndsWith(path, ".xz")) return std::make_unique<XzDecoder>();
  if (absl::EndsWith(path, ".zst")) return std::make_unique<ZstdDecoder>();
  return nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> ByteStream::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("data file ", path));
  struct stat about;
  const bool known = fstat(fd, &about) == 0;
  auto file = std::make_unique<PlainStream>(fd, known ? static_cast<uint64_t>(about.st_size) : 0);
  if (!known || !S_ISREG(about.st_mode)) return absl::InvalidArgumentError(absl::StrCat("data file ", path, " is not a regular file"));
  std::unique_ptr<Decoder> decoder = DecoderFor(path);
  if (decoder == nullptr) return file;
  auto stream = std::make_unique<CompressedStream>(std::move(file), std::move(decoder));
  WEIR_RETURN_IF_ERROR(stream->Start());
  return stream;
}

}  // namespace weir
