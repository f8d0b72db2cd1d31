#include "tools/report/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace weir::tools {
namespace {

// Columns on the terminal: every byte but those that continue a character.
size_t Width(const std::string& cell) {
  return std::count_if(cell.begin(), cell.end(), [](char byte) { return (byte & 0xc0) != 0x80; });
}

}  // namespace

std::string TextTable(absl::Span<const std::vector<std::string>> lines) {
  if (lines.empty()) return "";
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const std::vector<std::string>& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], Width(cells[i]));
  }
  std::string text;
  for (const std::vector<std::string>& cells : lines) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string space(widths[i] - Width(cells[i]), ' ');
      if (i == 0) absl::StrAppend(&line, cells[i], space);
      if (i > 0) absl::StrAppend(&line, "   ", space, cells[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string MarkdownTable(absl::Span<const std::vector<std::string>> lines) {
  if (lines.empty()) return "";
  const size_t columns = lines.front().size();
  std::string text;
  for (size_t line = 0; line < lines.size(); ++line) {
    absl::StrAppend(&text, "|");
    for (size_t i = 0; i < columns; ++i) {
      const std::string cell = i < lines[line].size() ? absl::StrReplaceAll(lines[line][i], {{"|", "\\|"}}) : "";
      absl::StrAppend(&text, " ", cell, cell.empty() ? "|" : " |");
    }
    absl::StrAppend(&text, "\n");
    if (line > 0) continue;
    absl::StrAppend(&text, "|---|");
    for (size_t i = 1; i < columns; ++i) absl::StrAppend(&text, "---:|");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace weir::tools
