#include "tools/launch/local_cluster.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace weir::tools {
namespace {

constexpr int kLogLinesShown = 12;
// A child's end wakes the launcher at once; this only bounds how late a deadline is noticed.
constexpr absl::Duration kPollPeriod = absl::Milliseconds(50);
constexpr absl::Duration kJoinPollPeriod = absl::Milliseconds(10);
// From telling the coordinator why to the end of the process.
constexpr absl::Duration kConfessionTimeout = absl::Seconds(2);
// From the end of a process by its own error to the news that another was killed before.
constexpr absl::Duration kKilledTimeout = absl::Milliseconds(250);
constexpr absl::Duration kReapTimeout = absl::Seconds(5);

// The coordinator writes the whole line at once, by renaming.
std::string ReadAddress(const std::string& path) {
  std::ifstream file(path);
  std::string address;
  std::getline(file, address);
  return address;
}

}  // namespace

LocalCluster::LocalCluster(const Job& job, ClusterOptions options, StopSignals* signals)
    : job_(job), options_(std::move(options)), signals_(signals), servers_(job.cluster().servers()) {}

LocalCluster::~LocalCluster() { StopAll("the launcher ends"); }

std::string LocalCluster::Peer::Name() const { return absl::StrCat(role == ROLE_SERVER ? "server " : "worker ", index); }

absl::Status LocalCluster::Run(const std::function<void(const StatusReply&)>& on_status) {
  absl::StatusOr<std::string> address = StartCoordinator();
  absl::Status status = address.status();
  if (status.ok()) {
    link_ = CoordinatorLink::Open(*address);
    status = StartPeers(*address);
  }
  if (status.ok()) status = Watch(on_status);
  StopAll(std::string(status.message()));
  return status;
}

std::vector<LocalCluster::Peer> LocalCluster::Peers() const {
  std::vector<Peer> peers;
  for (uint32_t i = 0; i < job_.cluster().servers(); ++i) peers.push_back({ROLE_SERVER, i, options_.binaries.server});
  for (uint32_t i = 0; i < job_.cluster().workers(); ++i) peers.push_back({ROLE_WORKER, i, options_.binaries.worker});
  return peers;
}

std::vector<std::string> LocalCluster::CommandOf(const Peer& peer, const std::string& coordinator_address) const {
  std::vector<std::string> command = {peer.binary, "--coordinator", coordinator_address, "--listen", "127.0.0.1:0"};
  if (options_.trace && peer.role == ROLE_WORKER) {
    command.insert(command.end(), {"--trace", absl::StrCat(options_.run_dir, "/trace/worker-", peer.index, ".json")});
  }
  return command;
}

std::string LocalCluster::LogPath(const std::string& name) const {
  const std::string life = options_.life == 0 ? "" : absl::StrCat(".restart-", options_.life);
  return absl::StrCat(options_.run_dir, "/logs/", absl::StrReplaceAll(name, {{" ", "-"}}), life, ".log");
}

absl::StatusOr<std::string> LocalCluster::StartCoordinator() {
  const std::string address_file = absl::StrCat(options_.run_dir, "/coordinator.address");
  std::error_code ignored;
  std::filesystem::remove(address_file, ignored);  // of an earlier life
  std::vector<std::string> command = {options_.binaries.coordinator,
                                      "--job",
                                      absl::StrCat(options_.run_dir, "/job.yaml"),
                                      "--listen",
                                      "127.0.0.1:0",
                                      "--run-dir",
                                      options_.run_dir,
                                      "--address-file",
                                      address_file};
  if (!options_.resume_dir.empty()) command.insert(command.end(), {"--resume", options_.resume_dir});
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> coordinator,
                        ChildProcess::Start({"coordinator", std::move(command), LogPath("coordinator")}));
  children_.push_back(std::move(coordinator));
  const absl::Time deadline = absl::Now() + options_.start_timeout;
  while (absl::Now() < deadline) {
    if (const std::string address = ReadAddress(address_file); !address.empty()) return address;
    WEIR_RETURN_IF_ERROR(Pause());
    if (children_[0]->Poll().has_value()) return Died(*children_[0], *children_[0]->end());
  }
  return absl::DeadlineExceededError(absl::StrCat("the coordinator (pid ", children_[0]->pid(), ") told no address within ",
                                                  absl::FormatDuration(options_.start_timeout), "; see ", LogPath("coordinator")));
}

