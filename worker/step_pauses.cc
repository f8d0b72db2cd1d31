#include "worker/step_pauses.h"

#include <string>
#include <vector>

#include "base/status_macros.h"
#include "client/server_group.h"
#include "proto/checkpoint_schedule.h"

namespace weir::worker {
namespace {

// How often the coordinator is asked what it wants to stop for.
constexpr int64_t kAskEvery = 16;  // steps

class AgreedPauses final : public StepPauses {
 public:
  AgreedPauses(ControlClient* control, client::Client* client, client::EmbeddingBags* bags, CheckpointSchedule schedule)
      : control_(control), client_(client), bags_(bags), schedule_(schedule) {}

  absl::StatusOr<Pause> Before(int64_t step) override {
    Pause pause;
    if (step == 0) return pause;
    pause.checkpoint = schedule_.steps > 0 && step % schedule_.steps == 0;
    if (step % kAskEvery != 0) return pause;
    WEIR_ASSIGN_OR_RETURN(const PauseDueReply due, control_->PauseDue(step));
    pause.checkpoint = pause.checkpoint || due.checkpoint();
    pause.resize = due.resize();
    return pause;
  }

  absl::StatusOr<bool> FollowShards(int64_t step) override {
    WEIR_ASSIGN_OR_RETURN(const AwaitShardMapReply reply, control_->AwaitShardMap(step));
    const std::vector<std::string> servers(reply.servers().begin(), reply.servers().end());
    WEIR_RETURN_IF_ERROR(client_->servers().Follow(reply.map(), servers));
    bags_->FollowServers();
    return reply.checkpoint();
  }

 private:
  ControlClient* const control_;
  client::Client* const client_;
  client::EmbeddingBags* const bags_;
  const CheckpointSchedule schedule_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepPauses>> StepPauses::Create(ControlClient* control, client::Client* client,
                                                               client::EmbeddingBags* bags) {
  CheckpointSchedule schedule;
  if (!control->checkpoint_dir().empty()) {
    WEIR_ASSIGN_OR_RETURN(schedule, ParseCheckpointSchedule(control->job().checkpoint().every()));
  }
  return std::make_unique<AgreedPauses>(control, client, bags, schedule);
}

}  // namespace weir::worker
