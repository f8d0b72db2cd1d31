#include "tests/testing/data_file.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir::testing {
namespace {

void Demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

std::string PackGzip(absl::string_view content) {
  z_stream stream = {};
  constexpr int kGzip = 16 + MAX_WBITS;
  Demand(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  Demand(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string PackXz(absl::string_view content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  Demand(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(content.data()), content.size(),
                                 reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()) == LZMA_OK);
  packed.resize(size);
  return packed;
}

std::string PackZstd(absl::string_view content) {
  // With a check sum, as the command line tool writes it.
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  const size_t size = ZSTD_compress2(context, packed.data(), packed.size(), content.data(), content.size());
  ZSTD_freeCCtx(context);
  Demand(!ZSTD_isError(size));
  packed.resize(size);
  return packed;
}

std::string PackFor(absl::string_view name, absl::string_view content) {
  if (absl::EndsWith(name, ".gz")) return PackGzip(content);
  if (absl::EndsWith(name, ".xz")) return PackXz(content);
  if (absl::EndsWith(name, ".zst")) return PackZstd(content);
  return std::string(content);
}

std::string WriteFile(const std::string& name, absl::string_view bytes) {
  const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string prefix = test == nullptr ? "" : absl::StrCat(test->test_suite_name(), ".", test->name(), ".");
  for (char& c : prefix) {
    if (c == '/') c = '_';
  }
  std::string path = absl::StrCat(::testing::TempDir(), "/", prefix, name);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

std::string WriteDataFile(const std::string& name, absl::string_view content) { return WriteFile(name, PackFor(name, content)); }

std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace weir::testing
