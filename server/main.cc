// weir-server: holds shards of the embedding tables of one job. It listens, joins the job at the coordinator, builds its tables from the
// job that it is given, tells where it is to be found, and serves until the coordinator or a signal ends it.
//
// Exit status: 0 the job is done, or a signal ended the process; 1 the job has failed, or the server could not start: the last line of
// its log says why.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/grpc_endpoint.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "proto/control_client.h"
#include "proto/job_file.h"
#include "proto/shard_map.h"
#include "server/embedding_server.h"

namespace weir::server {
namespace {

struct Flags {
  std::string coordinator;
  std::string listen = "127.0.0.1:0";
  std::string log_level = "info";
  std::optional<uint32_t> rejoin;
};

// What ends the process: a signal, or an instruction of the coordinator. Made before any other thread, so that all of them leave the
// signals to Wait.
class EndOfJob {
 public:
  EndOfJob() : main_thread_(pthread_self()) {
    sigemptyset(&signals_);
    for (int signal : {SIGINT, SIGTERM, kInstructed}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  // Called on the heartbeat thread.
  void Instruct(HeartbeatReply::Instruction instruction, std::string reason) {
    {
      MutexLock lock(&mu_);
      instruction_ = instruction;
      reason_ = std::move(reason);
    }
    pthread_kill(main_thread_, kInstructed);
  }

  // On the thread that made this. UNSPECIFIED: a signal. The heartbeats bound the wait: a silent coordinator aborts.
  HeartbeatReply::Instruction Wait(std::string* reason) {
    int signal = 0;
    sigwait(&signals_, &signal);
    MutexLock lock(&mu_);
    *reason = signal == kInstructed ? reason_ : absl::StrCat("signal ", signal);
    return signal == kInstructed ? instruction_ : HeartbeatReply::INSTRUCTION_UNSPECIFIED;
  }

 private:
  static constexpr int kInstructed = SIGUSR1;

  const pthread_t main_thread_;
  sigset_t signals_;
  Mutex mu_;
  HeartbeatReply::Instruction instruction_ ABSL_GUARDED_BY(mu_) = HeartbeatReply::INSTRUCTION_UNSPECIFIED;
  std::string reason_ ABSL_GUARDED_BY(mu_);
};

absl::Duration HeartbeatPeriod(const Job& job) {
  return std::min(absl::Seconds(1), absl::Seconds(job.cluster().stall_timeout_seconds() / 4));
}

absl::Status StartServing(const ControlClient& control, const std::string& address, bool rejoin, EmbeddingServer* server) {
  NameProcess(absl::StrCat("server ", control.index()));
  EmbeddingServerOptions options;
  options.job = control.job();
  options.job_hash = control.job_hash();
  options.server_index = control.index();
  options.shard_map = control.shard_map();
  options.checkpoint_dir = control.checkpoint_dir();
  options.resume_dir = control.resume_dir();
  options.rejoin = rejoin;
  WEIR_RETURN_IF_ERROR(server->Start(options));
  spdlog::info("serving as server {} at {} ({}); effective job, hash {:016x}:\n{}", options.server_index, address,
               ToString(options.shard_map), options.job_hash, JobToYaml(options.job));
  return absl::OkStatus();
}

absl::Status Leave(const EmbeddingServer& server, ControlClient* control) {
  LeaveRequest leave;
  leave.set_fingerprint(server.Fingerprint());
  leave.set_rows(server.rows());
  spdlog::info("the job is done: {} rows, fingerprint {:016x}", leave.rows(), leave.fingerprint());
  return control->Leave(std::move(leave));
}

absl::Status Run(const Flags& flags, EndOfJob* end) {
  EmbeddingServer server;
  std::unique_ptr<GrpcEndpoint> endpoint;
  const auto listen = [&]() -> absl::Status {
    WEIR_ASSIGN_OR_RETURN(endpoint,
                          GrpcEndpoint::Listen(flags.listen, {server.service(), server.checkpoint_service(), server.shard_service()}));
    return absl::OkStatus();
  };
  // Who comes back is called the moment that it listens: not before it holds its rows.
  if (!flags.rejoin.has_value()) WEIR_RETURN_IF_ERROR(listen());
  ControlClient::Options join;
  join.coordinator = flags.coordinator;
  join.role = ROLE_SERVER;
  join.address = endpoint == nullptr ? flags.listen : endpoint->address();
  join.rejoin = flags.rejoin;
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<ControlClient> control, ControlClient::Join(join));
  WEIR_RETURN_IF_ERROR(StartServing(*control, join.address, flags.rejoin.has_value(), &server));
  if (flags.rejoin.has_value()) WEIR_RETURN_IF_ERROR(listen());
  WEIR_RETURN_IF_ERROR(control->PutValue(ServerAddressKey(control->index()), endpoint->address()));
  control->StartHeartbeats(HeartbeatPeriod(control->job()), nullptr, [end](HeartbeatReply::Instruction instruction, std::string reason) {
    end->Instruct(instruction, std::move(reason));
  });

  std::string reason;
  const HeartbeatReply::Instruction instruction = end->Wait(&reason);
  if (instruction == HeartbeatReply::INSTRUCTION_LEAVE) WEIR_RETURN_IF_ERROR(Leave(server, control.get()));
  server.Stop();
  if (instruction == HeartbeatReply::INSTRUCTION_ABORT) return absl::AbortedError(reason);
  if (instruction == HeartbeatReply::INSTRUCTION_UNSPECIFIED) spdlog::info("ended by {}", reason);
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::server

int main(int argc, char** argv) {
  weir::StartProcess("server");
  weir::server::Flags flags;
  CLI::App app("Holds shards of the embedding tables of one job.", "weir-server");
  app.add_option("--coordinator", flags.coordinator, "host:port of the job's coordinator")->required();
  app.add_option("--listen", flags.listen, "host:port to serve on; port 0 takes a free one")->capture_default_str();
  app.add_option(
      "--rejoin", flags.rejoin,
      "come back as this server, which was killed, with the latest checkpoint and the pushes logged since; --listen must be where it "
      "was");
  app.add_option("--log-level", flags.log_level, "trace, debug, info, warn, err or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "err", "off"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  weir::server::EndOfJob end;
  const absl::Status status = weir::server::Run(flags, &end);
  if (status.ok()) return 0;
  spdlog::error("{}", status.ToString());
  return 1;
}
