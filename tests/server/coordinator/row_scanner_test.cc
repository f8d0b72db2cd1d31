#include "server/coordinator/row_scanner.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using testing::WriteDataFile;

// "file:line@offset+rows" of every run.
std::vector<std::string> Runs(RowScanner* scanner, uint64_t rows_max) {
  std::vector<std::string> runs;
  for (;;) {
    const absl::StatusOr<RowRun> run = scanner->Take(rows_max);
    if (!run.ok()) return {std::string(run.status().message())};
    if (run->rows == 0) return runs;
    runs.push_back(absl::StrCat(run->start.file, ":", run->start.line, "@", run->start.byte_offset, "+", run->rows));
  }
}

TEST(RowScannerTest, RunsEndWithTheirFile) {
  const std::vector<std::string> files = {WriteDataFile("a", "r1\nr22\nr3\n"), WriteDataFile("b", ""), WriteDataFile("c.gz", "r4\r\nr5")};
  EXPECT_THAT(Runs(std::make_unique<RowScanner>(files).get(), 2), ::testing::ElementsAre("0:1@0+2", "0:3@7+1", "2:1@0+2"));
  EXPECT_THAT(Runs(std::make_unique<RowScanner>(files).get(), 100), ::testing::ElementsAre("0:1@0+3", "2:1@0+2"));
}

TEST(RowScannerTest, OnlyAnEmptyLastLineIsNoRow) {
  const std::vector<std::string> files = {WriteDataFile("a", "r1\n\nr3\n\n"), WriteDataFile("b", "\r\n"),
                                          WriteDataFile("c", "\n\nx\n\n\n")};
  EXPECT_THAT(Runs(std::make_unique<RowScanner>(files).get(), 100), ::testing::ElementsAre("0:1@0+3", "2:1@0+4"));
  EXPECT_THAT(Runs(std::make_unique<RowScanner>(files).get(), 1),
              ::testing::ElementsAre("0:1@0+1", "0:2@3+1", "0:3@4+1", "2:1@0+1", "2:2@1+1", "2:3@2+1", "2:4@4+1"));
}

TEST(RowScannerTest, StartsAnywhere) {
  const std::vector<std::string> files = {WriteDataFile("a", "r1\n"), WriteDataFile("b.zst", "r2\nr3\nr4\n")};
  RowScanner scanner(files, {1, 3, 2});
  EXPECT_THAT(Runs(&scanner, 100), ::testing::ElementsAre("1:2@3+2"));
}

TEST(RowScannerTest, NamesAFileThatIsGone) {
  RowScanner scanner({WriteDataFile("a", "r1\n"), "/no/such/file"});
  EXPECT_THAT(Runs(&scanner, 5), ::testing::ElementsAre(::testing::HasSubstr("/no/such/file")));
}

}  // namespace
}  // namespace weir::server
