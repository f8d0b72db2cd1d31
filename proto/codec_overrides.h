// The codec of one layer or table: its edge's, with what the job says for it alone. Thread-safe (pure functions).
#ifndef WEIR_PROTO_CODEC_OVERRIDES_H_
#define WEIR_PROTO_CODEC_OVERRIDES_H_

#include <string>

#include "proto/job.pb.h"

namespace weir {

// edge: validated, all defaults set. The result is complete, and says nothing of layers or tables. A layer that is named is compressed
// whatever its size.
Compression::Dense DenseOfLayer(const Compression::Dense& edge, const std::string& layer);
Compression::Push PushOfTable(const Compression::Push& edge, const std::string& table);

}  // namespace weir

#endif  // WEIR_PROTO_CODEC_OVERRIDES_H_
