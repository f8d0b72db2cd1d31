// Row-major fp32 matrices, and the one door to the matrix library (oneDNN).
#ifndef WEIR_WORKER_MATRIX_H_
#define WEIR_WORKER_MATRIX_H_

#include <cstddef>

#include "absl/status/status.h"
#include "hwy/aligned_allocator.h"

namespace weir::worker {

// Views: they own nothing. Element (r, c) is data[r * stride + c]; stride >= columns.
struct Matrix {
  float* data = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  size_t stride = 0;

  float* Row(size_t row) const { return data + row * stride; }
  Matrix Rows(size_t first, size_t count) const { return {Row(first), count, columns, stride}; }
};

struct ConstMatrix {
  const float* data = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  size_t stride = 0;

  ConstMatrix() = default;
  ConstMatrix(const float* data, size_t rows, size_t columns, size_t stride) : data(data), rows(rows), columns(columns), stride(stride) {}
  ConstMatrix(const Matrix& matrix) : ConstMatrix(matrix.data, matrix.rows, matrix.columns, matrix.stride) {}  // NOLINT: a view of a view
  const float* Row(size_t row) const { return data + row * stride; }
  ConstMatrix Rows(size_t first, size_t count) const { return {Row(first), count, columns, stride}; }
};

// Memory of a matrix whose rows come and go: it grows, and never shrinks. Every row starts at a cache line.
class MatrixBuffer {
 public:
  explicit MatrixBuffer(size_t columns);

  // After it Rows may name rows [0, rows). What was in the buffer is lost when it has to grow.
  void Reserve(size_t rows);
  Matrix Rows(size_t first, size_t count) const { return {memory_.get() + first * stride_, count, columns_, stride_}; }

 private:
  size_t columns_;
  size_t stride_;
  size_t rows_ = 0;
  hwy::AlignedFreeUniquePtr<float[]> memory_;
};

// What is multiplied; t: transposed.
enum class Product {
  kAB,
  kABt,
  kAtB,
};

// What becomes of the numbers that were in the result.
enum class Into {
  kOverwrite,
  kAdd,
};

// c = product, or c += product. Shapes must fit; any of them may be 0. For one thread and one machine type the result is a pure function of
// the inputs.
void Multiply(Product product, ConstMatrix a, ConstMatrix b, Into into, Matrix c);

// Threads of the calling thread's Multiply calls from now on. The library keeps them in an OpenMP pool of that thread; 1 means no pool at
// all. Threads that never call this get OpenMP's default (OMP_NUM_THREADS, else one for each core).
void SetMatrixThreads(int count);

enum class Precision {
  kFp32,
  kBf16,  // both factors are rounded to bf16, to nearest; products and sums are fp32
};

// Of the calling thread's Multiply calls from now on; fp32 at first. FAILED_PRECONDITION: bf16, and this processor multiplies none.
absl::Status SetMatrixPrecision(Precision precision);

}  // namespace weir::worker

#endif  // WEIR_WORKER_MATRIX_H_
