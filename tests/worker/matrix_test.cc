#include "worker/matrix.h"

#include <cstdint>

#include "tests/worker/reference.h"

namespace weir::worker {
namespace {

struct Shape {
  size_t rows;
  size_t inner;
  size_t columns;
};

// A matrix inside wider rows, so that strides matter.
struct Padded {
  Padded(size_t rows, size_t columns, uint64_t stream)
      : values(RandomFloats(rows * (columns + 3), stream)), matrix{values.data(), rows, columns, columns + 3} {}
  std::vector<float> values;
  Matrix matrix;
};

double Element(ConstMatrix matrix, bool transposed, size_t row, size_t column) {
  return transposed ? matrix.Row(column)[row] : matrix.Row(row)[column];
}

void CheckProduct(Product product, Shape shape, Into into) {
  const bool transposed_a = product == Product::kAtB, transposed_b = product == Product::kABt;
  const Padded a = transposed_a ? Padded(shape.inner, shape.rows, 1) : Padded(shape.rows, shape.inner, 1);
  const Padded b = transposed_b ? Padded(shape.columns, shape.inner, 2) : Padded(shape.inner, shape.columns, 2);
  const Padded c(shape.rows, shape.columns, 3);
  std::vector<double> expected = ToDouble(c.values);
  for (size_t row = 0; row < shape.rows; ++row) {
    for (size_t column = 0; column < shape.columns; ++column) {
      double& sum = expected[row * c.matrix.stride + column];
      if (into == Into::kOverwrite) sum = 0;
      for (size_t k = 0; k < shape.inner; ++k) sum += Element(a.matrix, transposed_a, row, k) * Element(b.matrix, transposed_b, k, column);
    }
  }
  Multiply(product, a.matrix, b.matrix, into, c.matrix);
  ExpectClose(c.values, expected, 1e-5);
}

TEST(MatrixTest, ProductsMatchTheScalarReference) {
  for (const Shape shape : {Shape{1, 1, 1}, Shape{5, 3, 7}, Shape{33, 17, 65}, Shape{130, 13, 64}, Shape{64, 200, 1}, Shape{0, 3, 4},
                            Shape{3, 0, 4}, Shape{3, 4, 0}}) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.inner << " x " << shape.columns);
    for (const Product product : {Product::kAB, Product::kABt, Product::kAtB}) {
      CheckProduct(product, shape, Into::kOverwrite);
      CheckProduct(product, shape, Into::kAdd);
    }
  }
}

TEST(MatrixTest, MoreThreadsGiveTheSameProduct) {
  SetMatrixThreads(2);
  CheckProduct(Product::kAB, {200, 100, 150}, Into::kOverwrite);
  SetMatrixThreads(1);
}

TEST(MatrixBufferTest, KeepsItsMemoryWhileItIsLargeEnough) {
  MatrixBuffer buffer(5);
  buffer.Reserve(10);
  float* const memory = buffer.Rows(0, 10).data;
  buffer.Reserve(3);
  buffer.Reserve(10);
  EXPECT_EQ(buffer.Rows(0, 3).data, memory);
  EXPECT_EQ(buffer.Rows(2, 1).data, buffer.Rows(0, 3).Row(2));
  for (const size_t row : {0, 1, 9}) EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.Rows(row, 1).data) % 64, 0u);
}

}  // namespace
}  // namespace weir::worker
