// Speed of compression, each beside memcpy of the same bytes in the same run. Workloads: one layer's gradient of 1.95 MB (the largest of
// the paper's DLRM) at 99 % and 99.9 % sparsity, and the push of 10,000 rows of width 16 at 90 %. Gigabytes are of fp32 input; `of_memcpy`
// is the ratio to memcpy.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/key.h"
#include "compression/dct_layer.h"
#include "compression/dct_rows.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "compression/layer_codec_registry.h"
#include "compression/low_rank_layer.h"
#include "compression/threshold.h"

namespace weir::compression {
namespace {

constexpr uint32_t kGradientEntries = 487424;  // 1.95 MB
constexpr uint32_t kRows = 10000, kDim = 16;

std::vector<float> Gradient(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1e-3f);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Gigabytes a second of memcpy of that many bytes: the best of some tries, in this run.
double MemcpyGigabytes(size_t bytes) {
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes);
  double best = 0;
  for (int attempt = 0; attempt < 200; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(bytes) / seconds.count() / 1e9);
  }
  return best;
}

// `wire_bytes`: of what one iteration encodes.
void Report(benchmark::State& state, size_t input_bytes, size_t wire_bytes) {
  const double total_gigabytes = static_cast<double>(input_bytes) * static_cast<double>(state.iterations()) / 1e9;
  state.counters["GB/s"] = benchmark::Counter(total_gigabytes, benchmark::Counter::kIsRate);
  state.counters["of_memcpy"] = benchmark::Counter(total_gigabytes / MemcpyGigabytes(input_bytes), benchmark::Counter::kIsRate);
  if (wire_bytes != 0) state.counters["shrinks"] = static_cast<double>(input_bytes) / static_cast<double>(wire_bytes);
}

struct Sparse {
  std::vector<uint32_t> positions;
  std::vector<float> values;
};

Sparse Threshold(const std::vector<float>& values, double sparsity) {
  Sparse sparse;
  SelectKept(values, MagnitudeThreshold(values, sparsity), 0, &sparse.positions);
  for (const uint32_t position : sparse.positions) sparse.values.push_back(values[position]);
  return sparse;
}

// Arguments of what follows: entries, thousandths dropped, value type.
void Workloads(benchmark::internal::Benchmark* bench) {
  for (const int type : {0, 1}) {
    for (const int64_t thousandths : {990, 999}) bench->Args({kGradientEntries, thousandths, type});
    bench->Args({kRows * kDim, 900, type});
  }
}

double Sparsity(const benchmark::State& state) { return static_cast<double>(state.range(1)) / 1000; }
ValueType Type(const benchmark::State& state) { return static_cast<ValueType>(state.range(2)); }

void BM_Memcpy(benchmark::State& state) {
  const size_t bytes = state.range(0) * sizeof(float);
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  Report(state, bytes, 0);
}
BENCHMARK(BM_Memcpy)->Arg(kGradientEntries)->Arg(kRows* kDim);

void BM_MagnitudeThreshold(benchmark::State& state) {
  const std::vector<float> values = Gradient(state.range(0), 1);
  for (auto _ : state) benchmark::DoNotOptimize(MagnitudeThreshold(values, static_cast<double>(state.range(1)) / 1000));
  Report(state, values.size() * sizeof(float), 0);
}
BENCHMARK(BM_MagnitudeThreshold)->Args({kGradientEntries, 990})->Args({kGradientEntries, 999})->Args({kRows * kDim, 900});

void BM_SelectKept(benchmark::State& state) {
  const std::vector<float> values = Gradient(state.range(0), 1);
  const float threshold = MagnitudeThreshold(values, static_cast<double>(state.range(1)) / 1000);
  std::vector<uint32_t> kept;
  for (auto _ : state) {
    kept.clear();
    SelectKept(values, threshold, 0, &kept);
  }
  Report(state, values.size() * sizeof(float), 0);
}
BENCHMARK(BM_SelectKept)->Args({kGradientEntries, 990})->Args({kGradientEntries, 999})->Args({kRows * kDim, 900});

// DCT-MP: 2048 samples of 26 pooled vectors of width 16.
void BM_SelectPerSample(benchmark::State& state) {
  const std::vector<float> values = Gradient(2048 * 416, 1);
  std::vector<uint32_t> ends, kept;
  for (uint32_t i = 1; i <= 2048; ++i) ends.push_back(i * 416);
  for (auto _ : state) {
    if (!SelectPerSample(values, ends, static_cast<double>(state.range(0)) / 1000, &kept).ok()) state.SkipWithError("refused");
  }
  Report(state, values.size() * sizeof(float), 0);
}
BENCHMARK(BM_SelectPerSample)->Arg(500)->Arg(900);

