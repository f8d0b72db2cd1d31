// The entropy stage, and the encodings of error-bounded rows. Sections beside zstd on the same bytes in the same run: `of_zstd` is the
// ratio of their speeds, `bytes_of_zstd` of their sizes (below 1: ours are fewer). Gigabytes a second are of the bytes before.
#include <benchmark/benchmark.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compression/bounded_rows.h"
#include "compression/frame.h"
#include "compression/packed_bytes.h"

namespace weir::compression {
namespace {

using Bytes = std::vector<uint8_t>;

// What is packed in practice: gaps of a mask that keeps a tenth, and codes of kept values.
enum Kind { kGaps, kFp8, kInt8 };

Bytes Draw(Kind kind, size_t size) {
  std::mt19937 random(1);
  if (kind == kGaps) {
    std::geometric_distribution<int> gap(0.1);
    Bytes bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(std::min(gap(random), 127));
    return bytes;
  }
  // Beyond the tenth's threshold of a normal distribution.
  std::normal_distribution<float> normal(0, 1e-4f);
  std::vector<float> kept;
  while (kept.size() < size) {
    const float value = normal(random);
    if (std::abs(value) > 1.645e-4f) kept.push_back(value);
  }
  std::string frame;
  if (!EncodeDense(kept, kind == kFp8 ? ValueType::kFp8 : ValueType::kInt8, &frame).ok()) return {};
  return Bytes(frame.begin() + 8, frame.end() - 4);
}

double SecondsOfBest(const std::function<void()>& work) {
  double best = 1e9;
  for (int attempt = 0; attempt < 30; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

void Report(benchmark::State& state, size_t bytes, size_t packed, double zstd_seconds, size_t zstd_bytes) {
  const double gigabytes = static_cast<double>(bytes) * static_cast<double>(state.iterations()) / 1e9;
  state.counters["GB/s"] = benchmark::Counter(gigabytes, benchmark::Counter::kIsRate);
  state.counters["of_zstd"] = benchmark::Counter(zstd_seconds * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["bits"] = 8.0 * static_cast<double>(packed) / static_cast<double>(bytes);
  state.counters["bytes_of_zstd"] = static_cast<double>(packed) / static_cast<double>(zstd_bytes);
}

void BM_Pack(benchmark::State& state) {
  const Bytes bytes = Draw(static_cast<Kind>(state.range(0)), state.range(1));
  Bytes other(ZSTD_compressBound(bytes.size()));
  size_t other_size = 0;
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  const double zstd =
      SecondsOfBest([&] { other_size = ZSTD_compressCCtx(context, other.data(), other.size(), bytes.data(), bytes.size(), 1); });
  ZSTD_freeCCtx(context);
  std::string section;
  for (auto _ : state) {
    section.clear();
    AppendSection(bytes, &section);
  }
  Report(state, bytes.size(), section.size(), zstd, other_size);
}
BENCHMARK(BM_Pack)->ArgNames({"kind", "bytes"})->ArgsProduct({{kGaps, kFp8, kInt8}, {500, 4000, 100000}});

void BM_Unpack(benchmark::State& state) {
  const Bytes bytes = Draw(static_cast<Kind>(state.range(0)), state.range(1));
  Bytes other(ZSTD_compressBound(bytes.size())), back(bytes.size());
  other.resize(ZSTD_compress(other.data(), other.size(), bytes.data(), bytes.size(), 1));
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  const double zstd = SecondsOfBest([&] { ZSTD_decompressDCtx(context, back.data(), back.size(), other.data(), other.size()); });
  ZSTD_freeDCtx(context);
  std::string section;
  AppendSection(bytes, &section);
  const auto* const begin = reinterpret_cast<const uint8_t*>(section.data());
  Bytes read;
  for (auto _ : state) {
    read.clear();
    if (!ReadSection(begin, begin + section.size(), bytes.size(), &read).ok()) state.SkipWithError("refused");
  }
  Report(state, bytes.size(), section.size(), zstd, other.size());
}
BENCHMARK(BM_Unpack)->ArgNames({"kind", "bytes"})->ArgsProduct({{kGaps, kFp8, kInt8}, {500, 4000, 100000}});

// Rows of width 16, as a table has them: many young ones in a narrow range, some grown.
std::vector<float> Rows(size_t count) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> young(-0.05f, 0.05f);
  std::normal_distribution<float> grown(0, 0.2f);
  std::vector<float> rows(count * 16);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i / 16 % 4 == 0 ? grown(random) : young(random);
  return rows;
}

void BM_BoundedRound(benchmark::State& state) {
  const std::vector<float> values = Rows(10000);
  BoundedRows rows;
  for (auto _ : state) {
    if (!rows.Round(values, 16, 0.03).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(state.iterations() * values.size() * 4);
}
BENCHMARK(BM_BoundedRound);

void BM_BoundedEncode(benchmark::State& state) {
  const std::vector<float> values = Rows(10000);
  BoundedRows rows;
  std::string frame;
  if (!rows.Round(values, 16, 0.03).ok()) return;
  for (auto _ : state) {
    frame.clear();
    if (!rows.Encode(static_cast<CodeEncoding>(state.range(0)), &frame).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(state.iterations() * values.size() * 4);
  state.counters["shrinks"] = static_cast<double>(values.size() * 4) / static_cast<double>(frame.size());
}
BENCHMARK(BM_BoundedEncode)->ArgName("encoding")->DenseRange(0, kCodeEncodings - 1);

void BM_BoundedDecode(benchmark::State& state) {
  std::vector<float> values = Rows(10000);
  BoundedRows rows;
  std::string frame;
  if (!rows.Round(values, 16, 0.03).ok() || !rows.Encode(static_cast<CodeEncoding>(state.range(0)), &frame).ok()) return;
  for (auto _ : state) {
    if (!DecodeInto(frame, absl::MakeSpan(values)).ok()) state.SkipWithError("refused");
  }
  state.SetBytesProcessed(state.iterations() * values.size() * 4);
}
BENCHMARK(BM_BoundedDecode)->ArgName("encoding")->DenseRange(0, kCodeEncodings - 1);

}  // namespace
}  // namespace weir::compression

BENCHMARK_MAIN();
