#include "tools/launch/job_lives.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"
#include "tools/launch/new_run_folder.h"

namespace weir::tools {
namespace {

// From a step to the news of it here: a worker's heartbeat, and a look at the coordinator's status.
constexpr absl::Duration kNewsDelay = absl::Milliseconds(450);

// The first line: the log's end follows it.
std::string Headline(const absl::Status& status) { return std::string(*absl::StrSplit(status.message(), absl::MaxSplits(';', 1)).begin()); }

// Where a life begins.
struct Beginning {
  std::string dir;       // empty: without a checkpoint
  uint64_t samples = 0;  // trained before
};

absl::StatusOr<Beginning> BeginningAt(const std::string& folder) {
  WEIR_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(folder));
  return Beginning{folder, manifest.samples()};
}

// The latest checkpoint that this launch has saved; before it has saved one, `first`, where it began. An earlier launch may have left later
// steps, which whoever began before them has given up.
absl::StatusOr<Beginning> NextBeginning(const std::string& dir, const std::string& first, int64_t began_unix_seconds) {
  const absl::StatusOr<std::string> latest = LatestCheckpoint(dir);
  if (latest.ok()) {
    WEIR_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(*latest));
    if (manifest.saved_unix_seconds() >= began_unix_seconds) return Beginning{*latest, manifest.samples()};
  } else if (!absl::IsNotFound(latest.status())) {
    return latest.status();
  }
  return first.empty() ? Beginning() : BeginningAt(first);
}

}  // namespace

absl::Status RunJobLives(Job job, ClusterOptions options, StopSignals* signals, const std::function<void(const StatusReply&)>& on_status) {
  const std::string first = options.resume_dir;
  const int64_t began = absl::ToUnixSeconds(absl::Now());
  absl::Time died = absl::InfinitePast();  // nobody has since the last new step
  uint64_t samples_before = 0, samples_seen = 0;
  uint32_t restarts = 0;  // of all processes, or of a server
  const auto watch = [&](const StatusReply& status) {
    on_status(status);
    samples_seen = status.samples();
    if (died == absl::InfinitePast()) return;
    // What was trained before the death is told of after it, too.
    if (absl::Now() - died < kNewsDelay) samples_before = std::max(samples_before, status.samples());
    if (status.samples() <= samples_before) return;
    std::fprintf(stderr, "\ngoes on: the first new step is done %.1f s after the death\n", absl::ToDoubleSeconds(absl::Now() - died));
    died = absl::InfinitePast();
  };
  options.on_rejoin = [&](const std::string& who) {
    std::fprintf(stderr, "\n%s; it comes back alone, with the pushes that it has acknowledged\n", who.c_str());
    died = absl::Now();
    samples_before = samples_seen;
  };
  while (true) {
    options.rejoins = job.checkpoint().push_log() ? job.checkpoint().restarts() - std::min(restarts, job.checkpoint().restarts()) : 0;
    LocalCluster cluster(job, options, signals);
    const absl::Status status = cluster.Run(watch);
    restarts += cluster.rejoins();
    if (status.ok() || !cluster.killed() || restarts >= job.checkpoint().restarts()) return status;
    ++restarts;
    if (died == absl::InfinitePast()) died = absl::Now();
    const absl::StatusOr<Beginning> beginning = NextBeginning(CheckpointDir(job, options.run_dir), first, began);
    if (!beginning.ok()) {
      return absl::Status(status.code(), absl::StrCat(status.message(), "\nand the job cannot go on: ", beginning.status().message()));
    }
    if (cluster.servers() != job.cluster().servers()) {
      job.mutable_cluster()->set_servers(cluster.servers());
      WEIR_RETURN_IF_ERROR(ReuseRunFolder(job).status());
    }
    ++options.life;
    options.resume_dir = beginning->dir;
    samples_before = beginning->samples;
    std::fprintf(stderr, "\n%s; all start again from %s (restart %u of %u)\n", Headline(status).c_str(),
                 beginning->dir.empty() ? "the beginning: no checkpoint was saved yet" : beginning->dir.c_str(), restarts,
                 job.checkpoint().restarts());
  }
}

}  // namespace weir::tools