void BM_EncodeDense(benchmark::State& state) {
  const std::vector<float> values = Gradient(state.range(0), 1);
  std::string frame;
  for (auto _ : state) {
    frame.clear();
    if (!EncodeDense(values, static_cast<ValueType>(state.range(1)), &frame).ok()) state.SkipWithError("refused");
  }
  Report(state, values.size() * sizeof(float), frame.size());
}
BENCHMARK(BM_EncodeDense)->ArgsProduct({{kGradientEntries, kRows* kDim}, {0, 1}});

void BM_DecodeDense(benchmark::State& state) {
  std::vector<float> values = Gradient(state.range(0), 1);
  std::string frame;
  if (!EncodeDense(values, static_cast<ValueType>(state.range(1)), &frame).ok()) state.SkipWithError("refused");
  for (auto _ : state) {
    if (!DecodeInto(frame, absl::MakeSpan(values)).ok()) state.SkipWithError("refused");
  }
  Report(state, values.size() * sizeof(float), frame.size());
}
BENCHMARK(BM_DecodeDense)->ArgsProduct({{kGradientEntries, kRows* kDim}, {0, 1}});

void BM_EncodeSparse(benchmark::State& state) {
  const std::vector<float> values = Gradient(state.range(0), 1);
  const Sparse sparse = Threshold(values, Sparsity(state));
  std::string frame;
  for (auto _ : state) {
    frame.clear();
    if (!EncodeSparse(state.range(0), sparse.positions, sparse.values, Type(state), &frame).ok()) state.SkipWithError("refused");
  }
  Report(state, values.size() * sizeof(float), frame.size());
}
BENCHMARK(BM_EncodeSparse)->Apply(Workloads);

void BM_DecodeAdd(benchmark::State& state) {
  std::vector<float> values = Gradient(state.range(0), 1);
  const Sparse sparse = Threshold(values, Sparsity(state));
  std::string frame;
  if (!EncodeSparse(state.range(0), sparse.positions, sparse.values, Type(state), &frame).ok()) state.SkipWithError("refused");
  for (auto _ : state) {
    if (!DecodeAdd(frame, absl::MakeSpan(values)).ok()) state.SkipWithError("refused");
  }
  Report(state, values.size() * sizeof(float), frame.size());
}
BENCHMARK(BM_DecodeAdd)->Apply(Workloads);

// The whole of one step: residual, threshold (renewed every `range(1)` steps), selection, frame, commit. Gradients of successive steps are
// independent.
void BM_DctLayerStep(benchmark::State& state) {
  std::vector<std::vector<float>> gradients;
  for (uint32_t seed = 1; seed <= 16; ++seed) gradients.push_back(Gradient(kGradientEntries, seed));
  DctLayer layer(kGradientEntries, 0,
                 {static_cast<double>(state.range(0)) / 1000, static_cast<uint32_t>(state.range(1)), ValueType::kFp32});
  const uint32_t ends[] = {kGradientEntries};
  std::vector<std::string> frames;
  size_t step = 0;
  const auto encode = [&] {
    if (!layer.Encode(gradients[step++ % gradients.size()], ends, &frames).ok()) state.SkipWithError("refused");
    layer.Commit();
  };
  while (step < 200) encode();  // until the residual has built up
  for (auto _ : state) encode();
  Report(state, kGradientEntries * sizeof(float), frames[0].size());
}
BENCHMARK(BM_DctLayerStep)->ArgsProduct({{990, 999}, {1, 100}});

// A step as a worker and the owners of its slices see it: encode, commit, decode what went, the threshold not renewed; beside one memcpy of
// the same numbers. 487,424 entries are the paper's DLRM, 4 million leave the caches.
void BM_DctRoundTrip(benchmark::State& state) {
  const auto entries = static_cast<uint32_t>(state.range(0));
  std::vector<std::vector<float>> gradients;
  for (uint32_t seed = 1; seed <= 4; ++seed) gradients.push_back(Gradient(entries, seed));
  DctLayer layer(entries, 0, {static_cast<double>(state.range(1)) / 1000, 1u << 30, ValueType::kFp32});
  const uint32_t ends[] = {entries};
  std::vector<std::string> frames;
  std::vector<float> sums(entries);
  size_t step = 0;
  const auto round_trip = [&] {
    const std::vector<float>& gradient = gradients[step++ % gradients.size()];
    if (!layer.Encode(gradient, ends, &frames).ok()) state.SkipWithError("refused");
    layer.Commit();
    if (!DecodeAdd(frames[0], absl::MakeSpan(sums)).ok()) state.SkipWithError("refused");
  };
  // Until the residual has built up, with new thresholds; the last one then lets as many through as asked for.
  while (step < 800) {
    if (step % 20 == 0) layer.SetDensityFactor(1);
    round_trip();
  }
  for (auto _ : state) round_trip();
  state.counters["density"] = static_cast<double>(layer.stats().kept) / entries;
  Report(state, entries * sizeof(float), frames[0].size());
}
BENCHMARK(BM_DctRoundTrip)->ArgsProduct({{kGradientEntries, 1 << 22}, {990, 999}});

