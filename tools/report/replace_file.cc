#include "tools/report/replace_file.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace weir::tools {

absl::Status ReplaceFile(const std::string& path, absl::Span<const absl::string_view> parts) {
  const std::string part_path = path + ".part";
  std::ofstream file(part_path, std::ios::binary | std::ios::trunc);
  for (const absl::string_view part : parts) file << part;
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat(part_path, ": cannot be written; is the disk full, or the folder read-only?"));
  std::error_code error;
  std::filesystem::rename(part_path, path, error);
  if (error) return absl::UnavailableError(absl::StrCat(path, ": cannot be replaced: ", error.message()));
  return absl::OkStatus();
}

}  // namespace weir::tools
