#include "server/table/step_buffer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace weir::server {

StepBuffer::StepBuffer(uint32_t workers) : workers_(workers) {}

bool StepBuffer::Seen(const PartId& id) const {
  const Worker& worker = workers_[id.worker_rank];
  if (worker.incarnation != id.incarnation || id.step < worker.since) return false;
  if (id.step < next_step_) return true;
  const size_t ahead = static_cast<size_t>(id.step - next_step_);
  if (ahead >= steps_.size()) return false;
  const WorkerStep& step = steps_[ahead].workers[id.worker_rank];
  return id.part < step.parts.size() && step.parts[id.part].has_value();
}

absl::Status StepBuffer::CheckIncarnation(const PartId& id) {
  Worker& worker = workers_[id.worker_rank];
  if (worker.incarnation != id.incarnation) {
    if (std::count(worker.replaced.begin(), worker.replaced.end(), id.incarnation) > 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("push of ", ToString(id), ": this incarnation of the worker has been replaced by a newer one"));
    }
    if (worker.incarnation.has_value()) {
      worker.replaced.push_back(*worker.incarnation);
      if (worker.replaced.size() > kReplacedMax) worker.replaced.pop_front();
      DropBuffered(id.worker_rank);
      worker.since = next_step_;
    }
    worker.incarnation = id.incarnation;
  }
  if (id.step < worker.since) {
    return absl::FailedPreconditionError(absl::StrCat(
        "push of ", ToString(id), ": an earlier incarnation of the worker has pushed that step; this one starts at step ", worker.since));
  }
  return absl::OkStatus();
}

void StepBuffer::DropBuffered(uint32_t worker_rank) {
  for (Step& step : steps_) {
    WorkerStep& dropped = step.workers[worker_rank];
    if (dropped.complete()) --step.complete_workers;
    dropped = WorkerStep();
  }
}

absl::StatusOr<PushReply::Outcome> StepBuffer::Add(PushPart part) {
  const PartId& id = part.id;
  if (id.step - next_step_ >= kStepsAheadMax) {
    return absl::ResourceExhaustedError(absl::StrCat("push of ", ToString(id), " is ", id.step - next_step_, " steps ahead of step ",
                                                     next_step_, ", which still lacks pushes; at most ", kStepsAheadMax - 1,
                                                     " are buffered"));
  }
  WEIR_RETURN_IF_ERROR(CheckIncarnation(id));
  if (Seen(id)) return PushReply::OUTCOME_DUPLICATE;
  const size_t ahead = static_cast<size_t>(id.step - next_step_);
  while (steps_.size() <= ahead) steps_.push_back(Step{std::vector<WorkerStep>(workers_.size()), 0});
  WorkerStep& step = steps_[ahead].workers[id.worker_rank];
  if (step.parts.empty()) {
    step.parts.resize(part.parts);
    step.missing = part.parts;
    step.samples = part.samples;
  }
  if (step.parts.size() != part.parts || step.samples != part.samples) {
    return absl::InvalidArgumentError(absl::StrCat("push of ", ToString(id), " says ", part.parts, " parts and ", part.samples,
                                                   " samples, an earlier part said ", step.parts.size(), " and ", step.samples));
  }
  step.parts[id.part] = std::move(part);
  if (--step.missing == 0) ++steps_[ahead].complete_workers;
  return PushReply::OUTCOME_ACCEPTED;
}

bool StepBuffer::NextIsComplete() const { return CompleteThrough() >= next_step_; }

int64_t StepBuffer::CompleteThrough() const {
  int64_t through = next_step_ - 1;
  for (const Step& step : steps_) {
    if (step.complete_workers < workers_.size()) break;
    ++through;
  }
  return through;
}

StepPushes StepBuffer::TakeNext() {
  StepPushes pushes;
  pushes.step = next_step_;
  for (WorkerStep& worker : steps_.front().workers) {
    pushes.samples += worker.samples;
    for (std::optional<PushPart>& part : worker.parts) pushes.parts.push_back(*std::move(part));
  }
  steps_.pop_front();
  ++next_step_;
  return pushes;
}

std::vector<uint32_t> StepBuffer::MissingRanks() const {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < workers_.size(); ++rank) {
    if (steps_.empty() || !steps_.front().workers[rank].complete()) missing.push_back(rank);
  }
  return missing;
}

}  // namespace weir::server
