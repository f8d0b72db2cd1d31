// A run folder for tests: complete and valid, until a test replaces one of its files.
#ifndef WEIR_TESTS_TOOLS_REPORT_FAKE_RUN_H_
#define WEIR_TESTS_TOOLS_REPORT_FAKE_RUN_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weir::tools {

// A result.json of 1000 trained samples and round figures.
inline constexpr absl::string_view kFakeResult = R"({
  "job": "fake", "job_hash": "00c0ffee", "logloss": 0.45, "auc": 0.78, "ne": 0.8, "calibration": 1.01, "ctr": 0.25,
  "evaluation_samples": 500, "samples": 1000, "steps": 10, "seconds": 12.5, "samples_per_second": 80,
  "wire_bytes": {"lookup_request": 40000, "lookup_reply": 250000, "push": 96000, "dense": 51000, "control": 900},
  "wire_bytes_evaluation": {"lookup_request": 2000, "lookup_reply": 20000, "push": 0, "dense": 0, "control": 0},
  "fingerprint": {"rows": "01", "dense": "02"}, "rows_held": 700, "bad_rows": 3, "wait_seconds": 4.5, "workers": 2, "servers": 2
})";

class FakeRun {
 public:
  // Makes the folder `name` under the test's own temporary folder, anew.
  explicit FakeRun(absl::string_view name);

  // Replaces a file of the folder.
  void Write(absl::string_view file, absl::string_view text) const;
  void Remove(absl::string_view file) const;
  // Empty when there is no such file.
  std::string Read(absl::string_view file) const;

  const std::string& dir() const { return dir_; }

 private:
  std::string dir_;
};

// One line of metrics.jsonl without its end: cumulative figures grow with `index`, from 1.
std::string FakeMetricsLine(int index);

}  // namespace weir::tools

#endif  // WEIR_TESTS_TOOLS_REPORT_FAKE_RUN_H_
