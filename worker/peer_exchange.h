// The owner's side of the sparse reduction: gathers the contributions of all workers to this worker's slice, adds them, and answers
// everybody.
//
// An answer has at most W / (W - 1) times as many entries of a layer as the largest contribution to it, with W workers: so from all its
// peers a worker gets no more entries than it keeps, whatever W is; else answers would grow with W, since workers keep different entries.
// Beyond that the largest sums go, and the owner holds the rest back for the next steps, as a worker does. Two workers are never affected,
// nor are layers that workers send whole: there an entry that is missing is a zero, and none waits.
#ifndef WEIR_WORKER_PEER_EXCHANGE_H_
#define WEIR_WORKER_PEER_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "base/state_visitor.h"
#include "compression/frame.h"
#include "proto/peer_service.grpc.pb.h"

namespace weir::worker {

// A layer's part in a slice.
struct ExchangePart {
  uint32_t size = 0;  // entries
  compression::ValueType values = compression::ValueType::kFp32;
  double density = 0;  // share of the entries that workers send; at 1 they drop nothing, nor does the owner
};

struct ExchangeOptions {
  uint64_t job_hash = 0;
  uint32_t rank = 0;
  uint32_t workers = 1;
  bool pack = false;                // answers travel packed where that is shorter
  std::vector<ExchangePart> parts;  // of this worker's slice
};

// Thread-safe. Registered with a GrpcEndpoint before the job is known; calls before Configure answer UNAVAILABLE.
class PeerExchange final : public PeerService::CallbackService {
 public:
  // Called once, on an unspecified thread: the reply to everybody, or why there is none.
  using Done = std::function<void(const absl::Status&, const ReduceReply&)>;

  void Configure(ExchangeOptions options);
  // Workers send `factor` times the share of entries that the options say, from the step on that is being gathered: a layer that so becomes
  // whole is so for its owner, too.
  void SetDensityFactor(double factor);

  // A contribution to this worker's slice, its own or a peer's. Contributions are added in rank order, so that every run gives the same
  // bits; what rounding loses of sums that do not travel as fp32, and what does not fit an answer, is kept here and added to the next
  // step's. A repeated (rank, step)
  // replaces nothing and gets the same answer.
  void Contribute(const ReduceRequest& request, Done done);

  // Waits for the sum of `step`. DEADLINE_EXCEEDED names the ranks that are missing.
  absl::Status WaitForSum(int64_t step, absl::Time deadline, ReduceReply* reply);

  // The step that is gathered, and what is held back. offsets[i]: where part i begins in the flat gradient of `entries`, which other
  // numbers of workers cut elsewhere. REQUIRES: between steps.
  void VisitState(StateVisitor* state, absl::Span<const uint32_t> offsets, uint32_t entries);

  // Answers all that wait, and all that come, with `status`. Before the endpoint shuts down.
  void Abandon(const absl::Status& status);

  grpc::ServerUnaryReactor* Reduce(grpc::CallbackServerContext* context, const ReduceRequest* request, ReduceReply* reply) override;

 private:
  struct Contribution {
    bool present = false;
    uint32_t samples = 0;
    std::vector<compression::SparseEntries> parts;
  };
  using SparseEntries = compression::SparseEntries;
  using Waiters = std::vector<Done>;

  absl::Status Validate(const ReduceRequest& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Decode(const ReduceRequest& request, Contribution* contribution) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Sum() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of one layer part: adds the contributions, and takes what goes into the answer, as its receivers will read it.
  absl::Status SumPart(size_t part, SparseEntries* answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeLargest(size_t part, uint32_t limit, SparseEntries* answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes of `values` what its receivers will read, and of their `residual` the rest.
  absl::Status Round(compression::ValueType type, const std::vector<uint32_t>& positions, std::vector<float>* values,
                     std::vector<float>* residual) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string MissingRanks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  CondVar changed_;
  ExchangeOptions options_ ABSL_GUARDED_BY(mu_);
  absl::Status state_ ABSL_GUARDED_BY(mu_) = absl::UnavailableError("this worker is still starting");
  double density_factor_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t step_ ABSL_GUARDED_BY(mu_) = 0;  // the step that is being gathered
  std::vector<Contribution> contributions_ ABSL_GUARDED_BY(mu_);
  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  ReduceReply last_reply_ ABSL_GUARDED_BY(mu_);                     // of step_ - 1
  std::vector<std::vector<float>> sums_ ABSL_GUARDED_BY(mu_);       // by layer part; zero between steps
  std::vector<std::vector<float>> residuals_ ABSL_GUARDED_BY(mu_);  // by layer part
  std::vector<uint32_t> limits_ ABSL_GUARDED_BY(mu_);               // by layer part: entries of the last answer that were allowed
  std::vector<bool> held_back_ ABSL_GUARDED_BY(mu_);                // by layer part: entries, not roundings, are left in the residual
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_PEER_EXCHANGE_H_
