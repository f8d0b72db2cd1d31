#include "worker/peer_exchange.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/grpc_endpoint.h"
#include "base/status_macros.h"
#include "compression/dct_layer.h"
#include "compression/threshold.h"
#include "compression/vector_kernels.h"

namespace weir::worker {

void PeerExchange::SetDensityFactor(double factor) {
  MutexLock lock(&mu_);
  density_factor_ = factor;
}

void PeerExchange::Configure(ExchangeOptions options) {
  MutexLock lock(&mu_);
  contributions_.resize(options.workers);
  for (const ExchangePart& part : options.parts) {
    sums_.emplace_back(part.size);
    residuals_.emplace_back(part.size);
  }
  limits_.resize(options.parts.size());
  held_back_.resize(options.parts.size());
  options_ = std::move(options);
  state_ = absl::OkStatus();
}

absl::Status PeerExchange::Validate(const ReduceRequest& request) const {
  WEIR_RETURN_IF_ERROR(state_);
  if (request.job_hash() != options_.job_hash) {
    return absl::FailedPreconditionError(absl::StrCat("worker ", options_.rank, " runs job ", absl::Hex(options_.job_hash), ", worker ",
                                                      request.worker_rank(), " runs job ", absl::Hex(request.job_hash())));
  }
  if (request.worker_rank() >= options_.workers) {
    return absl::InvalidArgumentError(absl::StrCat("worker rank ", request.worker_rank(), " of ", options_.workers, " workers"));
  }
  if (request.step() < 0 || (request.step() != step_ && request.step() != step_ - 1)) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", request.worker_rank(), " contributes to step ", request.step(), ", worker ",
                                                   options_.rank, " gathers step ", step_));
  }
  if (request.frames_size() != static_cast<int>(options_.parts.size())) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", request.worker_rank(), " sends ", request.frames_size(), " layers, worker ",
                                                   options_.rank, " owns parts of ", options_.parts.size()));
  }
  return absl::OkStatus();
}

absl::Status PeerExchange::Decode(const ReduceRequest& request, Contribution* contribution) const {
  std::vector<compression::SparseEntries> parts;
  for (size_t i = 0; i < options_.parts.size(); ++i) {
    auto entries = compression::DecodeSparse(request.frames(i), options_.parts[i].size);
    if (!entries.ok()) {
      return absl::Status(entries.status().code(),
                          absl::StrCat("layer part ", i, " from worker ", request.worker_rank(), ": ", entries.status().message()));
    }
    // Frames carry any bits: what is not finite is the sender's error, and must not reach the sum.
    const auto bad = std::find_if_not(entries->values.begin(), entries->values.end(), [](float value) { return std::isfinite(value); });
    if (bad != entries->values.end()) {
      return absl::InvalidArgumentError(absl::StrCat("layer part ", i, " from worker ", request.worker_rank(), ": entry ",
                                                     entries->positions[bad - entries->values.begin()], " is ", *bad));
    }
    parts.push_back(*std::move(entries));
  }
  contribution->parts = std::move(parts);
  contribution->samples = request.samples();
  contribution->present = true;
  return absl::OkStatus();
}

absl::Status PeerExchange::Round(compression::ValueType type, const std::vector<uint32_t>& positions, std::vector<float>* values,
                                 std::vector<float>* residual) const {
  const float largest = compression::LargestValue(type);
  for (size_t i = 0; i < positions.size(); ++i) {
    float& value = (*values)[i];
    if (!std::isfinite(value)) {
      return absl::InvalidArgumentError(absl::StrCat("the sum of gradients over all workers is ", value, " at entry ", positions[i]));
    }
    (*residual)[positions[i]] = value;
    value = std::clamp(value, -largest, largest);
  }
  compression::RoundValues(type, absl::MakeSpan(*values));
  for (size_t i = 0; i < positions.size(); ++i) (*residual)[positions[i]] -= (*values)[i];
  return absl::OkStatus();
}

absl::Status PeerExchange::SumPart(size_t part, SparseEntries* answer) {
  std::vector<float>& sum = sums_[part];
  std::vector<uint32_t>& positions = answer->positions;
  std::vector<uint32_t> joined;
  size_t most = 0;
  for (const Contribution& contribution : contributions_) {
    const SparseEntries& entries = contribution.parts[part];
    most = std::max(most, entries.positions.size());
    for (size_t i = 0; i < entries.positions.size(); ++i) sum[entries.positions[i]] += entries.values[i];
    joined.clear();
    std::set_union(positions.begin(), positions.end(), entries.positions.begin(), entries.positions.end(), std::back_inserter(joined));
    positions.swap(joined);
  }
  size_t allowed = sum.size();
  const double sparsity = compression::RelaxedSparsity(1 - options_.parts[part].density, density_factor_);
  if (sparsity * static_cast<double>(sum.size()) >= 1) {
    // Not all at once less than before: what is held back goes on draining when contributions end.
    const size_t others = std::max<size_t>(contributions_.size() - 1, 1);
    allowed = std::max({(most * contributions_.size() + others - 1) / others, size_t{limits_[part]} / 2, size_t{1}});
  }
  limits_[part] = static_cast<uint32_t>(std::min(allowed, sum.size()));
  if (held_back_[part] || positions.size() > limits_[part]) return TakeLargest(part, limits_[part], answer);
  for (const uint32_t position : positions) {
    answer->values.push_back(sum[position] + residuals_[part][position]);
    sum[position] = 0;
  }
  return Round(options_.parts[part].values, positions, &answer->values, &residuals_[part]);
}

