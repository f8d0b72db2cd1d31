#include "server/coordinator/shard_moves.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/status_macros.h"
#include "proto/control_client.h"
#include "proto/shard_service.grpc.pb.h"
#include "server/coordinator/server_calls.h"
#include "spdlog/spdlog.h"

namespace weir::server {
namespace {

// Workers ask about a step at most this many answers after the first of them.
constexpr size_t kAnswersMax = 1024;
// A pause of the job: as many shards move in one as take about this long.
constexpr absl::Duration kPauseWanted = absl::Milliseconds(50);

}  // namespace

ShardMoves::ShardMoves(Options options)
    : options_(std::move(options)),
      map_(MakeShardMap(options_.job.cluster().shards(), options_.job.cluster().servers())),
      wanted_(map_.servers()),
      moving_([this] { MoveLoop(); }) {}

ShardMoves::~ShardMoves() { Stop(); }

void ShardMoves::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (moving_.joinable()) moving_.join();
  std::map<int64_t, Waiters> waiting;
  {
    MutexLock lock(&mu_);
    waiting.swap(waiting_);
  }
  for (auto& [step, waiters] : waiting) {
    for (auto& [rank, waiter] : waiters) waiter.finish(absl::CancelledError("the coordinator is going down"));
  }
}

bool ShardMoves::StopsWithin(absl::Duration time) {
  MutexLock lock(&mu_);
  return changed_.WaitUntil(&mu_, absl::Now() + time, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_; });
}

absl::Status ShardMoves::Begin(uint32_t servers) {
  MutexLock lock(&mu_);
  ShardMap next = MakeShardMap(map_.shard_count(), servers);
  WEIR_RETURN_IF_ERROR(CheckShardMap(next));
  if (wanted_ == servers) return absl::OkStatus();
  if (wanted_ != map_.servers() || map_.next_servers() != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the job is going over to ", wanted_, " servers (", ToString(map_), "): wait until it is done, then ask again"));
  }
  wanted_ = servers;
  return absl::OkStatus();
}

uint32_t ShardMoves::wanted() const {
  MutexLock lock(&mu_);
  return wanted_;
}

ShardMap ShardMoves::map() const {
  MutexLock lock(&mu_);
  return map_;
}

bool ShardMoves::moved_since_checkpoint() const {
  MutexLock lock(&mu_);
  return moved_since_checkpoint_;
}

void ShardMoves::CheckpointSaved() {
  MutexLock lock(&mu_);
  if (map_.next_servers() == 0) moved_since_checkpoint_ = false;
}

bool ShardMoves::Due(int64_t step) {
  const size_t servers = options_.servers().size();
  MutexLock lock(&mu_);
  const bool wanted = servers >= wanted_ && (wanted_ != map_.servers() || map_.next_servers() != 0);
  const auto [answer, first] = due_.emplace(step, wanted);
  const bool due = answer->second;
  if (due_.size() > kAnswersMax) due_.erase(due_.begin());
  return due;
}

void ShardMoves::Await(const AwaitShardMapRequest& request, AwaitShardMapReply* reply, std::function<void(const absl::Status&)> finish) {
  const uint32_t workers = options_.job.cluster().workers();
  absl::Status refusal;
  std::function<void(const absl::Status&)> replaced;
  {
    MutexLock lock(&mu_);
    if (request.worker_rank() >= workers) {
      refusal = absl::InvalidArgumentError(absl::StrCat("worker ", request.worker_rank(), " of ", workers, " waits for shards to move"));
    } else if (stopping_) {
      refusal = absl::CancelledError("the coordinator is going down");
    } else {
      Waiting& waiting = waiting_[request.step()][request.worker_rank()];
      replaced = std::exchange(waiting.finish, std::move(finish));
      waiting.reply = reply;
      changed_.NotifyAll();
    }
  }
  if (replaced != nullptr) replaced(absl::CancelledError("the worker has asked again"));
  if (!refusal.ok()) finish(refusal);
}

