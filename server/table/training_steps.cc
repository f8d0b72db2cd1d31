#include "server/table/training_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/step_scales.h"
#include "spdlog/spdlog.h"

namespace weir::server {

TrainingSteps::TrainingSteps(TrainingStepsOptions options, TableRegistry* tables)
    : options_(options),
      tables_(tables),
      ledger_(options.workers),
      buffer_(options.workers),
      gate_(size_t{options.workers} * kTicketsPerWorkerMax),
      deadline_thread_([this] { EndWaitsAtDeadlines(); }) {}

TrainingSteps::~TrainingSteps() {
  Stop();
  deadline_thread_.join();
}

void TrainingSteps::Stop() {
  std::vector<Waiter> waiters;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    waiters = gate_.TakeAll();
    gate_changed_.NotifyAll();
  }
  for (Waiter& waiter : waiters) waiter.resume(absl::UnavailableError("the server is going down"));
}

absl::Status TrainingSteps::CheckId(const PartId& id, uint32_t parts) const {
  if (id.worker_rank >= options_.workers) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker_rank ", id.worker_rank, ": this job has ", options_.workers, " workers, from 0"));
  }
  if (id.step < 0) return absl::InvalidArgumentError(absl::StrCat("step ", id.step, ": steps start at 0"));
  if (parts == 0 || parts > kPartsMax) return absl::InvalidArgumentError(absl::StrCat("parts ", parts, ": it must be 1 to ", kPartsMax));
  if (id.part >= parts) return absl::InvalidArgumentError(absl::StrCat("part ", id.part, ": it must be below parts, ", parts));
  return absl::OkStatus();
}

bool TrainingSteps::Seen(const PartId& id) const {
  MutexLock lock(&mu_);
  return bounded() ? buffer_.Seen(id) : ledger_.Seen(id);
}

int64_t TrainingSteps::applied_step() const {
  MutexLock lock(&mu_);
  return applied_step_;
}

absl::StatusOr<TrainingSteps::Accepted> TrainingSteps::Accept(PushPart part) {
  WEIR_RETURN_IF_ERROR(CheckId(part.id, part.parts));
  if (!bounded()) return AcceptUnbounded(std::move(part));
  Accepted accepted;
  const std::string prepared = recorder_ == nullptr ? "" : recorder_->Prepare(part);
  {
    MutexLock lock(&mu_);
    WEIR_ASSIGN_OR_RETURN(accepted.outcome, buffer_.Add(std::move(part)));
  }
  if (recorder_ != nullptr && accepted.outcome == PushReply::OUTCOME_ACCEPTED) WEIR_RETURN_IF_ERROR(recorder_->Record(prepared));
  StepPushes pushes;
  while (TakeCompleteStep(&pushes)) {
    ApplyParts(pushes.parts, pushes.samples);
    for (Waiter& waiter : FinishStep(pushes.step)) {
      accepted.released.push_back([resume = std::move(waiter.resume)] { resume(absl::OkStatus()); });
    }
  }
  return accepted;
}

absl::StatusOr<TrainingSteps::Accepted> TrainingSteps::AcceptUnbounded(PushPart part) {
  Accepted accepted;
  {
    MutexLock lock(&mu_);
    WEIR_ASSIGN_OR_RETURN(accepted.outcome, ledger_.Record(part.id, part.parts));
  }
  if (accepted.outcome != PushReply::OUTCOME_ACCEPTED) return accepted;
  if (recorder_ != nullptr) WEIR_RETURN_IF_ERROR(recorder_->Record(recorder_->Prepare(part)));
  ApplyParts(absl::MakeConstSpan(&part, 1), part.samples);
  return accepted;
}

// Nobody else takes a step until FinishStep: steps are applied one after another.
bool TrainingSteps::TakeCompleteStep(StepPushes* pushes) {
  MutexLock lock(&mu_);
  if (applying_ || !buffer_.NextIsComplete()) return false;
  applying_ = true;
  *pushes = buffer_.TakeNext();
  return true;
}

std::vector<Waiter> TrainingSteps::FinishStep(int64_t step) {
  MutexLock lock(&mu_);
  applying_ = false;
  applied_step_ = step;
  return gate_.Reach(step);
}

