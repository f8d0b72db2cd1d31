#include "compression/low_rank_layer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/key.h"
#include "compression/kept_entries.h"
#include "compression/vector_kernels.h"

namespace weir::compression {
namespace {

// A direction that loses more than this share of its length to the ones before it is rounding error of theirs.
constexpr double kLeastRemainder = 1e-5;

// In a fixed order that lets a compiler use vectors without changing any sum.
constexpr size_t kLanes = 8;

float Dot(const float* a, const float* b, size_t size) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (; i < size; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

void AddScaled(float factor, const float* in, size_t size, float* out) {
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) out[i + lane] += factor * in[i + lane];
  }
  for (; i < size; ++i) out[i] += factor * in[i];
}

double DoubleDot(const float* a, const float* b, size_t size) {
  double sum = 0;
  for (size_t i = 0; i < size; ++i) sum += double{a[i]} * b[i];
  return sum;
}

// Gram and Schmidt, twice over: once leaves what rounding brought back. A direction without remainder becomes zero.
void Orthonormalise(uint32_t rank, size_t size, float* p) {
  for (uint32_t k = 0; k < rank; ++k) {
    float* const column = p + k * size;
    const double length = std::sqrt(DoubleDot(column, column, size));
    for (int turn = 0; turn < 2; ++turn) {
      for (uint32_t before = 0; before < k; ++before) {
        const float* const other = p + before * size;
        AddScaled(static_cast<float>(-DoubleDot(column, other, size)), other, size, column);
      }
      const double remainder = std::sqrt(DoubleDot(column, column, size));
      const double least = turn == 0 ? kLeastRemainder * length : 0;
      const double scale = remainder > least ? 1 / remainder : 0;
      for (size_t i = 0; i < size; ++i) column[i] = static_cast<float>(column[i] * scale);
    }
  }
}

absl::Status CheckSum(absl::Span<const float> sum, absl::string_view what) {
  if (MaxMagnitudeBits(sum) < kInfinityBits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the sum of ", what, " over all workers is not finite; lower a learning rate"));
}

}  // namespace

LowRankLayer::LowRankLayer(const LowRankShape& shape, uint64_t seed)
    : shape_(shape), seed_(seed), residual_(size_t{shape.rows} * shape.columns), p_(p_size()), q_(q_size()), own_q_(q_size()) {
  for (uint32_t k = 0; k < shape_.rank; ++k) Seed(k);
}

void LowRankLayer::Seed(uint32_t k) {
  const uint64_t stream = Mix64(seed_, seeded_++);
  for (uint32_t j = 0; j < shape_.columns; ++j) q_[size_t{k} * shape_.columns + j] = static_cast<float>(2 * KeyedUniform(stream, j) - 1);
}

void LowRankLayer::VisitState(StateVisitor* state) {
  state->Number("seeded", &seeded_);
  state->Values("q", absl::MakeSpan(q_));
  state->Residual("residual", absl::MakeSpan(residual_));
}

absl::Status LowRankLayer::ProjectRows(absl::Span<const float> gradient, absl::Span<float> p) {
  if (MaxMagnitudeBits(gradient) >= kInfinityBits) return NotFinite(gradient, gradient);
  AddInto(gradient, residual_, residual_.data());
  for (uint32_t i = 0; i < shape_.rows; ++i) {
    const float* const row = &residual_[size_t{i} * shape_.columns];
    for (uint32_t k = 0; k < shape_.rank; ++k) {
      p[size_t{k} * shape_.rows + i] = Dot(row, &q_[size_t{k} * shape_.columns], shape_.columns);
    }
  }
  return absl::OkStatus();
}

absl::Status LowRankLayer::ProjectColumns(absl::Span<const float> p_sum, absl::Span<float> q) {
  if (absl::Status status = CheckSum(p_sum, "P"); !status.ok()) return status;
  std::copy(p_sum.begin(), p_sum.end(), p_.begin());
  Orthonormalise(shape_.rank, shape_.rows, p_.data());
  std::fill(own_q_.begin(), own_q_.end(), 0.0f);
  for (uint32_t i = 0; i < shape_.rows; ++i) {
    const float* const row = &residual_[size_t{i} * shape_.columns];
    for (uint32_t k = 0; k < shape_.rank; ++k) {
      AddScaled(p_[size_t{k} * shape_.rows + i], row, shape_.columns, &own_q_[size_t{k} * shape_.columns]);
    }
  }
  std::copy(own_q_.begin(), own_q_.end(), q.begin());
  return absl::OkStatus();
}

absl::Status LowRankLayer::Reconstruct(absl::Span<const float> q_sum, absl::Span<float> gradient) {
  if (absl::Status status = CheckSum(q_sum, "Q"); !status.ok()) return status;
  std::copy(q_sum.begin(), q_sum.end(), q_.begin());
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  for (uint32_t i = 0; i < shape_.rows; ++i) {
    const size_t begin = size_t{i} * shape_.columns;
    for (uint32_t k = 0; k < shape_.rank; ++k) {
      const float factor = p_[size_t{k} * shape_.rows + i];
      AddScaled(factor, &q_[size_t{k} * shape_.columns], shape_.columns, &gradient[begin]);
      AddScaled(-factor, &own_q_[size_t{k} * shape_.columns], shape_.columns, &residual_[begin]);
    }
  }
  for (uint32_t k = 0; k < shape_.rank; ++k) {
    if (MaxMagnitudeBits(absl::MakeSpan(q_).subspan(size_t{k} * shape_.columns, shape_.columns)) == 0) Seed(k);
  }
  return absl::OkStatus();
}

}  // namespace weir::compression
