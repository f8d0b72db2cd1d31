// The codec of one layer or table: its edge's, with what the job says for it alone. Thread-safe (pure functions).
#ifndef WEIR_PROTO_CODEC_OVERRIDES_H_
#define WEIR_PROTO_CODEC_OVERRIDES_H_

#include <string>

#include "proto/job.pb.h"

namespace weir {

// edge: validated, all defaults set. The result is complete, and says nothing of layers or tables. A layer that is named is compressed
// whatever its size.
Compression::Dense DenseOfLayer(const Compression::Dense& edge, const std::string& layer);
Compression::Lookup LookupOfTable(const Compression::Lookup& edge, const std::string& table);
Compression::Push PushOfTable(const Compression::Push& edge, const std::string& table);

// Sets `to_field` to what `from_field` is: a number, or the name of one, of the same type.
void CopySetting(const google::protobuf::Message& from, const google::protobuf::FieldDescriptor* from_field, google::protobuf::Message* to,
                 const google::protobuf::FieldDescriptor* to_field);

}  // namespace weir

#endif  // WEIR_PROTO_CODEC_OVERRIDES_H_
