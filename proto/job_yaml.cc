#include "proto/job_yaml.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "proto/nearest_name.h"
#include "spdlog/spdlog.h"
#include "yaml-cpp/yaml.h"

namespace weir {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kSetPrefix[] = "--set ";

absl::Status ErrorAt(absl::string_view place, absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(path.empty() ? absl::StrCat(place, ": ", what) : absl::StrCat(place, ": ", path, ": ", what));
}

std::string EnumPrefix(const EnumDescriptor* type) {
  return std::string(absl::StripSuffix(type->FindValueByNumber(0)->name(), "UNSPECIFIED"));
}

std::string Join(absl::string_view parent, absl::string_view key) {
  return parent.empty() ? std::string(key) : absl::StrCat(parent, ".", key);
}

absl::Status UnknownKey(absl::string_view place, absl::string_view path, absl::string_view key, const Descriptor* type) {
  std::vector<std::string> known;
  for (int i = 0; i < type->field_count(); ++i) known.push_back(type->field(i)->name());
  return ErrorAt(place, "", absl::StrCat("unknown key '", path, "'", SuggestName(key, known)));
}

// Bytes of the UTF-8 sequence that starts with this byte; 0: none does.
size_t SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// yaml-cpp checks little: it hands on some bad bytes as they are, and makes U+FFFD of others.
bool IsPlainText(absl::string_view text) {
  if (absl::StrContains(text, "\xef\xbf\xbd") || absl::c_any_of(text, [](char c) { return absl::ascii_iscntrl(c); })) return false;
  while (!text.empty()) {
    const size_t length = SequenceLength(static_cast<unsigned char>(text[0]));
    if (length == 0 || length > text.size()) return false;
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    if (!absl::c_all_of(text.substr(1, length - 1), continues)) return false;
    // Longer than needed, a surrogate, or past U+10FFFF.
    const unsigned first = static_cast<unsigned char>(text[0]);
    const unsigned second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f)) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

const char* NodeKind(const YAML::Node& node) {
  if (node.IsMap()) return "a group of keys";
  if (node.IsSequence()) return "a list";
  return "no value";
}

// Reads one YAML tree into a message. Places are "<file>:<line>", or `fixed_place` for a value of the command line.
class Reader {
 public:
  Reader(absl::string_view name, absl::string_view fixed_place, JobSource* source)
      : name_(name), fixed_place_(fixed_place), source_(source) {}

  absl::Status ReadMessage(const YAML::Node& node, const std::string& path, Message* message) {
    if (!node.IsMap()) return ErrorAt(Place(node), path, absl::StrCat("must be a group of keys, not ", Shown(node)));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return ErrorAt(Place(entry.first), path, "a key must be a word");
      const std::string& key = entry.first.Scalar();
      const std::string key_path = Join(path, key);
      const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(key);
      if (field == nullptr) return UnknownKey(Place(entry.first), key_path, key, message->GetDescriptor());
      if (!seen.insert(key).second) return ErrorAt(Place(entry.first), key_path, "is said twice");
      WEIR_RETURN_IF_ERROR(ReadField(entry.second, key_path, Place(entry.first), {message, field}));
    }
    return absl::OkStatus();
  }

  struct Target {
    Message* message;
    const FieldDescriptor* field;
  };

