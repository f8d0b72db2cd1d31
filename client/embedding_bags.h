// A model's view of the tables: pooled vectors of a batch forward, their gradients backward, under the codecs of the lookup and push edges.
#ifndef WEIR_CLIENT_EMBEDDING_BAGS_H_
#define WEIR_CLIENT_EMBEDDING_BAGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "base/state_visitor.h"
#include "client/embedding_client.h"
#include "compression/dct_layer.h"
#include "compression/frame.h"
#include "proto/data_service.pb.h"
#include "proto/job.pb.h"

namespace weir::client {

// The keys of one feature for a batch. Without `ends` every sample has exactly one key; with it sample i's bag ends at keys[ends[i]]. An
// empty bag pools to zeros and gets no gradient.
struct FeatureKeys {
  uint32_t table = 0;
  std::vector<Key> keys;
  std::vector<uint32_t> ends;
};

struct BagsOptions {
  uint32_t dim = 0;         // of every table used
  Compression compression;  // validated, all defaults set; lookup and push are read
};

// A lookup under way, and later what its push needs. Movable handle; destroyed before the EmbeddingBags that made it.
class BagsLookup {
 public:
  virtual ~BagsLookup() = default;
  // Waits for the replies and writes the pooled vectors: pooled[(sample * features + feature) * dim, +dim]. Call once.
  virtual absl::Status Wait(absl::Span<float> pooled) = 0;
  // Whether the replies are there.
  virtual bool ready() const = 0;
};

// A push under way.
class BagsPush {
 public:
  virtual ~BagsPush() = default;
  // Waits until every server has acknowledged; only then what was sent leaves the residuals. After an error all of it stays there, also
  // what some servers have applied: their step is done, that of the others never will be, so training must end. Call once.
  virtual absl::Status Wait() = 0;
  virtual bool ready() const = 0;
};

// What a codec did and what travelled since it was asked last, for each table.
struct CodecStats {
  std::string edge;  // "lookup" or "push"
  std::string name;  // table; "pooled" in sample scope, "guard" for probes
  compression::DctStats stats = {};
  uint64_t key_bytes = 0;              // keys, numbers of held rows, bags
  compression::FrameBytes bytes = {};  // of frames, both directions
  double seconds = 0;                  // spent encoding and decoding

  // Counts, bytes and seconds add up; thresholds and norms are those of the later one.
  void Add(const CodecStats& later);
  bool empty() const { return stats.entries == 0 && key_bytes + bytes.header == 0; }
};

// One thread at a time.
class EmbeddingBags {
 public:
  // INVALID_ARGUMENT: a compression that this client cannot do.
  static absl::StatusOr<std::unique_ptr<EmbeddingBags>> Create(Client* client, BagsOptions options);
  virtual ~EmbeddingBags() = default;

  // Sends the lookup of a batch and returns at once. `samples` may be 0. Purpose TRAIN: the server answers when its staleness bound holds.
  virtual absl::StatusOr<std::unique_ptr<BagsLookup>> StartLookup(int64_t step, LookupRequest::Purpose purpose, uint32_t samples,
                                                                  absl::Span<const FeatureKeys> features) = 0;

  // Sends the gradients of what `lookup` answered (same shape as pooled; sums over samples, not means), also to servers that own none of
  // its keys. At most one push is under way: wait for it before the next. The lookup may be destroyed after the push's Wait.
  virtual absl::StatusOr<std::unique_ptr<BagsPush>> StartPush(BagsLookup* lookup, absl::Span<const float> gradient) = 0;

  // For a guard of quality (worker/quality_guard.h), on edges that select by sparsity: the lookup in change scope, the push with dct.

  // From the next lookup, or push, on: `factor`, at least 1, times as dense as the settings say, at most whole. No effect on other methods.
  virtual void SetLookupDensityFactor(double factor) { static_cast<void>(factor); }
  virtual void SetPushDensityFactor(double factor) { static_cast<void>(factor); }

  // Rows as they are at the servers, and as they would be if all that this worker holds back of their gradients arrived in this step.
  struct ProbeRequest {
    int64_t step = 0;
    uint32_t samples = 0;
    uint64_t step_samples = 0;  // of all workers in a step like this
    absl::Span<const FeatureKeys> features;
  };
  struct ProbedRows {
    std::vector<float> pooled;   // as BagsLookup::Wait
    std::vector<float> what_if;  // likewise; empty: nothing is held back
  };
  // Looks them up and waits. No push may be under way. UNIMPLEMENTED in sample scope.
  virtual absl::StatusOr<ProbedRows> Probe(const ProbeRequest& request) {
    static_cast<void>(request);
    return absl::UnimplementedError("only rows can be probed, and sample scope has none");
  }

  // The client's servers are others from now on, or own other shards. What is held back stays; rows that the worker holds are given up.
  // REQUIRES: no lookup and no push is under way.
  virtual void FollowServers() = 0;

  // What is remembered from step to step (base/state_visitor.h). In change scope the worker gives up the rows that it holds, so that a job
  // that goes on and one that is restored ask for the same. REQUIRES: no lookup and no push is under way.
  virtual void VisitState(StateVisitor* state) { static_cast<void>(state); }

  virtual std::vector<CodecStats> TakeStats() = 0;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_EMBEDDING_BAGS_H_
