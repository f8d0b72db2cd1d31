// Matrix products of bf16 factors, by oneDNN: what worker/matrix.h does where a thread asked for them.
#ifndef WEIR_WORKER_BF16_PRODUCT_H_
#define WEIR_WORKER_BF16_PRODUCT_H_

#include "worker/matrix.h"

namespace weir::worker {

// Whether this processor has instructions for it; without, the library would emulate them at a fraction of the speed of fp32.
bool CanMultiplyBf16();

// As Multiply, with factors rounded to bf16. REQUIRES: no dimension is 0.
void MultiplyBf16(Product product, ConstMatrix a, ConstMatrix b, Into into, Matrix c);

}  // namespace weir::worker

#endif  // WEIR_WORKER_BF16_PRODUCT_H_