absl::Status LocalCluster::StartPeers(const std::string& coordinator_address) {
  for (const Peer& peer : Peers()) {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child,
                          ChildProcess::Start({peer.Name(), CommandOf(peer, coordinator_address), LogPath(peer.Name())}));
    children_.push_back(std::move(child));
    peers_.push_back(peer);
    WEIR_RETURN_IF_ERROR(WaitUntilJoined(peer));
  }
  return absl::OkStatus();
}

absl::Status LocalCluster::StartMoreServers(const StatusReply& status) {
  if (status.state() != StatusReply::STATE_TRAINING || status.servers_wanted() == 0) return absl::OkStatus();
  servers_ = status.servers_wanted();
  const uint32_t index = status.servers_registered();
  bool joining = false;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const bool runs = !children_[i + 1]->Poll().has_value();
    joining = joining || (peers_[i].role == ROLE_SERVER && peers_[i].index == index && runs);
  }
  if (index >= servers_ || joining) return absl::OkStatus();
  const Peer peer = {ROLE_SERVER, index, options_.binaries.server};
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child,
                        ChildProcess::Start({peer.Name(), CommandOf(peer, link_->address()), LogPath(peer.Name())}));
  children_.push_back(std::move(child));
  peers_.push_back(peer);
  return absl::OkStatus();
}

absl::Status LocalCluster::WaitUntilJoined(const Peer& peer) {
  const absl::Time deadline = absl::Now() + options_.start_timeout;
  while (absl::Now() < deadline) {
    if (const absl::StatusOr<StatusReply> status = link_->Status(); status.ok()) {
      const uint32_t joined = peer.role == ROLE_SERVER ? status->servers_registered() : status->workers_registered();
      if (joined > peer.index) return absl::OkStatus();
    }
    WEIR_RETURN_IF_ERROR(Pause());
    if (children_.back()->Poll().has_value()) return Died(*children_.back(), *children_.back()->end());
  }
  return absl::DeadlineExceededError(absl::StrCat(peer.Name(), " (pid ", children_.back()->pid(), ") did not join the job within ",
                                                  absl::FormatDuration(options_.start_timeout), "; see ", LogPath(peer.Name())));
}

absl::Status LocalCluster::Watch(const std::function<void(const StatusReply&)>& on_status) {
  const absl::Duration silence_max = absl::Seconds(job_.cluster().stall_timeout_seconds());
  absl::Time next_status = absl::Now();
  absl::Time silent_at = absl::Now() + silence_max;
  absl::Time left_by = absl::InfiniteFuture();
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const bool ended, AllEnded());
    if (ended) return absl::OkStatus();
    const bool coordinator_ended = children_[0]->Poll().has_value();
    if (coordinator_ended) left_by = std::min(left_by, absl::Now() + options_.leave_timeout);
    if (absl::Now() >= left_by) return absl::DeadlineExceededError("the job is done, but a process did not end; see its log");
    if (!coordinator_ended && absl::Now() >= next_status) {
      next_status = absl::Now() + options_.refresh;
      if (const absl::StatusOr<StatusReply> status = link_->Status(); status.ok()) {
        silent_at = absl::Now() + silence_max;
        on_status(*status);
        WEIR_RETURN_IF_ERROR(StartMoreServers(*status));
      }
    }
    if (!coordinator_ended && absl::Now() >= silent_at) {
      return absl::DeadlineExceededError(absl::StrCat("the coordinator (pid ", children_[0]->pid(), ") did not answer for ",
                                                      absl::FormatDuration(silence_max), "; see ", LogPath("coordinator")));
    }
    if (signals_->Wait(kPollPeriod)) return Interrupted();
  }
}

absl::Status LocalCluster::Pause() {
  if (signals_->Wait(kJoinPollPeriod)) return Interrupted();
  return AllEnded().status();
}

absl::StatusOr<bool> LocalCluster::AllEnded() {
  bool all = true;
  const ChildProcess* failed = nullptr;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (const std::optional<ProcessEnd> end = children_[i]->Poll(); end.has_value() && end->signal != 0) {
      WEIR_ASSIGN_OR_RETURN(const bool back, RejoinServer(i));
      if (back) continue;
    }
  }
  for (const std::unique_ptr<ChildProcess>& child : children_) {
    const std::optional<ProcessEnd> end = child->Poll();
    all = all && end.has_value();
    // Who was killed did not die of the others' failures.
    if (end.has_value() && !end->ok() && (failed == nullptr || end->signal != 0)) failed = child.get();
  }
  if (failed == nullptr) return all;
  const ChildProcess& culprit = Culprit(*failed);
  return Died(culprit, *culprit.end());
}

