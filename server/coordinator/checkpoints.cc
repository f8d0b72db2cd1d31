#include "server/coordinator/checkpoints.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/status_macros.h"
#include "proto/checkpoint.grpc.pb.h"
#include "proto/checkpoint_folder.h"
#include "proto/control_client.h"
#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

// Workers ask about a step at most this many answers after the first of them.
constexpr size_t kAnswersMax = 1024;

CheckpointSchedule ScheduleOf(const Job& job) {
  if (!job.checkpoint().has_every()) return {};
  return ParseCheckpointSchedule(job.checkpoint().every()).value_or(CheckpointSchedule());
}

// One server's call.
struct ServerCall {
  std::unique_ptr<CheckpointService::Stub> stub;
  grpc::ClientContext context;
  SaveShardsRequest request;
  SavedShards reply;
  grpc::Status status;
};

}  // namespace

Checkpoints::Checkpoints(Options options, absl::Time now)
    : options_(std::move(options)), schedule_(ScheduleOf(options_.job)), last_due_(now), saving_([this] { SaveLoop(); }) {}

Checkpoints::~Checkpoints() { Stop(); }

void Checkpoints::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (saving_.joinable()) saving_.join();
  std::map<int64_t, Parts> waiting;
  {
    MutexLock lock(&mu_);
    waiting.swap(gathering_);
  }
  for (auto& [step, parts] : waiting) {
    for (auto& [rank, part] : parts) part.finish(absl::CancelledError("the coordinator is going down"));
  }
}

bool Checkpoints::Due(int64_t step, absl::Time now) {
  MutexLock lock(&mu_);
  const auto [answer, first] = due_.emplace(step, false);
  if (first && schedule_.time > absl::ZeroDuration() && now - last_due_ >= schedule_.time) {
    answer->second = true;
    last_due_ = now;
  }
  const bool due = answer->second;
  if (due_.size() > kAnswersMax) due_.erase(due_.begin());
  return due;
}

void Checkpoints::Save(const SaveCheckpointRequest& request, std::function<void(const absl::Status&)> finish) {
  const uint32_t workers = options_.job.cluster().workers();
  absl::Status refusal;
  std::function<void(const absl::Status&)> replaced;
  {
    MutexLock lock(&mu_);
    if (options_.dir.empty()) {
      refusal = absl::InvalidArgumentError("the job saves no checkpoints: checkpoint.every is not set");
    } else if (request.worker_rank() >= workers) {
      refusal = absl::InvalidArgumentError(absl::StrCat("a checkpoint of worker ", request.worker_rank(), " of ", workers));
    } else if (stopping_) {
      refusal = absl::CancelledError("the coordinator is going down");
    } else {
      Part& part = gathering_[request.step()][request.worker_rank()];
      replaced = std::exchange(part.finish, std::move(finish));
      part.request = request;
      changed_.NotifyAll();
    }
  }
  if (replaced != nullptr) replaced(absl::CancelledError("the worker has asked again"));
  if (!refusal.ok()) finish(refusal);
}

void Checkpoints::SaveLoop() {
  while (true) {
    int64_t step = 0;
    Parts parts;
    {
      MutexLock lock(&mu_);
      const auto complete = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        return !gathering_.empty() && gathering_.begin()->second.size() == options_.job.cluster().workers();
      };
      const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || complete(); };
      if (!changed_.WaitUntil(&mu_, absl::InfiniteFuture(), ready)) continue;
      if (stopping_) return;
      step = gathering_.begin()->first;
      parts = std::move(gathering_.begin()->second);
      gathering_.erase(gathering_.begin());
    }
    const absl::Time begin = absl::Now();
    absl::Status status = Write(step, parts);
    if (status.ok()) {
      spdlog::info("checkpoint before step {} saved in {} ms", step, absl::ToInt64Milliseconds(absl::Now() - begin));
    } else {
      status = absl::Status(status.code(), absl::StrCat("the checkpoint before step ", step, " could not be saved, earlier ones in ",
                                                        options_.dir, " stay: ", status.message()));
    }
    for (auto& [rank, part] : parts) part.finish(status);
  }
}

absl::StatusOr<std::vector<SavedShards>> Checkpoints::SaveServers(int64_t step) {
  const std::vector<std::string> addresses = options_.servers();
  std::vector<ServerCall> calls(addresses.size());
  Mutex mu;
  CondVar answered;
  size_t waiting = calls.size();
  for (size_t i = 0; i < calls.size(); ++i) {
    ServerCall& call = calls[i];
    call.stub = CheckpointService::NewStub(OpenChannel(addresses[i], Edge::kNotCounted));
    call.request.set_job_hash(options_.job_hash);
    call.request.set_step(step);
    SetDeadline(&call.context, absl::Now() + kCheckpointTimeout);
    call.stub->async()->SaveShards(&call.context, &call.request, &call.reply, [&call, &mu, &answered, &waiting](grpc::Status status) {
      MutexLock lock(&mu);
      call.status = std::move(status);
      --waiting;
      answered.NotifyAll();
    });
  }
  {
    // gRPC ends every call at its deadline, so this needs none of its own.
    MutexLock lock(&mu);
    answered.WaitUntil(&mu, absl::InfiniteFuture(), [&waiting] { return waiting == 0; });
  }
  std::vector<SavedShards> saved;
  for (size_t i = 0; i < calls.size(); ++i) {
    WEIR_RETURN_IF_ERROR(FromGrpc(calls[i].status, absl::StrCat("server ", i, " at ", addresses[i])));
    saved.push_back(std::move(calls[i].reply));
  }
  return saved;
}

absl::Status Checkpoints::Write(int64_t step, const Parts& parts) {
  CheckpointManifest manifest;
  manifest.set_format_version(kCheckpointFormatVersion);
  *manifest.mutable_job() = options_.job;
  manifest.set_step(step);
  manifest.set_seconds(options_.train_seconds());
  manifest.set_saved_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  std::vector<WorkerPosition> positions;
  for (const auto& [rank, part] : parts) {
    positions.push_back(part.request.position());
    *manifest.add_workers() = part.request.file();
    manifest.set_steps(part.request.steps());
    manifest.set_samples(manifest.samples() + part.request.samples());
  }
  WEIR_ASSIGN_OR_RETURN(*manifest.mutable_data(), options_.planner->Position(positions));
  WEIR_ASSIGN_OR_RETURN(std::vector<SavedShards> servers, SaveServers(step));
  for (SavedShards& saved : servers) *manifest.add_servers() = std::move(saved);
  return FinishCheckpoint(options_.dir, manifest, options_.job.checkpoint().keep());
}

}  // namespace weir::server
