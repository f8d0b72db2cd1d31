// Thrust picks where its algorithms run when this file is compiled: nvcc makes GPU code of it, a plain C++ compiler (with
// THRUST_DEVICE_SYSTEM_CPP) the same algorithms for the processor, which is how it is tested where there is no GPU.
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/find.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>

#include <cfloat>
#include <cmath>
#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/select_kept_kernel.h"

namespace weir::cuda {
namespace {

struct NotFinite {
  __host__ __device__ bool operator()(float sum) const { return !(fabsf(sum) <= FLT_MAX); }
};

struct Kept {
  float threshold;

  __host__ __device__ bool operator()(float sum) const { return fabsf(sum) >= threshold && sum != 0; }
};

struct Zero {
  __host__ __device__ float operator()(float) const { return 0; }
};

// Throws what Thrust throws.
SelectKeptResult Run(const SelectKeptArrays& arrays) {
  float* const sums = arrays.unsent;
  float* const sums_end = sums + arrays.size;
  thrust::transform(thrust::device, arrays.gradient, arrays.gradient + arrays.size, arrays.residual, sums, thrust::plus<float>());
  SelectKeptResult result;
  result.finite = thrust::find_if(thrust::device, sums, sums_end, NotFinite()) - sums;
  if (result.finite < arrays.size) return result;

  const Kept kept{arrays.threshold};
  const auto entries = thrust::make_zip_iterator(thrust::make_tuple(thrust::counting_iterator<uint32_t>(0), sums));
  const auto selected = thrust::make_zip_iterator(thrust::make_tuple(arrays.positions, arrays.values));
  result.kept = thrust::copy_if(thrust::device, entries, entries + arrays.size, sums, selected, kept) - selected;
  thrust::transform_if(thrust::device, sums, sums_end, sums, Zero(), kept);
  return result;
}

}  // namespace

absl::StatusOr<SelectKeptResult> RunSelectKept(const SelectKeptArrays& arrays) {
  try {
    return Run(arrays);
  } catch (const std::bad_alloc& error) {
    return absl::ResourceExhaustedError(absl::StrCat("selecting from ", arrays.size, " entries: ", error.what()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("selecting from ", arrays.size, " entries: ", error.what()));
  }
}

}  // namespace weir::cuda
