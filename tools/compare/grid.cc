#include "tools/compare/grid.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace weir::tools {
namespace {

// A run's name has at most 100 bytes, and "-<seed>" follows.
constexpr size_t kNameBytesMax = 75;

absl::Status VaryError(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--vary ", text, ": ", what));
}

absl::StatusOr<std::vector<std::string>> SplitValues(absl::string_view text, absl::string_view values) {
  std::vector<std::string> parts(1);
  std::string open;  // the brackets that wait for their end
  char quote = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const char c = values[i];
    if (c == ',' && open.empty() && quote == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
    if (quote != 0) {
      if (c == '\\' && quote == '"' && i + 1 < values.size()) parts.back() += values[++i];
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      open += c == '[' ? ']' : '}';
    } else if (c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return VaryError(text, absl::StrCat("'", std::string(1, c), "' closes nothing"));
      open.pop_back();
    }
  }
  if (quote != 0) return VaryError(text, absl::StrCat("a quote does not end: ", std::string(1, quote), " is missing"));
  if (!open.empty()) return VaryError(text, absl::StrCat("a bracket does not end: '", std::string(1, open.back()), "' is missing"));
  for (std::string& part : parts) absl::StripAsciiWhitespace(&part);
  return parts;
}

// "{method: fp16}" becomes "method-fp16".
std::string FolderText(absl::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool fine = absl::ascii_isalnum(c) || c == '.' || c == '_';
    if (fine) name += c;
    // A sign is worth keeping, another mark only tells words apart.
    if (!fine && (name.empty() ? c == '-' : name.back() != '-')) name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "empty" : name;
}

// The last two words of a key, or all when others of the keys end so, too: "dense.sparsity".
std::string ShortKey(const std::string& key, absl::Span<const Axis> axes) {
  const std::vector<std::string> words = absl::StrSplit(key, '.');
  if (words.size() <= 2) return key;
  const std::string tail = absl::StrCat(words[words.size() - 2], ".", words.back());
  const auto ends_so = [&](const Axis& axis) { return axis.key == tail || absl::EndsWith(axis.key, "." + tail); };
  return std::count_if(axes.begin(), axes.end(), ends_so) > 1 ? key : tail;
}

absl::Status CheckKeys(absl::Span<const Axis> axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = 0; j < axes.size(); ++j) {
      if (i < j && axes[i].key == axes[j].key) {
        return VaryError(axes[i].key, "is varied twice; name all its values in one --vary, with commas between them");
      }
      if (absl::StartsWith(axes[i].key, axes[j].key + ".")) {
        return VaryError(axes[i].key, absl::StrCat("lies within ", axes[j].key, ", which is set whole; vary one of them"));
      }
    }
  }
  size_t arms = 1;
  for (const Axis& axis : axes) {
    arms *= axis.values.size();
    if (arms > kArmsMax) return VaryError(axis.key, absl::StrCat("makes more than ", kArmsMax, " arms; vary fewer values"));
  }
  return absl::OkStatus();
}

// Names that became the same by shortening are told apart by a number.
std::string Unique(std::string name, std::set<std::string>* taken) {
  name.resize(std::min(name.size(), kNameBytesMax));
  std::string unique = name;
  for (int number = 2; !taken->insert(unique).second; ++number) {
    const std::string tail = absl::StrCat("_", number);
    unique = absl::StrCat(name.substr(0, kNameBytesMax - tail.size()), tail);
  }
  return unique;
}

}  // namespace

absl::StatusOr<Axis> ParseVary(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos) {
    return VaryError(text, "must be KEY=VALUE,VALUE,..., as in compression.dense.sparsity=0.9,0.99");
  }
  Axis axis;
  axis.key = std::string(absl::StripAsciiWhitespace(text.substr(0, equals)));
  if (axis.key == "seed") return VaryError(text, "seeds are not an arm; say --seeds N, and --set seed=FIRST");
  if (axis.key == "name" || axis.key == "output" || axis.key == "output.dir") {
    return VaryError(text, "each cell has a name and a folder of its own already; --out says where");
  }
  WEIR_ASSIGN_OR_RETURN(axis.values, SplitValues(text, text.substr(equals + 1)));
  for (const std::string& value : axis.values) {
    if (value.empty()) return VaryError(text, "a value is empty; write \"\" for an empty text");
  }
  return axis;
}

std::vector<ArmSettings> YardstickArms() {
  return {
      {"plain", {"compression.lookup={method: plain}", "compression.push={method: plain}", "compression.dense={method: none}"}},
      {"fp16", {"compression.lookup={method: fp16}", "compression.push={method: fp16}", "compression.dense={method: fp16}"}},
  };
}

absl::StatusOr<std::vector<ArmSettings>> ExpandGrid(absl::Span<const Axis> axes) {
  WEIR_RETURN_IF_ERROR(CheckKeys(axes));
  if (axes.empty()) return std::vector<ArmSettings>{{"job", {}}};
  // Names begin as lists of words, one an axis.
  std::vector<ArmSettings> arms(1);
  for (const Axis& axis : axes) {
    std::vector<ArmSettings> longer;
    for (const ArmSettings& arm : arms) {
      for (const std::string& value : axis.values) {
        ArmSettings next = arm;
        next.sets.push_back(absl::StrCat(axis.key, "=", value));
        absl::StrAppend(&next.name, arm.name.empty() ? "" : "_", FolderText(ShortKey(axis.key, axes)), "-", FolderText(value));
        longer.push_back(std::move(next));
      }
    }
    arms = std::move(longer);
  }
  std::set<std::string> taken;
  for (const ArmSettings& yardstick : YardstickArms()) taken.insert(yardstick.name);
  for (ArmSettings& arm : arms) arm.name = Unique(std::move(arm.name), &taken);
  return arms;
}

}  // namespace weir::tools
