#include "worker/matrix.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "worker/bf16_product.h"

namespace weir::worker {
namespace {

constexpr size_t kLineFloats = 16;

thread_local Precision precision = Precision::kFp32;

}  // namespace

MatrixBuffer::MatrixBuffer(size_t columns) : columns_(columns), stride_((columns + kLineFloats - 1) / kLineFloats * kLineFloats) {}

void MatrixBuffer::Reserve(size_t rows) {
  if (rows <= rows_) return;
  memory_ = hwy::AllocateAligned<float>(rows * stride_);
  rows_ = rows;
}

void Multiply(Product product, ConstMatrix a, ConstMatrix b, Into into, Matrix c) {
  const size_t inner = product == Product::kAtB ? a.rows : a.columns;
  if (c.rows == 0 || c.columns == 0) return;
  if (inner == 0) {  // the library refuses it
    if (into == Into::kAdd) return;
    for (size_t row = 0; row < c.rows; ++row) std::fill_n(c.Row(row), c.columns, 0.0f);
    return;
  }
  if (precision == Precision::kBf16) {
    MultiplyBf16(product, a, b, into, c);
    return;
  }
  const char transpose_a = product == Product::kAtB ? 'T' : 'N';
  const char transpose_b = product == Product::kABt ? 'T' : 'N';
  const float keep = into == Into::kAdd ? 1.0f : 0.0f;
  const dnnl_status_t status =
      dnnl_sgemm(transpose_a, transpose_b, c.rows, c.columns, inner, 1.0f, a.data, a.stride, b.data, b.stride, keep, c.data, c.stride);
  if (status != dnnl_success) {  // a shape that does not fit, or no memory: neither leaves anything to go on with
    spdlog::critical("oneDNN sgemm of {} x {} x {} failed with status {}", c.rows, c.columns, inner, static_cast<int>(status));
    std::abort();
  }
}

void SetMatrixThreads(int count) { omp_set_num_threads(count); }

absl::Status SetMatrixPrecision(Precision wanted) {
  if (wanted == Precision::kBf16 && !CanMultiplyBf16()) {
    return absl::FailedPreconditionError(
        "training.precision: bf16, but this processor has no instructions for it (AVX512_BF16, or AMX_BF16); use fp32");
  }
  precision = wanted;
  return absl::OkStatus();
}

}  // namespace weir::worker
