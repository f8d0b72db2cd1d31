#include "tools/compare/grid_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tools/report/human_units.h"

namespace weir::tools {
namespace {

constexpr int kColumnsWithoutTerminal = 200;
// Less of a run says nothing about its length: processes start, and the first steps are slow.
constexpr double kShareThatTells = 0.05;

int Columns(std::FILE* out) {
  winsize size = {};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : kColumnsWithoutTerminal;
}

}  // namespace

double GridSecondsLeft(const GridPosition& position) {
  double cell = std::numeric_limits<double>::quiet_NaN();
  if (position.cell_share >= kShareThatTells) cell = position.cell_seconds / position.cell_share;
  if (position.ended > 0) cell = position.ended_seconds / static_cast<double>(position.ended);
  const double cells = static_cast<double>(position.cells - std::min(position.ended, position.cells));
  // A running cell that takes longer than the others may end any moment, and takes nothing off the rest.
  return std::isnan(cell) ? cell : std::max(cells * cell - position.cell_seconds, (cells - 1) * cell);
}

std::string GridLine(const GridPosition& position, const std::string& cell, int columns) {
  std::string line = absl::StrCat("cell ", position.ended + 1, " of ", position.cells, ": ", cell);
  const double left = GridSecondsLeft(position);
  if (std::isfinite(left)) absl::StrAppend(&line, ", ", HumanSeconds(std::max(left, 0.0)), " left");
  return line.substr(0, static_cast<size_t>(std::max(columns, 4)));
}

GridProgress::GridProgress(std::FILE* out, size_t cells) : out_(out), terminal_(isatty(fileno(out)) == 1) { position_.cells = cells; }

void GridProgress::Begin(const std::string& cell, const Cluster& cluster) {
  cell_ = cell;
  cell_began_ = absl::Now();
  position_.cell_seconds = 0;
  position_.cell_share = 0;
  std::fprintf(out_, "%s\n", GridLine(position_, cell_, terminal_ ? Columns(out_) : kColumnsWithoutTerminal).c_str());
  std::fflush(out_);
  bar_.emplace(out_, cluster);
}

void GridProgress::Show(const StatusReply& status) {
  position_.cell_seconds = absl::ToDoubleSeconds(absl::Now() - cell_began_);
  if (status.total_samples() > 0) {
    position_.cell_share = static_cast<double>(status.samples()) / static_cast<double>(status.total_samples());
  }
  if (terminal_) std::fprintf(out_, "\x1b[1A\r%s\x1b[K\n", GridLine(position_, cell_, Columns(out_)).c_str());
  bar_->Show(status);
}

void GridProgress::End(const std::string& outcome) {
  bar_.reset();
  ++position_.ended;
  position_.ended_seconds += absl::ToDoubleSeconds(absl::Now() - cell_began_);
  if (terminal_) std::fputs("\x1b[1A\r\x1b[K", out_);
  std::fprintf(out_, "%s\n", outcome.c_str());
  std::fflush(out_);
}

}  // namespace weir::tools
