// Data files for tests, packed as their name's ending says.
#ifndef WEIR_TESTS_TESTING_DATA_FILE_H_
#define WEIR_TESTS_TESTING_DATA_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weir::testing {

std::string PackGzip(absl::string_view content);
std::string PackXz(absl::string_view content);
std::string PackZstd(absl::string_view content);
// By the ending of `name`: .gz, .xz, .zst, or as it is.
std::string PackFor(absl::string_view name, absl::string_view content);

// Writes the bytes as they are to a file of this name in the test's own folder, and returns its path.
std::string WriteFile(const std::string& name, absl::string_view bytes);
// Packs, then writes.
std::string WriteDataFile(const std::string& name, absl::string_view content);

// Empty when there is no such file.
std::string ReadWholeFile(const std::string& path);

}  // namespace weir::testing

#endif  // WEIR_TESTS_TESTING_DATA_FILE_H_