void TrainingSteps::ApplyParts(absl::Span<const PushPart> parts, uint64_t samples) {
  if (samples == 0) return;
  std::vector<std::vector<const GradientRows*>> by_table(tables_->size());
  for (const PushPart& part : parts) {
    for (const GradientRows& rows : part.tables) by_table[rows.table].push_back(&rows);
  }
  const StepScales scales = ScalesOf(options_.training, parts[0].id.step, samples);
  std::vector<Key> not_finite;
  for (uint32_t index = 0; index < by_table.size(); ++index) {
    const std::vector<const GradientRows*>& of_table = by_table[index];
    Table& table = tables_->at(index);
    if (of_table.size() == 1 && of_table[0]->distinct) {
      table.Apply(of_table[0]->keys, of_table[0]->gradients, scales);
    } else if (!of_table.empty()) {
      const GradientRows sum = SumByKey(table.dim(), of_table, &not_finite);
      table.Apply(sum.keys, sum.gradients, scales);
    }
  }
  if (!not_finite.empty()) {
    spdlog::warn("step {}: the gradients of {} rows overflow when summed over workers; those rows stay as they are", parts[0].id.step,
                 not_finite.size());
  }
}

void TrainingSteps::WaitToTrain(Waiter waiter) {
  if (!bounded()) return waiter.resume(absl::OkStatus());
  waiter.step -= 1 + options_.training.staleness();
  ParkOrResume(std::move(waiter));
}

void TrainingSteps::WaitToEvaluate(Waiter waiter) {
  if (!bounded()) return waiter.resume(absl::OkStatus());
  {
    MutexLock lock(&mu_);
    waiter.step = buffer_.CompleteThrough();
  }
  ParkOrResume(std::move(waiter));
}

void TrainingSteps::WaitUntilApplied(Waiter waiter) {
  if (!bounded()) return waiter.resume(absl::OkStatus());
  ParkOrResume(std::move(waiter));
}

void TrainingSteps::Restore(int64_t applied_step) {
  if (!bounded()) return;
  MutexLock lock(&mu_);
  applied_step_ = applied_step;
  buffer_.Restore(applied_step + 1);
}

void TrainingSteps::ParkOrResume(Waiter waiter) {
  absl::Status status;
  {
    MutexLock lock(&mu_);
    if (stopped_) {
      status = absl::UnavailableError("the server is going down");
    } else if (waiter.step - applied_step_ > kStepsAheadMax) {
      status =
          absl::ResourceExhaustedError(absl::StrCat("the lookup needs step ", waiter.step, ", but step ", applied_step_,
                                                    " is the last that is applied; at most ", kStepsAheadMax, " steps are waited for"));
    } else if (waiter.step > applied_step_) {
      status = gate_.Park(std::move(waiter));
      if (status.ok()) return gate_changed_.NotifyAll();
    }
  }
  waiter.resume(std::move(status));
}

void TrainingSteps::Cancel(const void* owner) {
  std::optional<Waiter> waiter;
  {
    MutexLock lock(&mu_);
    waiter = gate_.Take(owner);
  }
  if (waiter.has_value()) waiter->resume(absl::CancelledError("the caller has given up the lookup"));
}

std::string TrainingSteps::WhatIsMissing(const Waiter& waiter) const {
  const int64_t step = applied_step_ + 1;
  const std::string needs = absl::StrCat("the lookup needs all pushes up to step ", waiter.step, "; ");
  if (applying_) return absl::StrCat(needs, "step ", step, " is being applied");
  return absl::StrCat(needs, "step ", step, " still lacks pushes of worker ranks ", absl::StrJoin(buffer_.MissingRanks(), ", "));
}

void TrainingSteps::EndWaitsAtDeadlines() {
  while (true) {
    std::vector<std::pair<Resume, absl::Status>> ended;
    {
      MutexLock lock(&mu_);
      const absl::Time earliest = gate_.NextDeadline();
      gate_changed_.WaitUntil(&mu_, earliest, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopped_ || gate_.NextDeadline() < earliest; });
      if (stopped_) return;
      for (Waiter& waiter : gate_.Expire(absl::Now())) {
        ended.emplace_back(std::move(waiter.resume), absl::DeadlineExceededError(WhatIsMissing(waiter)));
      }
    }
    for (auto& [resume, status] : ended) resume(std::move(status));
  }
}

}  // namespace weir::server
