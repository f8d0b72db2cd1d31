#include "worker/matrix.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
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

// `share`: of the sum of magnitudes that an element may be off; 0: as fp32 rounds.
void CheckProduct(Product product, Shape shape, Into into, double share = 0) {
  const bool transposed_a = product == Product::kAtB, transposed_b = product == Product::kABt;
  const Padded a = transposed_a ? Padded(shape.inner, shape.rows, 1) : Padded(shape.rows, shape.inner, 1);
  const Padded b = transposed_b ? Padded(shape.columns, shape.inner, 2) : Padded(shape.inner, shape.columns, 2);
  const Padded c(shape.rows, shape.columns, 3);
  std::vector<double> expected = ToDouble(c.values), bounds(expected.size(), 1e-6);
  for (size_t row = 0; row < shape.rows; ++row) {
    for (size_t column = 0; column < shape.columns; ++column) {
      double& sum = expected[row * c.matrix.stride + column];
      if (into == Into::kOverwrite) sum = 0;
      for (size_t k = 0; k < shape.inner; ++k) {
        const double term = Element(a.matrix, transposed_a, row, k) * Element(b.matrix, transposed_b, k, column);
        sum += term;
        bounds[row * c.matrix.stride + column] += share * std::abs(term);
      }
    }
  }
  Multiply(product, a.matrix, b.matrix, into, c.matrix);
  if (share == 0) {
    ExpectClose(c.values, expected, 1e-5);
    return;
  }
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(c.values[i], expected[i], bounds[i]) << "at " << i;
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

// Each factor is off by 2^-8 of itself at most, so that a sum of products is off by 2^-7 of the sum of their magnitudes, and what fp32
// adds.
TEST(MatrixTest, Bf16ProductsAreWithinTheirRounding) {
  if (const absl::Status status = SetMatrixPrecision(Precision::kBf16); !status.ok()) {
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("AVX512_BF16"));
    GTEST_SKIP() << status;
  }
  for (const Shape shape : {Shape{1, 1, 1}, Shape{5, 3, 7}, Shape{33, 17, 65}, Shape{130, 13, 64}, Shape{64, 200, 1}, Shape{256, 367, 512},
                            Shape{0, 3, 4}, Shape{3, 0, 4}, Shape{3, 4, 0}}) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.inner << " x " << shape.columns);
    for (const Product product : {Product::kAB, Product::kABt, Product::kAtB}) {
      CheckProduct(product, shape, Into::kOverwrite, 0x1.1p-7);
      CheckProduct(product, shape, Into::kAdd, 0x1.1p-7);
    }
  }
  ASSERT_TRUE(SetMatrixPrecision(Precision::kFp32).ok());
  CheckProduct(Product::kAB, {5, 3, 7}, Into::kAdd);
}

// What a bf16 holds is multiplied exactly: the same products as in fp32, whatever the layout.
TEST(MatrixTest, Bf16ProductsOfSmallWholeNumbersAreExact) {
  if (const absl::Status status = SetMatrixPrecision(Precision::kBf16); !status.ok()) GTEST_SKIP() << status;
  std::vector<float> a(40 * 30), b(30 * 20), c(40 * 20), d(40 * 20);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 11) - 5;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
  const auto multiply = [&](std::vector<float>* out) {
    Multiply(Product::kAB, {a.data(), 40, 30, 30}, {b.data(), 30, 20, 20}, Into::kOverwrite, {out->data(), 40, 20, 20});
  };
  multiply(&c);
  ASSERT_TRUE(SetMatrixPrecision(Precision::kFp32).ok());
  multiply(&d);
  EXPECT_EQ(c, d);
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
