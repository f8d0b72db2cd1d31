#include "tools/launch/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tools/report/human_units.h"

namespace weir::tools {
namespace {

constexpr absl::Duration kPlainLinePeriod = absl::Seconds(5);
constexpr absl::Duration kRateWindow = absl::Seconds(2);
constexpr int kColumnsWithoutTerminal = 200;

std::string Bar(double share, int width) {
  const int done = std::clamp(static_cast<int>(share * width), 0, width);
  return absl::StrCat("[", std::string(done, '#'), std::string(width - done, '-'), "]");
}

std::string WireOfData(const WireBytes& bytes) {
  return absl::StrCat("wire: lookup ", HumanBytes(static_cast<double>(bytes.lookup_request())), " + ",
                      HumanBytes(static_cast<double>(bytes.lookup_reply())), ", push ", HumanBytes(static_cast<double>(bytes.push())),
                      ", dense ", HumanBytes(static_cast<double>(bytes.dense())));
}

std::string WireByEdge(const WireBytes& bytes) {
  return absl::StrCat(WireOfData(bytes), ", control ", HumanBytes(static_cast<double>(bytes.control())));
}

std::string WireInAll(const WireBytes& bytes) {
  return absl::StrCat("wire ", HumanBytes(static_cast<double>(bytes.lookup_request() + bytes.lookup_reply() + bytes.push() + bytes.dense() +
                                                              bytes.control())));
}

std::string Starting(const StatusReply& status, const Cluster& cluster) {
  if (!status.reason().empty()) return absl::StrCat("starting: ", status.reason());
  return absl::StrCat("starting: ", status.servers_registered(), "/", cluster.servers(), " servers, ", status.workers_registered(), "/",
                      cluster.workers(), " workers");
}

std::string Training(const StatusReply& status, double rate, int columns) {
  const bool known = status.total_samples() > 0;
  const double share = known ? static_cast<double>(status.samples()) / static_cast<double>(status.total_samples()) : 0;
  const std::string head =
      known ? absl::StrFormat("%3.0f%%", 100 * std::min(share, 1.0)) : HumanCount(static_cast<double>(status.samples()));
  const std::string speed = absl::StrCat(HumanCount(rate), " samples/s");
  const std::string quality = absl::StrFormat("log-loss %.4f  AUC %.4f", status.logloss(), status.auc());
  const double left = static_cast<double>(status.total_samples()) - static_cast<double>(status.samples());
  const std::string time = known && rate > 0 ? absl::StrCat(HumanSeconds(std::max(0.0, left) / rate), " left") : "";
  // From the widest form to the narrowest.
  const std::vector<std::vector<std::string>> forms = {
      {head, known ? Bar(share, 24) : "", speed, quality, WireByEdge(status.wire_bytes()), time},
      {head, known ? Bar(share, 12) : "", speed, quality, WireOfData(status.wire_bytes()), time},
      {head, speed, quality, WireOfData(status.wire_bytes()), time},
      {head, speed, quality, WireInAll(status.wire_bytes()), time},
      {head, speed, quality, time},
      {head, speed, time},
  };
  for (std::vector<std::string> form : forms) {
    form.erase(std::remove(form.begin(), form.end(), ""), form.end());
    std::string line = absl::StrJoin(form, "  ");
    if (static_cast<int>(line.size()) <= columns) return line;
  }
  return head;
}

}  // namespace

std::string ProgressLine(const StatusReply& status, const Cluster& cluster, double rate, int columns) {
  std::string line;
  switch (status.state()) {
    case StatusReply::STATE_TRAINING:
      line = Training(status, rate, columns);
      break;
    case StatusReply::STATE_EVALUATING:
      line = absl::StrCat("evaluating: ", HumanCount(static_cast<double>(status.evaluated())), " held-out rows");
      break;
    case StatusReply::STATE_DONE:
      line = "done";
      break;
    case StatusReply::STATE_FAILED:
      line = absl::StrCat("failed: ", status.reason());
      break;
    default:
      line = Starting(status, cluster);
      break;
  }
  return line.substr(0, static_cast<size_t>(std::max(columns, 4)));
}

ProgressBar::ProgressBar(std::FILE* out, const Cluster& cluster) : out_(out), cluster_(cluster), terminal_(isatty(fileno(out)) == 1) {}

ProgressBar::~ProgressBar() {
  if (!terminal_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
}

void ProgressBar::Show(const StatusReply& status) {
  const absl::Time now = absl::Now();
  const double rate = Rate(status, now);
  if (!terminal_) {
    if (now < next_line_) return;
    next_line_ = now + kPlainLinePeriod;
    std::fprintf(out_, "%s\n", ProgressLine(status, cluster_, rate, kColumnsWithoutTerminal).c_str());
    std::fflush(out_);
    return;
  }
  winsize size = {};
  const int columns = ioctl(fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : kColumnsWithoutTerminal;
  std::fprintf(out_, "\r%s\x1b[K", ProgressLine(status, cluster_, rate, columns).c_str());
  std::fflush(out_);
}

// The newest full window's rate; the average until there is one.
double ProgressBar::Rate(const StatusReply& status, absl::Time now) {
  if (status.state() != StatusReply::STATE_TRAINING) return rate_;
  if (rate_since_ == absl::InfinitePast()) {
    rate_since_ = now;
    rate_samples_ = status.samples();
  }
  if (now - rate_since_ >= kRateWindow) {
    rate_ = static_cast<double>(status.samples() - rate_samples_) / absl::ToDoubleSeconds(now - rate_since_);
    rate_since_ = now;
    rate_samples_ = status.samples();
  }
  if (rate_ > 0 || status.seconds() <= 0) return rate_;
  return static_cast<double>(status.samples()) / status.seconds();
}

}  // namespace weir::tools
