#include "tests/tools/report/fake_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

namespace weir::tools {

FakeRun::FakeRun(absl::string_view name) : dir_(absl::StrCat(testing::TempDir(), "/weir_", name)) {
  std::filesystem::remove_all(dir_);
  std::filesystem::create_directories(dir_);
  Write("job.yaml", "name: fake\n");
  Write("result.json", kFakeResult);
  Write("metrics.jsonl", absl::StrCat(FakeMetricsLine(1), "\n", FakeMetricsLine(2), "\n"));
}

void FakeRun::Write(absl::string_view file, absl::string_view text) const {
  std::ofstream(absl::StrCat(dir_, "/", file), std::ios::binary | std::ios::trunc) << text;
}

void FakeRun::Remove(absl::string_view file) const { std::filesystem::remove(absl::StrCat(dir_, "/", file)); }

std::string FakeRun::Read(absl::string_view file) const {
  std::ostringstream text;
  text << std::ifstream(absl::StrCat(dir_, "/", file), std::ios::binary).rdbuf();
  return text.str();
}

std::string FakeMetricsLine(int index) {
  return absl::StrFormat(
      R"({"seconds": %d, "samples": %d, "steps": %d, "logloss": 0.5, "auc": 0.7, "samples_per_second": 100, "wait_seconds": 0.5,)"
      R"( "wire_bytes": {"lookup_request": %d, "lookup_reply": 2, "push": 3, "dense": 4, "control": 5},)"
      R"( "codecs": [{"edge": "push", "name": "C1", "density": 0.1, "threshold": 0.001, "residual_ratio": 2}]})",
      index, 100 * index, index, 10 * index);
}

}  // namespace weir::tools
