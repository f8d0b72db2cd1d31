// The value type that a job's setting names. Thread-safe (pure function).
#ifndef WEIR_COMPRESSION_VALUE_TYPE_H_
#define WEIR_COMPRESSION_VALUE_TYPE_H_

#include "compression/frame.h"
#include "proto/job.pb.h"

namespace weir::compression {

inline ValueType ValueTypeOf(Compression::Values values) {
  switch (values) {
    case Compression::VALUES_FP16:
      return ValueType::kFp16;
    case Compression::VALUES_INT8:
      return ValueType::kInt8;
    case Compression::VALUES_FP8:
      return ValueType::kFp8;
    default:
      return ValueType::kFp32;
  }
}

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_VALUE_TYPE_H_