// The same of the codecs that select anew each step, by the number of their method.
void BM_LayerCodecStep(benchmark::State& state) {
  std::vector<std::vector<float>> gradients;
  for (uint32_t seed = 1; seed <= 16; ++seed) gradients.push_back(Gradient(kGradientEntries, seed));
  Compression::Dense settings;
  settings.set_method(static_cast<Compression::Method>(state.range(0)));
  settings.set_sparsity(static_cast<double>(state.range(1)) / 1000);
  settings.set_refresh_every(1);
  settings.set_momentum(0.9);
  settings.set_clip_norm(1);
  const auto codec = MakeLayerCodec(settings, {kGradientEntries, 4});
  if (!codec.ok()) return state.SkipWithError("no such codec");
  state.SetLabel(Compression::Method_Name(settings.method()));
  const uint32_t ends[] = {kGradientEntries};
  std::vector<std::string> frames;
  size_t step = 0;
  const auto encode = [&] {
    if (!(*codec)->Encode(gradients[step++ % gradients.size()], 512, ends, &frames).ok()) state.SkipWithError("refused");
    (*codec)->Commit();
  };
  while (step < 200) encode();
  for (auto _ : state) encode();
  Report(state, kGradientEntries * sizeof(float), frames[0].size());
}
BENCHMARK(BM_LayerCodecStep)
    ->ArgsProduct({{Compression::METHOD_DCT, Compression::METHOD_TOPK, Compression::METHOD_DGC}, {990, 999}})
    ->Args({Compression::METHOD_FP16, 0})
    ->Args({Compression::METHOD_BF16, 0});

// One step of PowerSGD without its two sums, on the paper's largest layer; by rank.
void BM_LowRankStep(benchmark::State& state) {
  const LowRankShape shape = {512, 367, static_cast<uint32_t>(state.range(0))};
  LowRankLayer layer(shape, 1);
  const std::vector<float> gradient = Gradient(512 * 367, 1);
  std::vector<float> arrived(gradient.size()), p(layer.p_size()), q(layer.q_size());
  for (auto _ : state) {
    if (!layer.ProjectRows(gradient, absl::MakeSpan(p)).ok() || !layer.ProjectColumns(p, absl::MakeSpan(q)).ok() ||
        !layer.Reconstruct(q, absl::MakeSpan(arrived)).ok()) {
      state.SkipWithError("refused");
    }
  }
  Report(state, gradient.size() * sizeof(float), (p.size() + q.size()) * sizeof(float));
}
BENCHMARK(BM_LowRankStep)->Arg(1)->Arg(4);

// Each step pushes other rows of a table of `range(0)` rows that all have residuals.
void BM_DctRowsStep(benchmark::State& state) {
  const uint64_t table_rows = state.range(0);
  const std::vector<float> gradient = Gradient(kRows * kDim, 1);
  DctRows rows(kDim, {0.9, static_cast<uint32_t>(state.range(1)), ValueType::kFp32});
  const uint32_t ends[] = {kRows / 2, kRows};
  std::vector<std::string> frames;
  std::vector<Key> keys(kRows);
  uint64_t next = 0;
  const auto step = [&] {
    for (Key& key : keys) key = Mix64(next++ % table_rows);
    frames.clear();
    if (!rows.Encode(keys, gradient, ends, &frames).ok()) state.SkipWithError("refused");
    rows.Commit();
  };
  while (next < table_rows) step();
  for (auto _ : state) step();
  Report(state, gradient.size() * sizeof(float), frames[0].size() + frames[1].size());
}
BENCHMARK(BM_DctRowsStep)->ArgsProduct({{100000, 2000000}, {1, 100}});

// Keys that are hashes (64 bits at random), and keys of a dense vocabulary.
std::vector<Key> SortedKeys(bool hashed) {
  std::vector<Key> keys(kRows);
  for (uint32_t i = 0; i < kRows; ++i) keys[i] = hashed ? Mix64(i) : uint64_t{i} * 37;
  std::sort(keys.begin(), keys.end());
  return keys;
}

void BM_EncodeKeysSorted(benchmark::State& state) {
  const std::vector<Key> keys = SortedKeys(state.range(0) != 0);
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    EncodeKeysSorted(keys, &bytes);
  }
  Report(state, keys.size() * sizeof(Key), bytes.size());
}
BENCHMARK(BM_EncodeKeysSorted)->ArgName("hashed")->Arg(0)->Arg(1);

void BM_DecodeKeysSorted(benchmark::State& state) {
  std::string bytes;
  EncodeKeysSorted(SortedKeys(state.range(0) != 0), &bytes);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeKeysSorted(bytes, kRows));
  Report(state, kRows * sizeof(Key), bytes.size());
}
BENCHMARK(BM_DecodeKeysSorted)->ArgName("hashed")->Arg(0)->Arg(1);

}  // namespace
}  // namespace weir::compression

BENCHMARK_MAIN();
