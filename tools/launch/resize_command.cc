#include "tools/launch/resize_command.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "proto/shard_map.h"
#include "tools/launch/coordinator_link.h"

namespace weir::tools {
namespace {

constexpr absl::Duration kRefresh = absl::Milliseconds(100);

constexpr char kHelp[] =
    R"(The job goes on meanwhile: new servers start first, then shards move, some at a time, between two steps, each time for about 50 ms. When
the last one has moved a checkpoint is saved, where the job saves any, and servers that are not needed any more leave.
  weir launch job.yaml --set checkpoint.every=5m &
  weir resize runs/demo --servers 4
A job that is stopped can also go on with other numbers: weir launch job.yaml --resume --set cluster.servers=4 --set cluster.workers=2)";

absl::StatusOr<std::unique_ptr<CoordinatorLink>> LinkTo(const std::string& run) {
  const std::string path = absl::StrCat(run, "/coordinator.address");
  std::ifstream file(path);
  std::string address;
  if (!std::getline(file, address)) {
    return absl::NotFoundError(absl::StrCat(path, " cannot be read: name the run folder of a job that runs, as in runs/demo"));
  }
  return CoordinatorLink::Open(address);
}

bool Done(const StatusReply& status, uint32_t servers) {
  return status.servers_wanted() == servers && status.shard_map().servers() == servers && status.shard_map().next_servers() == 0;
}

std::string Progress(const StatusReply& status) {
  const ShardMap& map = status.shard_map();
  if (map.next_servers() != 0) return absl::StrFormat("%u of %u shards have moved", map.moved(), map.shard_count());
  if (status.servers_registered() < status.servers_wanted()) {
    return absl::StrFormat("waiting for servers: %u of %u have joined", status.servers_registered(), status.servers_wanted());
  }
  return "waiting for the next step at which the job can pause";
}

}  // namespace

CLI::App* AddResizeCommand(CLI::App* app, ResizeArguments* arguments) {
  CLI::App* const command = app->add_subcommand("resize", "Gives a running job another number of servers, while it trains");
  command->add_option("run", arguments->run, "Run folder of the job, as in runs/demo")->required();
  command->add_option("--servers", arguments->servers, "How many servers it is to have")->required()->check(CLI::PositiveNumber);
  command->footer(kHelp);
  return command;
}

absl::Status Resize(const ResizeArguments& arguments, StopSignals* signals) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<CoordinatorLink> link, LinkTo(arguments.run));
  WEIR_ASSIGN_OR_RETURN(StatusReply status, link->Status());
  const uint32_t before = status.shard_map().servers();
  const absl::Time begin = absl::Now();
  WEIR_RETURN_IF_ERROR(link->Resize(arguments.servers));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::string shown;
  while (!Done(status, arguments.servers)) {
    if (signals->Wait(kRefresh)) return absl::CancelledError("the change goes on; this command only followed it");
    WEIR_ASSIGN_OR_RETURN(status, link->Status());
    const bool trains = status.state() == StatusReply::STATE_TRAINING;
    if (!trains && !Done(status, arguments.servers)) {
      return absl::AbortedError(absl::StrCat("the job's training ended first, with ", ToString(status.shard_map()),
                                             status.reason().empty() ? "" : ": ", status.reason()));
    }
    const std::string progress = Progress(status);
    if (progress != shown) std::fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", progress.c_str());
    shown = progress;
  }
  if (terminal && !shown.empty()) std::fputs("\r\033[K", stderr);
  absl::PrintF("%s: %u servers instead of %u, after %.1f s\n", arguments.run, arguments.servers, before,
               absl::ToDoubleSeconds(absl::Now() - begin));
  return absl::OkStatus();
}

}  // namespace weir::tools