absl::StatusOr<bool> LocalCluster::RejoinServer(size_t child) {
  if (child == 0 || peers_[child - 1].role != ROLE_SERVER || rejoins_ >= options_.rejoins || link_ == nullptr) return false;
  const Peer& peer = peers_[child - 1];
  const absl::StatusOr<StatusReply> status = link_->Status();
  const bool runs = status.ok() && (status->state() == StatusReply::STATE_TRAINING || status->state() == StatusReply::STATE_EVALUATING);
  if (!runs || !status->rejoin_possible() || peer.index >= status->shard_map().servers()) return false;
  ++rejoins_;
  const std::string log = LogPath(absl::StrCat(peer.Name(), ".rejoin-", rejoins_));
  if (options_.on_rejoin != nullptr) {
    options_.on_rejoin(absl::StrCat(peer.Name(), " (pid ", children_[child]->pid(), ") ", children_[child]->end()->Text()));
  }
  const std::vector<std::string> command = {
      peer.binary, "--coordinator",         link_->address(), "--listen", status->servers(static_cast<int>(peer.index)),
      "--rejoin",  absl::StrCat(peer.index)};
  WEIR_ASSIGN_OR_RETURN(children_[child], ChildProcess::Start({peer.Name(), command, log}));
  return true;
}

const ChildProcess& LocalCluster::Culprit(const ChildProcess& first) {
  if (first.end()->signal != 0) return first;
  // Peers of a process that is killed can be gone before the kernel tells of it.
  const absl::Time killed_by = absl::Now() + kKilledTimeout;
  do {
    for (const std::unique_ptr<ChildProcess>& child : children_) {
      if (const std::optional<ProcessEnd> end = child->Poll(); end.has_value() && end->signal != 0) return *child;
    }
  } while (absl::Now() < killed_by && !signals_->Wait(kJoinPollPeriod));
  if (link_ == nullptr) return first;
  const absl::StatusOr<StatusReply> status = link_->Status();
  if (!status.ok() || status->state() != StatusReply::STATE_FAILED) return first;
  for (const std::unique_ptr<ChildProcess>& child : children_) {
    // A process that gives up tells the coordinator "worker 1: why".
    if (!absl::StartsWith(status->reason(), absl::StrCat(child->name(), ": "))) continue;
    const absl::Time deadline = absl::Now() + kConfessionTimeout;
    while (!child->Poll().has_value() && absl::Now() < deadline && !signals_->Wait(kJoinPollPeriod)) {
    }
    return child->end().has_value() && !child->end()->ok() ? *child : first;
  }
  return first;
}

absl::Status LocalCluster::Died(const ChildProcess& child, const ProcessEnd& end) {
  killed_ = killed_ || end.signal != 0;
  std::string lines = LastLines(child.log_path(), kLogLinesShown);
  if (lines.empty()) lines = "(its log is empty)";
  return absl::AbortedError(
      absl::StrCat(child.name(), " (pid ", child.pid(), ") ", end.Text(), "; the end of ", child.log_path(), ":\n", lines));
}

absl::Status LocalCluster::Interrupted() const {
  return absl::CancelledError(absl::StrCat("interrupted by signal ", signals_->stopped_by(), " (", strsignal(signals_->stopped_by()), ")"));
}

void LocalCluster::StopAll(const std::string& reason) {
  const auto all_gone = [this] {
    return std::all_of(children_.begin(), children_.end(), [](const auto& child) { return child->Poll().has_value(); });
  };
  if (all_gone()) return;
  if (link_ != nullptr && !killed_ && !children_[0]->Poll().has_value()) {
    // The coordinator records the reason when it can; the signal follows in any case.
    link_->Stop(reason).IgnoreError();
  }
  for (const int signal : {SIGTERM, SIGKILL}) {
    // Once one was killed there is nothing that the others could save.
    if (killed_ && signal == SIGTERM) continue;
    for (const std::unique_ptr<ChildProcess>& child : children_) child->Signal(signal);
    const absl::Time deadline = absl::Now() + (signal == SIGTERM ? options_.stop_grace : kReapTimeout);
    bool impatient = false;
    while (!all_gone() && !impatient && absl::Now() < deadline) impatient = signals_->Wait(kPollPeriod);
  }
}

}  // namespace weir::tools
