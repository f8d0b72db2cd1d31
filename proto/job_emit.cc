#include "proto/job_file.h"
#include "proto/job_yaml.h"
#include "yaml-cpp/yaml.h"

namespace weir {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void EmitMessage(const Message& message, YAML::Emitter* out);

// `item`: of a list; -1 for a field that is none.
void EmitValue(const Message& message, const FieldDescriptor* field, int item, YAML::Emitter* out) {
  const Reflection* const r = message.GetReflection();
  const bool list = item >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return EmitMessage(list ? r->GetRepeatedMessage(message, field, item) : r->GetMessage(message, field), out);
    case FieldDescriptor::CPPTYPE_STRING:
      *out << YAML::DoubleQuoted << (list ? r->GetRepeatedString(message, field, item) : r->GetString(message, field));
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      *out << EnumText(list ? r->GetRepeatedEnum(message, field, item) : r->GetEnum(message, field));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      *out << (list ? r->GetRepeatedBool(message, field, item) : r->GetBool(message, field));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      *out << (list ? r->GetRepeatedUInt32(message, field, item) : r->GetUInt32(message, field));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      *out << (list ? r->GetRepeatedUInt64(message, field, item) : r->GetUInt64(message, field));
      return;
    case FieldDescriptor::CPPTYPE_INT32:
      *out << (list ? r->GetRepeatedInt32(message, field, item) : r->GetInt32(message, field));
      return;
    default:
      *out << NumberText(list ? r->GetRepeatedDouble(message, field, item) : r->GetDouble(message, field));
      return;
  }
}

void EmitMessage(const Message& message, YAML::Emitter* out) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  *out << YAML::BeginMap;
  for (const FieldDescriptor* field : fields) {
    *out << YAML::Key << field->name() << YAML::Value;
    if (!field->is_repeated()) {
      EmitValue(message, field, -1, out);
      continue;
    }
    *out << (field->message_type() == nullptr ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) EmitValue(message, field, i, out);
    *out << YAML::EndSeq;
  }
  *out << YAML::EndMap;
}

}  // namespace

std::string JobToYaml(const Job& job) {
  YAML::Emitter out;
  EmitMessage(job, &out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace weir
