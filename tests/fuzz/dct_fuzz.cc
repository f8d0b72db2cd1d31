// Codecs with a residual as a list of instructions: each byte encodes a step (DCT of a layer or of rows, top-k, DGC; commit or roll back;
// denser than asked for or not) and the bytes after it are gradients of any bit pattern. After each step: what was acknowledged plus the
// residual is the sum of the gradients.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "compression/dct_layer.h"
#include "compression/dct_rows.h"
#include "compression/dgc_layer.h"
#include "compression/topk_layer.h"

namespace weir::compression {
namespace {

constexpr uint32_t kDim = 4, kRows = 2, kSize = kDim * kRows;

void Demand(bool holds) {
  if (!holds) abort();
}

// Sums of one codec in double, with a bound on the error of all single-precision roundings so far.
class Ledger {
 public:
  void Add(const std::vector<float>& gradient, const std::vector<float>& sent, const std::vector<float>& residual) {
    for (uint32_t i = 0; i < kSize; ++i) {
      gradients_[i] += gradient[i];
      sent_[i] += sent[i];
      const double scale = std::fabs(gradient[i]) + std::fabs(sent[i]) + std::fabs(residual[i]);
      bound_[i] += scale * 0x1p-20 + 0x1p-140 + std::fabs(sent_[i]) * 0x1p-40 + std::fabs(gradients_[i]) * 0x1p-40;
      Demand(std::isfinite(residual[i]));
      Demand(std::fabs(sent_[i] + residual[i] - gradients_[i]) <= bound_[i]);
    }
  }

 private:
  double gradients_[kSize] = {}, sent_[kSize] = {}, bound_[kSize] = {};
};

std::vector<float> Decoded(const std::vector<std::string>& frames) {
  std::vector<float> out(kSize);
  Demand(frames.size() == kRows);
  for (uint32_t i = 0; i < kRows; ++i) Demand(DecodeInto(frames[i], absl::MakeSpan(out).subspan(i * kDim, kDim)).ok());
  return out;
}

template <typename Codec, typename Encode, typename Residual>
void Step(bool commit, const std::vector<float>& gradient, Codec* codec, Ledger* ledger, const Encode& encode, const Residual& residual) {
  std::vector<std::string> frames;
  if (!encode(&frames).ok()) return;
  commit ? codec->Commit() : codec->Rollback();
  ledger->Add(gradient, commit ? Decoded(frames) : std::vector<float>(kSize, 0.0f), residual());
}

constexpr uint32_t kLayerEnds[] = {kDim, kSize};

// A dense codec and its account.
template <typename Codec>
class LayerUnderTest {
 public:
  template <typename Options>
  explicit LayerUnderTest(const Options& options) : codec_(kSize, 0, options) {}

  void Take(bool commit, const std::vector<float>& gradient) {
    Step(
        commit, gradient, &codec_, &ledger_, [&](std::vector<std::string>* frames) { return Encode(gradient, frames); },
        [&] { return std::vector<float>(codec_.residual().begin(), codec_.residual().end()); });
  }
  void SetDensityFactor(double factor) { codec_.SetDensityFactor(factor); }

 private:
  absl::Status Encode(const std::vector<float>& gradient, std::vector<std::string>* frames) {
    if constexpr (std::is_same_v<Codec, DctLayer>) {
      return codec_.Encode(gradient, kLayerEnds, frames);
    } else {
      return codec_.Encode(gradient, 1, kLayerEnds, frames);
    }
  }

  Codec codec_;
  Ledger ledger_;
};

std::vector<float> ResidualOf(const DctRows& rows, const std::vector<Key>& keys) {
  std::vector<float> residual(kSize, 0.0f);
  for (uint32_t i = 0; i < kRows; ++i) {
    const absl::Span<const float> row = rows.residual(keys[i]);
    std::copy(row.begin(), row.end(), residual.begin() + i * kDim);
  }
  return residual;
}

void Run(const uint8_t* data, size_t size, const DctOptions& options) {
  LayerUnderTest<DctLayer> layer(options);
  LayerUnderTest<TopkLayer> topk(TopkOptions{options.sparsity, options.values});
  // Without momentum what dgc holds back are gradients.
  LayerUnderTest<DgcLayer> dgc(DgcOptions{options.sparsity, options.values, 0, 0, 4, 2});
  DctRows rows(kDim, options);
  Ledger rows_ledger;
  const std::vector<Key> keys = {0, UINT64_MAX};
  for (; size >= 1 + kSize * sizeof(float); data += 1 + kSize * sizeof(float), size -= 1 + kSize * sizeof(float)) {
    std::vector<float> gradient(kSize);
    std::memcpy(gradient.data(), data + 1, kSize * sizeof(float));
    const bool commit = (*data & 1) == 0;
    if (*data & 8) {
      const double factor = 1 + (*data >> 4);
      layer.SetDensityFactor(factor);
      topk.SetDensityFactor(factor);
      dgc.SetDensityFactor(factor);
      rows.SetDensityFactor(factor);
    }
    switch (*data >> 1 & 3) {
      case 0:
        layer.Take(commit, gradient);
        break;
      case 1:
        topk.Take(commit, gradient);
        break;
      case 2:
        dgc.Take(commit, gradient);
        break;
      default:
        Step(
            commit, gradient, &rows, &rows_ledger,
            [&](std::vector<std::string>* frames) {
              return rows.Encode(keys, gradient, std::vector<uint32_t>{1, kRows}, frames);
            },
            [&] { return ResidualOf(rows, keys); });
    }
  }
}

}  // namespace
}  // namespace weir::compression

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  weir::compression::DctOptions options;
  options.sparsity = (data[0] & 0x0f) / 16.0;
  options.refresh_every = 1 + (data[0] >> 4 & 0x7);
  options.values = data[0] & 0x80 ? weir::compression::ValueType::kFp16 : weir::compression::ValueType::kFp32;
  weir::compression::Run(data + 1, size - 1, options);
  return 0;
}
