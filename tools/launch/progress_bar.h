// How far a job is, in one line.
#ifndef WEIR_TOOLS_LAUNCH_PROGRESS_BAR_H_
#define WEIR_TOOLS_LAUNCH_PROGRESS_BAR_H_

#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "proto/control_service.pb.h"
#include "proto/job.pb.h"

namespace weir::tools {

// " 43% [######--------]  412k samples/s  log-loss 0.4512  AUC 0.771  wire: ...  12 s left", as much of it as fits `columns` (at least the
// percentage). `rate`: samples a second; 0: not known. Pure.
std::string ProgressLine(const StatusReply& status, const Cluster& cluster, double rate, int columns);

// On a terminal one line that is drawn over and over; elsewhere a new line every few seconds. Single-threaded.
class ProgressBar {
 public:
  ProgressBar(std::FILE* out, const Cluster& cluster);
  // Takes the line away.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(const StatusReply& status);

 private:
  double Rate(const StatusReply& status, absl::Time now);

  std::FILE* const out_;
  const Cluster cluster_;
  const bool terminal_;
  absl::Time next_line_ = absl::InfinitePast();  // not on a terminal
  absl::Time rate_since_ = absl::InfinitePast();
  uint64_t rate_samples_ = 0;
  double rate_ = 0;
};

}  // namespace weir::tools

#endif  // WEIR_TOOLS_LAUNCH_PROGRESS_BAR_H_
