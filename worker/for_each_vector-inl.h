// Included inside a Highway target's region, once for each target: see worker/dense_update.cc.
#if defined(WEIR_WORKER_FOR_EACH_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_WORKER_FOR_EACH_VECTOR_INL_H_
#undef WEIR_WORKER_FOR_EACH_VECTOR_INL_H_
#else
#define WEIR_WORKER_FOR_EACH_VECTOR_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::worker {
namespace HWY_NAMESPACE {

// Calls step(tag, i) for whole vectors of floats, then for the lone numbers at the end: one body serves both.
template <class Step>
HWY_INLINE void ForEachVector(size_t count, Step step) {
  const hwy::HWY_NAMESPACE::ScalableTag<float> whole;
  const hwy::HWY_NAMESPACE::CappedTag<float, 1> lone;
  size_t i = 0;
  for (; i + hwy::HWY_NAMESPACE::Lanes(whole) <= count; i += hwy::HWY_NAMESPACE::Lanes(whole)) step(whole, i);
  for (; i < count; ++i) step(lone, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::worker
HWY_AFTER_NAMESPACE();

#endif  // WEIR_WORKER_FOR_EACH_VECTOR_INL_H_