absl::Status PeerExchange::TakeLargest(size_t part, uint32_t limit, SparseEntries* answer) {
  std::vector<float>& residual = residuals_[part];
  if (compression::AddInto(sums_[part], residual, residual.data()) >= compression::kInfinityBits) {
    return absl::InvalidArgumentError("the sum of gradients over all workers is not finite");
  }
  std::fill(sums_[part].begin(), sums_[part].end(), 0.0f);
  compression::SelectLargest(residual, limit, &answer->positions);
  answer->values.clear();
  for (const uint32_t position : answer->positions) answer->values.push_back(residual[position]);
  WEIR_RETURN_IF_ERROR(Round(options_.parts[part].values, answer->positions, &answer->values, &residual));
  held_back_[part] = answer->positions.size() == limit;
  return absl::OkStatus();
}

absl::Status PeerExchange::Sum() {
  last_reply_.Clear();
  uint64_t samples = 0;
  for (const Contribution& contribution : contributions_) samples += contribution.samples;
  last_reply_.set_samples(samples);
  for (size_t part = 0; part < sums_.size(); ++part) {
    SparseEntries answer;
    WEIR_RETURN_IF_ERROR(SumPart(part, &answer));
    WEIR_RETURN_IF_ERROR(compression::EncodeSparse(static_cast<uint32_t>(sums_[part].size()), answer.positions, answer.values,
                                                   options_.parts[part].values, last_reply_.add_frames()));
    if (options_.pack) compression::PackFrame(last_reply_.mutable_frames(static_cast<int>(part)));
  }
  for (Contribution& contribution : contributions_) contribution = Contribution();
  ++step_;
  return absl::OkStatus();
}

std::string PeerExchange::MissingRanks() const {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < contributions_.size(); ++rank) {
    if (!contributions_[rank].present) missing.push_back(rank);
  }
  return absl::StrJoin(missing, ", ");
}

void PeerExchange::Contribute(const ReduceRequest& request, Done done) {
  absl::Status status;
  Waiters ready;
  ReduceReply reply;
  {
    MutexLock lock(&mu_);
    status = Validate(request);
    if (status.ok() && request.step() == step_) {
      Contribution& contribution = contributions_[request.worker_rank()];
      if (!contribution.present) status = Decode(request, &contribution);
      if (status.ok()) {
        waiters_.push_back(std::move(done));
        const bool complete = std::all_of(contributions_.begin(), contributions_.end(), [](const Contribution& c) { return c.present; });
        if (!complete) return;
        status = Sum();
        if (!status.ok()) {
          state_ = status;
          last_reply_.Clear();
        }
        ready.swap(waiters_);
        reply = last_reply_;
        changed_.NotifyAll();
      }
    } else if (status.ok()) {
      reply = last_reply_;
    }
  }
  // Answered outside of the lock: a reply may be sent on this thread.
  if (ready.empty()) ready.push_back(std::move(done));
  for (const Done& waiter : ready) waiter(status, reply);
}

absl::Status PeerExchange::WaitForSum(int64_t step, absl::Time deadline, ReduceReply* reply) {
  MutexLock lock(&mu_);
  const bool in_time =
      changed_.WaitUntil(&mu_, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return step_ > step || !state_.ok(); });
  if (!in_time) {
    return absl::DeadlineExceededError(absl::StrCat("dense reduction of step ", step, ": nothing came from worker ", MissingRanks()));
  }
  WEIR_RETURN_IF_ERROR(state_);
  *reply = last_reply_;
  return absl::OkStatus();
}

void PeerExchange::VisitState(StateVisitor* state, absl::Span<const uint32_t> offsets, uint32_t entries) {
  MutexLock lock(&mu_);
  const StateVisitor::Scope scope(state, "slices");
  std::vector<float> held_back(entries);
  for (size_t i = 0; i < offsets.size(); ++i) std::copy(residuals_[i].begin(), residuals_[i].end(), held_back.begin() + offsets[i]);
  std::vector<double> limits(limits_.begin(), limits_.end());
  std::vector<double> holds(held_back_.begin(), held_back_.end());
  state->Number("step", &step_);
  state->Real("density_factor", &density_factor_);
  state->ResidualOfAll("residual", absl::MakeSpan(held_back));
  state->Vector("limits", &limits);
  state->Vector("holds", &holds);
  if (!state->restoring() || !state->status().ok()) return;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto first = held_back.begin() + offsets[i];
    std::copy(first, first + static_cast<ptrdiff_t>(residuals_[i].size()), residuals_[i].begin());
    // Cut as before, or anew: then anything may be left of entries that did not fit.
    const bool same = limits.size() == offsets.size() && holds.size() == offsets.size();
    limits_[i] = same ? static_cast<uint32_t>(limits[i]) : 0;
    held_back_[i] = same ? holds[i] != 0 : true;
  }
}

void PeerExchange::Abandon(const absl::Status& status) {
  Waiters waiters;
  {
    MutexLock lock(&mu_);
    state_ = status;
    waiters.swap(waiters_);
    changed_.NotifyAll();
  }
  for (const Done& waiter : waiters) waiter(status, ReduceReply());
}

grpc::ServerUnaryReactor* PeerExchange::Reduce(grpc::CallbackServerContext* context, const ReduceRequest* request, ReduceReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Contribute(*request, [reactor, reply](const absl::Status& status, const ReduceReply& sum) {
    *reply = sum;
    reactor->Finish(ToGrpc(status));
  });
  return reactor;
}

}  // namespace weir::worker
