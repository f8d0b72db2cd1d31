#include "worker/trainer.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/step_scales.h"

namespace weir::worker {

Trainer::Trainer(TrainerParts parts, TrainerOptions options) : parts_(parts), options_(std::move(options)) {
  parts_.model->OnGradientsReady([reducer = parts_.reducer](uint32_t offset) { reducer->GradientsReady(offset); });
}

Trainer::~Trainer() { parts_.model->OnGradientsReady(nullptr); }

absl::Status Trainer::Run() {
  bool more = true;
  while (more) {
    WEIR_RETURN_IF_ERROR(FillWindow());
    if (window_.empty() && due_.any()) {
      WEIR_RETURN_IF_ERROR(TakePause());
      continue;
    }
    if (window_.empty()) break;  // steps_max
    StepAhead current = std::move(window_.front());
    window_.pop_front();
    auto went_on = RunStep(&current);
    if (!went_on.ok()) {
      return absl::Status(went_on.status().code(), absl::StrCat("step ", current.step, ": ", went_on.status().message()));
    }
    more = *went_on;
    trained_step_ = current.step;
    trained_ = current.batch.end;
    pushed_lookup_ = std::move(current.lookup);
    spare_batches_.push_back(std::move(current.batch));
  }
  // Lookups of steps that will not run are dropped; the last push must be there before anybody evaluates.
  window_.clear();
  next_step_ = trained_step_ + 1;
  WEIR_RETURN_IF_ERROR(WaitForPush());
  clock_.Enter(StepPhase::kRead);
  // A push is accounted for once it is acknowledged: the last one has not been taken yet.
  parts_.progress->SetStepTimes(clock_.seconds(), clock_.waits());
  parts_.progress->AddCodecStats(parts_.bags->TakeStats());
  // What was trained stays, whatever happens to the evaluation.
  return parts_.checkpoints == nullptr ? absl::OkStatus() : SaveCheckpoint(/*last=*/true);
}

void Trainer::VisitState(StateVisitor* state) {
  const auto visit = [state](const char* name, auto* part) {
    const StateVisitor::Scope scope(state, name);
    part->VisitState(state);
  };
  state->Number("step", &next_step_);
  trained_step_ = next_step_ - 1;
  // The checkpoint before this step is there; nobody asks for more here.
  if (state->restoring()) asked_step_ = next_step_;
  visit("clock", &clock_);
  visit("progress", parts_.progress);
  visit("model", parts_.model);
  visit("optimizer", parts_.optimizer);
  visit("dense", parts_.reducer);
  visit("embeddings", parts_.bags);
  if (parts_.guard != nullptr) visit("guard", parts_.guard);
}

absl::StatusOr<bool> Trainer::PauseIsDue() {
  if (parts_.pauses == nullptr) return false;
  if (asked_step_ != next_step_) {
    WEIR_ASSIGN_OR_RETURN(due_, parts_.pauses->Before(next_step_));
    asked_step_ = next_step_;
  }
  return due_.any();
}

absl::Status Trainer::TakePause() {
  Pause due = std::exchange(due_, Pause());
  if (due.resize) {
    WEIR_RETURN_IF_ERROR(WaitForPush());
    clock_.Enter(StepPhase::kCheckpoint);
    WEIR_ASSIGN_OR_RETURN(const bool checkpoint, parts_.pauses->FollowShards(next_step_));
    due.checkpoint = due.checkpoint || checkpoint;
    clock_.Enter(StepPhase::kRead);
  }
  return due.checkpoint ? SaveCheckpoint(/*last=*/false) : absl::OkStatus();
}

absl::Status Trainer::SaveCheckpoint(bool last) {
  WEIR_RETURN_IF_ERROR(WaitForPush());
  clock_.Enter(StepPhase::kCheckpoint);
  parts_.progress->AddCodecStats(parts_.bags->TakeStats());
  WEIR_RETURN_IF_ERROR(parts_.checkpoints->Save({next_step_, trained_, last}, [this](StateVisitor* state) { VisitState(state); }));
  clock_.Enter(StepPhase::kRead);
  return absl::OkStatus();
}

absl::Status Trainer::FillWindow() {
  const int64_t steps_max = static_cast<int64_t>(options_.training.steps_max());
  while (window_.size() < 1 + options_.training.prefetch() && (steps_max == 0 || next_step_ < steps_max)) {
    WEIR_ASSIGN_OR_RETURN(const bool due, PauseIsDue());
    if (due) break;
    StepAhead ahead;
    ahead.step = next_step_++;
    if (!spare_batches_.empty()) {
      ahead.batch = std::move(spare_batches_.back());
      spare_batches_.pop_back();
    }
    WEIR_RETURN_IF_ERROR(parts_.source->Next(options_.training.batch_size() / options_.workers, &ahead.batch));
    WEIR_ASSIGN_OR_RETURN(ahead.lookup,
                          parts_.bags->StartLookup(ahead.step, LookupRequest::PURPOSE_TRAIN, ahead.batch.samples, ahead.batch.features));
    window_.push_back(std::move(ahead));
  }
  parts_.progress->SetBadRows(parts_.source->bad_rows());
  return absl::OkStatus();
}

absl::Status Trainer::LogitGradient(const StepAhead& current) {
  const uint32_t samples = current.batch.samples;
  logit_gradient_.resize(samples);
  for (uint32_t i = 0; i < samples; ++i) {
    if (!std::isfinite(logits_[i])) {
      return absl::InternalError(absl::StrCat("worker ", options_.rank, ": the prediction of sample ", i, " of ", samples, " is ",
                                              logits_[i], "; lower a learning rate (model.optimizer, embeddings.optimizer)"));
    }
    logit_gradient_[i] = 1 / (1 + std::exp(-logits_[i])) - current.batch.labels[i];
  }
  return absl::OkStatus();
}

absl::Status Trainer::WaitForPush() {
  clock_.EnterWait(StepPhase::kPushWait, push_ != nullptr && !push_->ready());
  const absl::Status status = push_ == nullptr ? absl::OkStatus() : push_->Wait();
  push_ = nullptr;
  return status;
}

absl::StatusOr<bool> Trainer::RunStep(StepAhead* current) {
  const Batch& batch = current->batch;
  pooled_.resize(size_t{batch.samples} * batch.features.size() * options_.dim);
  pooled_gradient_.resize(pooled_.size());
  logits_.resize(batch.samples);
  // A synchronous step's lookup is answered after the push before it, so this takes no time; and a push is sent again, where its server was
  // gone, only while it is waited for.
  if (options_.training.staleness() == 0) WEIR_RETURN_IF_ERROR(WaitForPush());
  clock_.EnterWait(StepPhase::kLookupWait, !current->lookup->ready());
  clock_.BeginStep(current->step);
  WEIR_RETURN_IF_ERROR(current->lookup->Wait(absl::MakeSpan(pooled_)));
  clock_.Enter(StepPhase::kForward);
  parts_.model->Forward(batch.samples, batch.dense, pooled_, absl::MakeSpan(logits_));
  WEIR_RETURN_IF_ERROR(LogitGradient(*current));
  clock_.Enter(StepPhase::kBackward);
  parts_.reducer->Begin(current->step, batch.samples, parts_.model->gradients());
  parts_.model->BackwardToPooled(logit_gradient_, absl::MakeSpan(pooled_gradient_));
  // The guard uses the model up, so it comes after all of backward; the push leaves as early as it can.
  const bool watched = parts_.guard != nullptr && parts_.guard->Watches(current->step, batch.samples);
  if (watched) parts_.model->FinishBackward();
  WEIR_RETURN_IF_ERROR(WaitForPush());
  if (watched) {
    clock_.Enter(StepPhase::kGuard);
    WEIR_RETURN_IF_ERROR(parts_.guard->Watch({current->step, &batch, pooled_, logits_}));
  }
  clock_.Enter(StepPhase::kPushEncode);
  WEIR_ASSIGN_OR_RETURN(push_, parts_.bags->StartPush(current->lookup.get(), pooled_gradient_));
  if (!watched) {
    clock_.Enter(StepPhase::kBackward);
    parts_.model->FinishBackward();
  }
  clock_.EnterWait(StepPhase::kReduce, parts_.reducer->waits());
  WEIR_ASSIGN_OR_RETURN(const uint64_t total, parts_.reducer->Finish());
  clock_.Enter(StepPhase::kUpdate);
  if (total == 0) return false;
  parts_.optimizer->Update(parts_.model->parameters(), parts_.model->gradients(), ScalesOf(options_.training, current->step, total));
  clock_.Enter(StepPhase::kRead);
  parts_.progress->SetStepTimes(clock_.seconds(), clock_.waits());
  parts_.progress->AddStep(logits_, batch.labels);
  parts_.progress->AddCodecStats(parts_.bags->TakeStats());
  parts_.progress->AddCodecStats(parts_.reducer->TakeStats());
  parts_.progress->AddCodecStats(parts_.model->TakeStats());
  return true;
}

}  // namespace weir::worker