void ShardMoves::MoveLoop() {
  while (true) {
    int64_t step = 0;
    Waiters waiters;
    {
      MutexLock lock(&mu_);
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        return stopping_ || (!waiting_.empty() && waiting_.begin()->second.size() == options_.job.cluster().workers());
      };
      if (!changed_.WaitUntil(&mu_, absl::InfiniteFuture(), ready)) continue;
      if (stopping_) return;
      step = waiting_.begin()->first;
      waiters = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
    const absl::StatusOr<AwaitShardMapReply> reply = Move(step);
    for (auto& [rank, waiter] : waiters) {
      if (reply.ok()) *waiter.reply = *reply;
      waiter.finish(reply.status());
    }
    if (!reply.ok() && !absl::IsCancelled(reply.status())) options_.failed(reply.status());
  }
}

absl::StatusOr<AwaitShardMapReply> ShardMoves::Move(int64_t step) {
  const auto why = [step](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("shards could not move before step ", step, ": ", status.message()));
  };
  const absl::Time begin = absl::Now();
  if (const absl::Status status = options_.wait_for_checkpoints(kCheckpointTimeout); !status.ok()) return why(status);
  ShardMap next = map();
  if (next.next_servers() == 0) {
    next.set_next_servers(wanted());
    began_ = begin;
    rows_ = 0;
    waited_ = absl::ZeroDuration();
    pauses_ = 0;
    batch_ = 1;
  }
  next.set_moved(std::min(next.shard_count(), next.moved() + batch_));
  const bool last = next.moved() == next.shard_count();

  std::vector<std::string> addresses = options_.servers();
  addresses.resize(std::min<size_t>(addresses.size(), ServersOf(next)));
  {
    MutexLock lock(&mu_);
    moved_since_checkpoint_ = true;
  }
  const ServerCallOptions calls = {kCheckpointTimeout, [this](absl::Duration time) { return StopsWithin(time); }};
  TakeShardsRequest take;
  take.set_job_hash(options_.job_hash);
  take.set_step(step);
  *take.mutable_map() = next;
  for (const std::string& address : addresses) take.add_servers(address);
  std::atomic<uint64_t> rows{0};
  const auto taken = CallServers(addresses, calls, [&](const auto& channel, grpc::ClientContext* context, size_t) {
    TakeShardsReply reply;
    const grpc::Status status = ShardService::NewStub(channel)->TakeShards(context, take, &reply);
    rows += reply.rows();
    return status;
  });
  if (!taken.ok()) return why(taken);
  PlaceShardsRequest place;
  place.set_job_hash(options_.job_hash);
  place.set_step(step);
  *place.mutable_map() = last ? MakeShardMap(next.shard_count(), next.next_servers()) : next;
  const auto placed = CallServers(addresses, calls, [&](const auto& channel, grpc::ClientContext* context, size_t) {
    PlaceShardsReply reply;
    return ShardService::NewStub(channel)->PlaceShards(context, place, &reply);
  });
  if (!placed.ok()) return why(placed);

  const absl::Duration pause = absl::Now() - begin;
  if (pause < kPauseWanted) batch_ *= 2;
  if (pause > 2 * kPauseWanted) batch_ = std::max(1u, batch_ / 2);
  rows_ += rows;
  waited_ += pause;
  ++pauses_;
  {
    MutexLock lock(&mu_);
    map_ = place.map();
  }
  if (last) {
    options_.done(next.next_servers());
    spdlog::info("the job has {} servers before step {}: {} rows moved within {:.2f} s, of which the workers waited {} ms in {} pauses",
                 next.next_servers(), step, rows_, absl::ToDoubleSeconds(absl::Now() - began_), absl::ToInt64Milliseconds(waited_),
                 pauses_);
  }
  AwaitShardMapReply reply;
  *reply.mutable_map() = place.map();
  for (uint32_t i = 0; i < std::min<size_t>(addresses.size(), ServersOf(place.map())); ++i) reply.add_servers(addresses[i]);
  reply.set_checkpoint(last && options_.checkpoints);
  return reply;
}

}  // namespace weir::server
