#include "proto/codec_overrides.h"

#include <algorithm>
#include <vector>

namespace weir {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <typename Overrides>
auto Find(const Overrides& overrides, const std::string& name) {
  return std::find_if(overrides.begin(), overrides.end(), [&name](const auto& override_of) { return override_of.name() == name; });
}

// What a codec of its own says replaces what its edge says, field by field of the same name.
void Apply(const Message& from, Message* to) {
  std::vector<const FieldDescriptor*> said;
  from.GetReflection()->ListFields(from, &said);
  for (const FieldDescriptor* field : said) {
    const FieldDescriptor* const target = to->GetDescriptor()->FindFieldByName(field->name());
    if (target != nullptr && target->name() != "name") CopySetting(from, field, to, target);
  }
}

}  // namespace

Compression::Dense DenseOfLayer(const Compression::Dense& edge, const std::string& layer) {
  Compression::Dense settings = edge;
  settings.clear_layers();
  const auto found = Find(edge.layers(), layer);
  if (found == edge.layers().end()) return settings;
  Apply(*found, &settings);
  settings.set_min_elements(1);
  return settings;
}

Compression::Lookup LookupOfTable(const Compression::Lookup& edge, const std::string& table) {
  Compression::Lookup settings = edge;
  settings.clear_tables();
  const auto found = Find(edge.tables(), table);
  if (found == edge.tables().end()) return settings;
  Apply(*found, &settings);
  if (settings.method() == Compression::METHOD_ERROR_BOUNDED) settings.set_classes(Compression::CLASSES_NONE);
  if (settings.method() != Compression::METHOD_DCT) settings.set_scope(Compression::SCOPE_ROW);
  return settings;
}

Compression::Push PushOfTable(const Compression::Push& edge, const std::string& table) {
  Compression::Push settings = edge;
  settings.clear_tables();
  const auto found = Find(edge.tables(), table);
  if (found != edge.tables().end()) Apply(*found, &settings);
  return settings;
}

void CopySetting(const Message& from, const FieldDescriptor* from_field, Message* to, const FieldDescriptor* to_field) {
  const google::protobuf::Reflection* const read = from.GetReflection();
  const google::protobuf::Reflection* const write = to->GetReflection();
  switch (to_field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return write->SetUInt32(to, to_field, read->GetUInt32(from, from_field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return write->SetEnumValue(to, to_field, read->GetEnumValue(from, from_field));
    default:
      return write->SetDouble(to, to_field, read->GetDouble(from, from_field));
  }
}

}  // namespace weir
