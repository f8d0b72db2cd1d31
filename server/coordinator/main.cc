// weir-coordinator: the control plane of one job. Reads the effective job, opens the run folder, listens, and stays until the job has ended
// and everybody knows.
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/socket_bytes.h"
#include "base/status_macros.h"
#include "proto/checkpoint_folder.h"
#include "proto/job_file.h"
#include "proto/shard_map.h"
#include "server/coordinator/checkpoints.h"
#include "server/coordinator/control_service.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/range_planner.h"
#include "server/coordinator/range_server.h"
#include "server/coordinator/run_recorder.h"
#include "server/coordinator/shard_moves.h"

namespace weir::server {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(50);
// How long an interrupted job tells the others.
constexpr absl::Duration kInterruptedFarewell = absl::Milliseconds(500);

struct Flags {
  std::string job;
  std::string listen = "127.0.0.1:0";
  std::string run_dir;
  std::string address_file;
  std::string resume;  // a checkpoint's folder; empty: none
  std::string log_level = "info";
};

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

// Waits for a tick; the signal that came meanwhile, or 0.
int WaitForSignal(const sigset_t& signals) {
  const timespec timeout = absl::ToTimespec(kTick);
  const int signal = sigtimedwait(&signals, nullptr, &timeout);
  return signal > 0 ? signal : 0;
}

// Ticks until the job has ended and everybody knows. The exit code: 0 done, 1 failed, 128 + signal interrupted.
int RunUntilEnded(const sigset_t& signals, Coordinator* coordinator) {
  int interrupted_by = 0;
  absl::Time leave_by = absl::InfiniteFuture();
  while (true) {
    const int signal = WaitForSignal(signals);
    const absl::Time now = absl::Now();
    if (signal != 0 && interrupted_by == 0) {
      interrupted_by = signal;
      leave_by = now + kInterruptedFarewell;
      coordinator->Fail(signal == SIGINT ? "interrupted (SIGINT)" : "terminated (SIGTERM)", now);
    }
    coordinator->Tick(now);
    const std::optional<Coordinator::Ending> ending = coordinator->ending(now);
    if (!ending.has_value()) continue;
    const bool leave = interrupted_by != 0 ? ending->told || now >= leave_by : ending->heard;
    if (!leave) continue;
    if (ending->status.ok()) {
      spdlog::info("the job is done");
      return EXIT_SUCCESS;
    }
    spdlog::error("the job has failed: {}", std::string(ending->status.message()));
    return interrupted_by != 0 ? 128 + interrupted_by : EXIT_FAILURE;
  }
}

absl::StatusOr<int> Run(const Flags& flags, const sigset_t& signals) {
  Coordinator::Options options;
  WEIR_ASSIGN_OR_RETURN(options.job, ReadJobFile(flags.job, {}));
  options.job_hash = JobHash(options.job);
  if (options.job.checkpoint().has_every()) options.checkpoint_dir = CheckpointDir(options.job, flags.run_dir);
  if (!options.checkpoint_dir.empty()) RemoveUnfinishedCheckpoints(options.checkpoint_dir);
  CheckpointManifest from;
  if (!flags.resume.empty()) {
    WEIR_ASSIGN_OR_RETURN(from, ReadManifest(flags.resume));
    WEIR_RETURN_IF_ERROR(CheckResumable(from, options.job));
    options.resume_dir = std::filesystem::absolute(flags.resume).lexically_normal().string();
    options.seconds_before = from.seconds();
    spdlog::info("goes on from the checkpoint before step {} in {}", from.step(), options.resume_dir);
  }
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<RangePlanner> planner,
                        RangePlanner::Open(options.job, flags.resume.empty() ? nullptr : &from.data()));
  const std::optional<int64_t> steps_before = flags.resume.empty() ? std::nullopt : std::optional<int64_t>(from.steps());
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<RunRecorder> recorder, RunRecorder::Create(flags.run_dir, absl::Now(), steps_before));
  options.recorder = recorder.get();
  options.train_rows = [&planner] { return planner->total_rows(NextRangeRequest::SET_TRAIN); };
  options.control_bytes = [] { return CountedBytes().control; };
  Checkpoints::Options saved;
  saved.job = options.job;
  saved.job_hash = options.job_hash;
  saved.dir = options.checkpoint_dir;
  saved.planner = planner.get();
  saved.latest = options.resume_dir;
  saved.latest_step = from.step();
  Checkpoints* checkpoints_of_job = nullptr;  // made after the coordinator, before anybody calls
  options.latest_checkpoint = [&checkpoints_of_job] { return checkpoints_of_job->latest(); };
  ShardMoves::Options moving;
  moving.job = options.job;
  moving.job_hash = options.job_hash;
  moving.checkpoints = !options.checkpoint_dir.empty();
  ShardMoves* moves_of_job = nullptr;  // likewise
  options.shard_map = [&moves_of_job] { return moves_of_job->map(); };
  options.rejoin_possible = [&moves_of_job, logs = moving.checkpoints && options.job.checkpoint().push_log()] {
    return logs && !moves_of_job->moved_since_checkpoint();
  };
  Coordinator coordinator(std::move(options), absl::Now());
  saved.servers = [&coordinator, &moves_of_job] {
    std::vector<std::string> addresses = coordinator.ServerAddresses();
    addresses.resize(std::min<size_t>(addresses.size(), ServersOf(moves_of_job->map())));
    return addresses;
  };
  saved.server_count = [&moves_of_job] { return moves_of_job->wanted(); };
  saved.saved = [&moves_of_job] { moves_of_job->CheckpointSaved(); };
  saved.train_seconds = [&coordinator] { return coordinator.TrainSeconds(absl::Now()); };
  saved.failed = [&coordinator](const absl::Status& status) { coordinator.Fail(status.message(), absl::Now()); };
  Checkpoints checkpoints(std::move(saved), absl::Now());
  checkpoints_of_job = &checkpoints;
  moving.servers = [&coordinator] { return coordinator.ServerAddresses(); };
  moving.wait_for_checkpoints = [&checkpoints](absl::Duration time) { return checkpoints.WaitUntilIdle(time); };
  moving.done = [&coordinator](uint32_t servers) { coordinator.EndResize(servers); };
  moving.failed = [&coordinator](const absl::Status& status) { coordinator.Fail(status.message(), absl::Now()); };
  ShardMoves moves(std::move(moving));
  moves_of_job = &moves;
  RangeServer ranges(planner.get(), [&coordinator](const absl::Status& status) { coordinator.Fail(status.message(), absl::Now()); });
  const std::unique_ptr<grpc::Service> service = CreateControlService(&coordinator, &ranges, &checkpoints, &moves);
  CountAcceptedSockets(Edge::kControl);
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<GrpcEndpoint> endpoint, GrpcEndpoint::Listen(flags.listen, {service.get()}));
  if (!flags.address_file.empty()) {
    if (const absl::Status written = WriteFileAtomically(flags.address_file, endpoint->address() + "\n"); !written.ok()) {
      coordinator.Fail(written.message(), absl::Now());  // releases the calls that came already
      return written;
    }
  }
  spdlog::info("coordinates on {}", endpoint->address());
  const int exit_code = RunUntilEnded(signals, &coordinator);
  checkpoints.Stop();
  moves.Stop();
  endpoint->Shutdown();
  return exit_code;
}

int Main(int argc, char** argv) {
  // Before any thread starts: the ticking thread alone takes these signals.
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  StartProcess("coordinator");

  Flags flags;
  CLI::App app("Coordinates the processes of one job.");
  app.add_option("--job", flags.job, "effective job (YAML)")->required();
  app.add_option("--listen", flags.listen, "HOST:PORT to listen on; port 0: a free one")->capture_default_str();
  app.add_option("--run-dir", flags.run_dir, "folder for metrics and results")->required();
  app.add_option("--resume", flags.resume, "folder of the checkpoint to go on from");
  app.add_option("--address-file", flags.address_file, "file that gets HOST:PORT once it listens");
  app.add_option("--log-level", flags.log_level, "least level that is logged")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  spdlog::set_level(spdlog::level::from_str(flags.log_level));

  const absl::StatusOr<int> exit_code = Run(flags, signals);
  if (exit_code.ok()) return *exit_code;
  spdlog::error("{}", std::string(exit_code.status().message()));
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace weir::server

int main(int argc, char** argv) { return weir::server::Main(argc, argv); }
