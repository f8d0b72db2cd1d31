#include "worker/bf16_product.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/log.h"
#include "dnnl.hpp"
#include "hwy/aligned_allocator.h"

namespace weir::worker {
namespace {

using dnnl::memory;

// A factor as it is multiplied: transposed where the product says so.
struct Factor {
  const float* data;
  memory::dim rows;
  memory::dim columns;
  memory::dims strides;
};

Factor FactorOf(ConstMatrix matrix, bool transposed) {
  const auto rows = static_cast<memory::dim>(matrix.rows), columns = static_cast<memory::dim>(matrix.columns);
  const auto stride = static_cast<memory::dim>(matrix.stride);
  if (transposed) return {matrix.data, columns, rows, {1, stride}};
  return {matrix.data, rows, columns, {stride, 1}};
}

memory::desc DenseBf16(memory::dim rows, memory::dim columns) {
  return {{rows, columns}, memory::data_type::bf16, memory::dims{columns, 1}};
}

// A thread's primitives, each made once for a shape, and memory for the rounded factors, which only grows.
class Bf16Multiplier {
 public:
  void Multiply(const Factor& a, const Factor& b, Into into, Matrix c) {
    const memory::desc a_desc = DenseBf16(a.rows, a.columns), b_desc = DenseBf16(b.rows, b.columns);
    const memory a_rounded = Round(a, a_desc, &a_memory_), b_rounded = Round(b, b_desc, &b_memory_);
    const auto stride = static_cast<memory::dim>(c.stride);
    const memory::desc c_desc({a.rows, b.columns}, memory::data_type::f32, memory::dims{stride, 1});
    const Key key = {a.rows, a.columns, b.columns, stride, into == Into::kAdd ? 1 : 0};
    const auto [product, added] = products_.try_emplace(key);
    if (added) {
      dnnl::primitive_attr attributes;
      if (into == Into::kAdd) {
        dnnl::post_ops sum;
        sum.append_sum(1.0f);
        attributes.set_post_ops(sum);
      }
      product->second = dnnl::matmul(dnnl::matmul::primitive_desc({a_desc, b_desc, c_desc}, attributes, engine_));
    }
    product->second.execute(
        stream_,
        {{DNNL_ARG_SRC, a_rounded}, {DNNL_ARG_WEIGHTS, b_rounded}, {DNNL_ARG_DST, memory(c_desc, engine_, const_cast<float*>(c.data))}});
    stream_.wait();
  }

 private:
  using Key = std::array<memory::dim, 5>;
  struct Buffer {
    size_t size = 0;
    hwy::AlignedFreeUniquePtr<uint16_t[]> memory;
  };

  memory Round(const Factor& factor, const memory::desc& to, Buffer* buffer) {
    const auto size = static_cast<size_t>(factor.rows * factor.columns);
    if (buffer->size < size) *buffer = {size, hwy::AllocateAligned<uint16_t>(size)};
    const memory::desc from({factor.rows, factor.columns}, memory::data_type::f32, factor.strides);
    memory source(from, engine_, const_cast<float*>(factor.data));  // only read
    memory rounded(to, engine_, buffer->memory.get());
    const Key key = {factor.rows, factor.columns, factor.strides[0], factor.strides[1], 0};
    const auto [rounding, added] = roundings_.try_emplace(key);
    if (added) rounding->second = dnnl::reorder(dnnl::reorder::primitive_desc(source, rounded));
    rounding->second.execute(stream_, source, rounded);
    return rounded;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Key, dnnl::matmul> products_;
  std::map<Key, dnnl::reorder> roundings_;
  Buffer a_memory_, b_memory_;
};

}  // namespace

bool CanMultiplyBf16() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);  // a set of bits that later ones include
  return (isa & wanted) == wanted;
}

void MultiplyBf16(Product product, ConstMatrix a, ConstMatrix b, Into into, Matrix c) {
  thread_local Bf16Multiplier multiplier;
  try {
    multiplier.Multiply(FactorOf(a, product == Product::kAtB), FactorOf(b, product == Product::kABt), into, c);
  } catch (const dnnl::error& error) {  // no memory, or a shape that does not fit: neither leaves anything to go on with
    spdlog::critical("oneDNN bf16 product of {} x {}: {}", c.rows, c.columns, error.what());
    std::abort();
  }
}

}  // namespace weir::worker