  absl::Status ReadField(const YAML::Node& node, const std::string& path, const std::string& place, const Target& target) {
    source_->Say(path, place);
    const Reflection* reflection = target.message->GetReflection();
    if (!target.field->is_repeated()) {
      if (target.field->message_type() != nullptr) return ReadMessage(node, path, reflection->MutableMessage(target.message, target.field));
      return ReadScalar(node, path, place, target);
    }
    if (!node.IsSequence()) return ErrorAt(place, path, absl::StrCat("must be a list in [ ], not ", Shown(node)));
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string item_path = absl::StrCat(path, "[", i, "]");
      const std::string item_place = Place(node[i]);
      source_->Say(item_path, item_place);
      if (target.field->message_type() == nullptr) {
        WEIR_RETURN_IF_ERROR(ReadScalar(node[i], item_path, item_place, target));
      } else {
        WEIR_RETURN_IF_ERROR(ReadMessage(node[i], item_path, reflection->AddMessage(target.message, target.field)));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string Place(const YAML::Node& node) const {
    return fixed_place_.empty() ? absl::StrCat(name_, ":", node.Mark().line + 1) : fixed_place_;
  }

  static std::string Shown(const YAML::Node& node) {
    return node.IsScalar() ? absl::StrCat("'", node.Scalar().substr(0, 80), "'") : NodeKind(node);
  }

  absl::Status ReadScalar(const YAML::Node& node, const std::string& path, const std::string& place, const Target& target) {
    const auto expected = [&](absl::string_view what) {
      return ErrorAt(place, path, absl::StrCat("must be ", what, ", not ", Shown(node)));
    };
    if (!node.IsScalar()) return expected(target.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING ? "text" : "a single value");
    const std::string& text = node.Scalar();
    switch (target.field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (!IsPlainText(text)) return ErrorAt(place, path, "must be UTF-8 text without control characters");
        return Store(target, text);
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnum(text, path, place, target);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (text != "true" && text != "false") return expected("true or false");
        return Store(target, text == "true");
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value = 0;
        if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return expected("a finite number");
        return Store(target, value);
      }
      case FieldDescriptor::CPPTYPE_UINT32:
        return ReadWhole<uint32_t>(text, expected, target);
      case FieldDescriptor::CPPTYPE_UINT64:
        return ReadWhole<uint64_t>(text, expected, target);
      case FieldDescriptor::CPPTYPE_INT32:
        return ReadWhole<int32_t>(text, expected, target);
      default:
        return absl::InternalError(absl::StrCat("job.proto has a type that job files cannot say: ", target.field->full_name()));
    }
  }

  template <typename T, typename Expected>
  absl::Status ReadWhole(const std::string& text, const Expected& expected, const Target& target) {
    T value = 0;
    if (!absl::SimpleAtoi(text, &value)) {
      return expected(absl::StrCat("a whole number from ", std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max()));
    }
    return Store(target, value);
  }

  absl::Status ReadEnum(const std::string& text, const std::string& path, const std::string& place, const Target& target) {
    std::vector<std::string> known;
    const EnumDescriptor* type = target.field->enum_type();
    for (int i = 0; i < type->value_count(); ++i) {
      if (type->value(i)->number() == 0) continue;
      known.push_back(EnumText(type->value(i)));
      if (known.back() == text) return Store(target, type->value(i));
    }
    return ErrorAt(place, path, absl::StrCat("must be one of ", absl::StrJoin(known, ", "), ", not '", text, "'"));
  }

  template <typename T>
  static absl::Status Store(const Target& target, const T& value) {
    Message* const m = target.message;
    const FieldDescriptor* const f = target.field;
    const Reflection* const r = m->GetReflection();
    const bool list = f->is_repeated();
    if constexpr (std::is_same_v<T, std::string>) {
      list ? r->AddString(m, f, value) : r->SetString(m, f, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      list ? r->AddBool(m, f, value) : r->SetBool(m, f, value);
    } else if constexpr (std::is_same_v<T, double>) {
      list ? r->AddDouble(m, f, value) : r->SetDouble(m, f, value);
    } else if constexpr (std::is_same_v<T, uint32_t>) {
      list ? r->AddUInt32(m, f, value) : r->SetUInt32(m, f, value);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      list ? r->AddUInt64(m, f, value) : r->SetUInt64(m, f, value);
    } else if constexpr (std::is_same_v<T, int32_t>) {
      list ? r->AddInt32(m, f, value) : r->SetInt32(m, f, value);
    } else {
      list ? r->AddEnum(m, f, value) : r->SetEnum(m, f, value);
    }
    return absl::OkStatus();
  }

  const std::string name_;
  const std::string fixed_place_;
  JobSource* const source_;
};

// yaml-cpp reports by exceptions: they end here.
absl::Status LoadYaml(absl::string_view text, absl::string_view place, bool with_line, YAML::Node* node) {
  try {
    *node = YAML::Load(std::string(text));
    return absl::OkStatus();
  } catch (const YAML::ParserException& e) {
    const std::string where = with_line ? absl::StrCat(place, ":", e.mark.line + 1) : std::string(place);
    return ErrorAt(where, "", absl::StrCat("not YAML: ", e.msg));
  } catch (const YAML::Exception& e) {
    return ErrorAt(place, "", absl::StrCat("not YAML: ", e.msg));
  }
}

// Reading a tree touches yaml-cpp's lazily thrown exceptions too (an undefined alias, say).
template <typename F>
absl::Status WithoutExceptions(absl::string_view place, const F& read) {
  try {
    return read();
  } catch (const YAML::Exception& e) {
    return ErrorAt(place, "", absl::StrCat("not YAML: ", e.msg));
  }
}

}  // namespace

void JobSource::Forget(absl::string_view path) {
  for (auto it = places_.begin(); it != places_.end();) {
    absl::string_view rest = it->first;
    const bool below = absl::ConsumePrefix(&rest, path) && (rest.empty() || rest[0] == '.' || rest[0] == '[');
    it = below ? places_.erase(it) : std::next(it);
  }
}

std::string JobSource::Place(absl::string_view path) const {
  while (!path.empty()) {
    const auto it = places_.find(std::string(path));
    if (it != places_.end()) return it->second;
    const size_t cut = path.find_last_of(".[");
    path = cut == absl::string_view::npos ? absl::string_view() : path.substr(0, cut);
  }
  return name_;
}

bool JobSource::SaidBySet(absl::string_view path) const { return absl::StartsWith(Place(path), kSetPrefix); }

absl::Status JobSource::Error(absl::string_view path, absl::string_view what) const { return ErrorAt(Place(path), path, what); }

absl::Status MergeYaml(absl::string_view text, absl::string_view name, Job* job, JobSource* source) {
  YAML::Node root;
  WEIR_RETURN_IF_ERROR(LoadYaml(text, name, true, &root));
  if (root.IsNull()) return absl::OkStatus();
  return WithoutExceptions(name, [&] { return Reader(name, "", source).ReadMessage(root, "", job); });
}

absl::Status ApplySet(absl::string_view set, Message* root, JobSource* source) {
  const size_t equals = set.find('=');
  if (equals == absl::string_view::npos)
    return ErrorAt(absl::StrCat(kSetPrefix, set), "", "must be key=value, as in --set training.epochs=2");
  const std::string path(absl::StripAsciiWhitespace(set.substr(0, equals)));
  const std::string place = absl::StrCat(kSetPrefix, path);

  Message* message = root;
  const FieldDescriptor* field = nullptr;
  std::string walked;
  for (absl::string_view key : absl::StrSplit(path, '.')) {
    if (field != nullptr) {
      if (field->message_type() == nullptr || field->is_repeated()) {
        return ErrorAt(place, "", absl::StrCat("'", walked, "' is set whole: it has no keys below it"));
      }
      message = message->GetReflection()->MutableMessage(message, field);
    }
    walked = Join(walked, key);
    field = message->GetDescriptor()->FindFieldByName(std::string(key));
    if (field == nullptr) return UnknownKey(place, walked, key, message->GetDescriptor());
  }

  YAML::Node value;
  WEIR_RETURN_IF_ERROR(LoadYaml(set.substr(equals + 1), place, false, &value));
  message->GetReflection()->ClearField(message, field);
  source->Forget(path);
  return WithoutExceptions(place, [&] { return Reader("", place, source).ReadField(value, path, place, {message, field}); });
}

void SetFromYaml(absl::string_view path, absl::string_view value, Message* root) {
  JobSource unused("");
  const absl::Status status = ApplySet(absl::StrCat(path, "=", value), root, &unused);
  if (!status.ok()) {
    spdlog::critical("a default is wrong: {}", std::string(status.message()));
    std::abort();
  }
}

void ClearPath(absl::string_view path, Job* job) {
  Message* message = job;
  const FieldDescriptor* field = nullptr;
  for (absl::string_view key : absl::StrSplit(path, '.')) {
    if (field != nullptr) message = message->GetReflection()->MutableMessage(message, field);
    field = message->GetDescriptor()->FindFieldByName(std::string(key));
  }
  message->GetReflection()->ClearField(message, field);
}

JobField FindField(const Message& root, absl::string_view path) {
  JobField found;
  found.message = &root;
  for (absl::string_view key : absl::StrSplit(path, '.')) {
    if (found.field != nullptr) found.message = &found.message->GetReflection()->GetMessage(*found.message, found.field);
    found.field = found.message->GetDescriptor()->FindFieldByName(std::string(key));
  }
  return found;
}

bool JobField::IsSet() const {
  const Reflection* reflection = message->GetReflection();
  return field->is_repeated() ? reflection->FieldSize(*message, field) > 0 : reflection->HasField(*message, field);
}

double JobField::Number() const {
  const Reflection* reflection = message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->GetUInt32(*message, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(reflection->GetUInt64(*message, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->GetInt32(*message, field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->GetEnumValue(*message, field);
    default:
      return reflection->GetDouble(*message, field);
  }
}

std::string EnumText(const google::protobuf::EnumValueDescriptor* value) {
  return absl::AsciiStrToLower(absl::StripPrefix(value->name(), EnumPrefix(value->type())));
}

std::string NumberText(double value) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

}  // namespace weir
