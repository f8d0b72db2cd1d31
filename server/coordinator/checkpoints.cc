#include "server/coordinator/checkpoints.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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

}  // namespace

Checkpoints::Checkpoints(Options options, absl::Time now)
    : options_(std::move(options)),
      schedule_(ScheduleOf(options_.job)),
      latest_(options_.latest),
      latest_step_(options_.latest_step),
      last_due_(now),
      saving_([this] { SaveLoop(); }) {}

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

std::string Checkpoints::latest() const {
  MutexLock lock(&mu_);
  return latest_;
}

bool Checkpoints::StopsWithin(absl::Duration time) {
  MutexLock lock(&mu_);
  return changed_.WaitUntil(&mu_, absl::Now() + time, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_; });
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

void Checkpoints::Written(uint32_t rank, int64_t step) {
  MutexLock lock(&mu_);
  written_[step].insert(rank);
  changed_.NotifyAll();
}

absl::Status Checkpoints::WaitUntilWritten(int64_t step) {
  const size_t workers = options_.job.cluster().workers();
  MutexLock lock(&mu_);
  const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || written_[step].size() >= workers; };
  const bool in_time = changed_.WaitUntil(&mu_, absl::Now() + kCheckpointTimeout, ready);
  const bool all = written_[step].size() >= workers;
  written_.erase(written_.begin(), written_.upper_bound(step));
  if (all) return absl::OkStatus();
  return in_time ? absl::CancelledError("the coordinator is going down")
                 : absl::DeadlineExceededError("not every worker has written its file");
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
      saving_now_ = true;
    }
    Write(step, parts);
    MutexLock lock(&mu_);
    saving_now_ = false;
    changed_.NotifyAll();
  }
}

absl::Status Checkpoints::CallAllServers(const ServerCall& call) {
  return CallServers(options_.servers(), {kCheckpointTimeout, [this](absl::Duration time) { return StopsWithin(time); }}, call);
}

absl::Status Checkpoints::WaitUntilIdle(absl::Duration time) {
  MutexLock lock(&mu_);
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !saving_now_; };
  if (!changed_.WaitUntil(&mu_, absl::Now() + time, idle)) {
    return absl::DeadlineExceededError(absl::StrCat("a checkpoint is still being saved after ", absl::FormatDuration(time)));
  }
  return stopping_ ? absl::CancelledError("the coordinator is going down") : absl::OkStatus();
}

absl::StatusOr<CheckpointManifest> Checkpoints::Freeze(int64_t step, const Parts& parts) {
  CheckpointManifest manifest;
  manifest.set_format_version(kCheckpointFormatVersion);
  *manifest.mutable_job() = options_.job;
  manifest.mutable_job()->mutable_cluster()->set_servers(options_.server_count());
  manifest.set_step(step);
  manifest.set_seconds(options_.train_seconds());
  std::vector<WorkerPosition> positions;
  for (const auto& [rank, part] : parts) {
    positions.push_back(part.request.position());
    *manifest.add_workers() = part.request.file();
    manifest.set_steps(part.request.steps());
    manifest.set_samples(manifest.samples() + part.request.samples());
  }
  WEIR_ASSIGN_OR_RETURN(*manifest.mutable_data(), options_.planner->Position(positions));
  FreezeShardsRequest request;
  request.set_job_hash(options_.job_hash);
  request.set_step(step);
  request.set_last_whole(latest_step_);
  WEIR_RETURN_IF_ERROR(CallAllServers([&request](const auto& channel, grpc::ClientContext* context, size_t) {
    FreezeShardsReply reply;
    return CheckpointService::NewStub(channel)->FreezeShards(context, request, &reply);
  }));
  return manifest;
}

absl::Status Checkpoints::SaveFrozen(CheckpointManifest* manifest) {
  SaveShardsRequest request;
  request.set_job_hash(options_.job_hash);
  request.set_step(manifest->step());
  std::vector<SavedShards> saved(options_.servers().size());
  WEIR_RETURN_IF_ERROR(CallAllServers([&](const auto& channel, grpc::ClientContext* context, size_t server) {
    return CheckpointService::NewStub(channel)->SaveShards(context, request, &saved[server]);
  }));
  WEIR_RETURN_IF_ERROR(WaitUntilWritten(manifest->step()));
  for (SavedShards& of_server : saved) *manifest->add_servers() = std::move(of_server);
  manifest->set_saved_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  WEIR_RETURN_IF_ERROR(FinishCheckpoint(options_.dir, *manifest, options_.job.checkpoint().keep()));
  WEIR_ASSIGN_OR_RETURN(std::string latest, LatestCheckpoint(options_.dir));
  latest_step_ = manifest->step();
  {
    MutexLock lock(&mu_);
    latest_ = std::move(latest);
  }
  options_.saved();
  return absl::OkStatus();
}

void Checkpoints::Write(int64_t step, const Parts& parts) {
  const auto answer = [&parts](const absl::Status& status) {
    for (const auto& [rank, part] : parts) part.finish(status);
  };
  const auto why = [this, step](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("the checkpoint before step ", step, " could not be saved, earlier ones in ",
                                                    options_.dir, " stay: ", status.message()));
  };
  const absl::Time begin = absl::Now();
  absl::StatusOr<CheckpointManifest> manifest = Freeze(step, parts);
  if (!manifest.ok()) return answer(why(manifest.status()));
  const bool last = parts.begin()->second.request.last();
  if (!last) answer(absl::OkStatus());
  const absl::Duration waited = absl::Now() - begin;
  const absl::Status status = SaveFrozen(&*manifest);
  if (status.ok()) {
    spdlog::info("checkpoint before step {} saved in {} ms, of which the workers waited {} ms", step,
                 absl::ToInt64Milliseconds(absl::Now() - begin),
                 last ? absl::ToInt64Milliseconds(absl::Now() - begin) : absl::ToInt64Milliseconds(waited));
    if (last) answer(absl::OkStatus());
  } else if (last) {
    answer(why(status));
  } else if (absl::IsFailedPrecondition(status)) {
    // A server was killed and came back: it has its rows, but not as they were then. The next one will do.
    spdlog::warn("{}", std::string(why(status).message()));
  } else if (!absl::IsCancelled(status)) {
    options_.failed(why(status));
  }
}

}  // namespace weir::server
