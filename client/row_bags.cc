#include "client/row_bags.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/bag_batch.h"
#include "client/call_splitter.h"
#include "client/held_rows.h"
#include "client/lookup_policy.h"
#include "client/pending_calls.h"
#include "client/push_encoder.h"
#include "client/row_calls.h"
#include "client/row_pooling.h"
#include "compression/frame.h"

namespace weir::client {
namespace {

// What one step needs from its lookup to the end of its push. Kept and reused: a step's vectors are as large as those of the step before.
struct StepMemory {
  BagBatch batch;
  std::vector<CallPart> parts;
  std::vector<HeldTableBatch> held;  // of a lookup that asks for changes
  std::vector<RowReply> replies;     // of each table
};

// What is the same for all tables.
struct RowMethod {
  KeysSent sent = KeysSent::kUnique;
  PushKeys push_keys = PushKeys::kTicket;
  TableKeys::Coding coding = TableKeys::CODING_SORTED_DELTA;
  size_t key_bytes = 0;  // of one key in a call, with its row or gradient
  Compression::Entropy lookup_entropy = Compression::ENTROPY_NONE;
  bool pack_pushes = false;
};

class RowBags;

class RowLookup : public BagsLookup {
 public:
  RowLookup(RowBags* bags, std::unique_ptr<StepMemory> memory, int64_t step, LookupRequest::Purpose purpose);
  ~RowLookup() override;
  absl::Status Wait(absl::Span<float> pooled) override;
  bool ready() const override { return calls_.ready(); }

 private:
  friend class RowBags;
  RowStep View() const;

  RowBags* const bags_;
  std::unique_ptr<StepMemory> memory_;
  const int64_t step_;
  const LookupRequest::Purpose purpose_;
  std::vector<CodecStats> stats_;  // of each table of the step
  LookupCalls calls_;
};

class RowPush : public BagsPush {
 public:
  RowPush(RowBags* bags, const RowStep& step);
  ~RowPush() override;
  absl::Status Wait() override;
  bool ready() const override { return calls_.ready(); }

 private:
  friend class RowBags;

  RowBags* const bags_;
  const RowStep step_;             // points into the lookup
  std::vector<CodecStats> stats_;  // of each table of the step
  PushCalls calls_;
  bool settled_ = false;
};

class RowBags : public EmbeddingBags {
 public:
  // `held_rows_max`: of each table on each server, where `policy` has rows held.
  RowBags(const ServerGroup* group, uint32_t dim, RowMethod method, LookupPolicy policy, std::unique_ptr<PushEncoder> encoder,
          uint64_t held_rows_max)
      : group_(group), dim_(dim), method_(method), policy_(std::move(policy)), encoder_(std::move(encoder)), held_rows_max_(held_rows_max) {
    FollowServers();
    for (const TableInfo& table : group->tables()) {
      lookup_stats_.push_back({"lookup", table.name});
      push_stats_.push_back({"push", table.name});
    }
  }

  absl::StatusOr<std::unique_ptr<BagsLookup>> StartLookup(int64_t step, LookupRequest::Purpose purpose, uint32_t samples,
                                                          absl::Span<const FeatureKeys> features) override;
  absl::StatusOr<std::unique_ptr<BagsPush>> StartPush(BagsLookup* lookup, absl::Span<const float> gradient) override;
  void SetLookupDensityFactor(double factor) override { policy_.SetDensityFactor(factor); }
  void SetPushDensityFactor(double factor) override { encoder_->SetDensityFactor(factor); }
  absl::StatusOr<ProbedRows> Probe(const ProbeRequest& request) override;
  void FollowServers() override;
  void VisitState(StateVisitor* state) override;
  std::vector<CodecStats> TakeStats() override;

 private:
  friend class RowLookup;
  friend class RowPush;

  bool ForChanges(LookupRequest::Purpose purpose) const { return held_ != nullptr && purpose == LookupRequest::PURPOSE_TRAIN; }
  bool GatherHeldBack(const BagBatch& batch);
  absl::Status EncodeGradients(RowPush* push, const BagBatch& batch, std::vector<std::string>* frames);

  const ServerGroup* const group_;
  const uint32_t dim_;
  const RowMethod method_;
  LookupPolicy policy_;
  const std::unique_ptr<PushEncoder> encoder_;
  const uint64_t held_rows_max_;
  std::unique_ptr<HeldTables> held_;  // null: the policy has none held
  std::unique_ptr<BagRouter> router_;
  // Since TakeStats: of each table, and of probes.
  std::vector<CodecStats> lookup_stats_, push_stats_;
  CodecStats probe_stats_ = {"lookup", "guard"};
  std::vector<std::unique_ptr<StepMemory>> spare_;
  std::vector<float> rows_;  // of the lookup or push that is being worked on
  std::vector<RowCounts> counts_;
};

RowLookup::RowLookup(RowBags* bags, std::unique_ptr<StepMemory> memory, int64_t step, LookupRequest::Purpose purpose)
    : bags_(bags), memory_(std::move(memory)), step_(step), purpose_(purpose), calls_(bags->group_) {}

RowLookup::~RowLookup() { bags_->spare_.push_back(std::move(memory_)); }

RowStep RowLookup::View() const {
  const BagBatch& batch = memory_->batch;
  return {step_, batch.samples, bags_->dim_, bags_->method_.coding, batch.tables, memory_->parts, memory_->held};
}

absl::Status RowLookup::Wait(absl::Span<float> pooled) {
  const BagBatch& batch = memory_->batch;
  const size_t size = size_t{batch.samples} * batch.features.size() * bags_->dim_;
  if (pooled.size() != size) return absl::InvalidArgumentError(absl::StrCat(pooled.size(), " pooled values, not ", size));
  WEIR_RETURN_IF_ERROR(calls_.Wait());
  bags_->rows_.resize(batch.rows * bags_->dim_);
  bags_->counts_.assign(batch.tables.size(), RowCounts());
  WEIR_RETURN_IF_ERROR(
      ReadRows(*bags_->group_, View(), calls_, absl::MakeSpan(bags_->rows_), absl::MakeSpan(bags_->counts_), absl::MakeSpan(stats_)));
  for (size_t i = 0; i < stats_.size() && purpose_ == LookupRequest::PURPOSE_TRAIN; ++i) {
    const RowReply& reply = memory_->replies[i];
    const uint32_t table = batch.tables[i].table;
    if (stats_[i].stats.entries > 0) stats_[i].stats.density_asked = 1 - reply.sparsity;
    bags_->lookup_stats_[table].Add(stats_[i]);
    if (reply.count_distinct) bags_->policy_.Observe(table, bags_->counts_[i].distinct, bags_->counts_[i].distinct_sent);
  }
  PoolRows(batch, bags_->dim_, bags_->rows_, pooled);
  return absl::OkStatus();
}

RowPush::RowPush(RowBags* bags, const RowStep& step) : bags_(bags), step_(step), stats_(step.tables.size()), calls_(bags->group_) {}

RowPush::~RowPush() {
  if (!settled_) bags_->encoder_->Rollback();
}

absl::Status RowPush::Wait() {
  absl::Status status = WaitForRowPushes(step_, &calls_);
  settled_ = true;
  if (!status.ok()) {
    bags_->encoder_->Rollback();
    return status;
  }
  bags_->encoder_->Commit();
  for (size_t i = 0; i < stats_.size(); ++i) bags_->push_stats_[step_.tables[i].table].Add(stats_[i]);
  return ReportRefused(*bags_->group_, step_.step, calls_);
}

void RowBags::FollowServers() {
  router_ = std::make_unique<BagRouter>(group_->shard_map(), group_->tables(), dim_);
  if (!policy_.holds_rows()) return;
  const uint32_t generation = held_ == nullptr ? 1 : held_->latest_generation() + 1;
  held_ = std::make_unique<HeldTables>(group_->tables().size(), group_->size(), dim_, held_rows_max_, generation);
}

void RowBags::VisitState(StateVisitor* state) {
  {
    const StateVisitor::Scope scope(state, "lookup");
    policy_.VisitState(state);
  }
  const StateVisitor::Scope scope(state, "push");
  encoder_->VisitState(state);
  if (held_ != nullptr) held_->BeginAnew();
}

std::vector<CodecStats> RowBags::TakeStats() {
  std::vector<CodecStats> taken;
  const auto take = [&taken](CodecStats* sum) {
    if (!sum->empty()) taken.push_back(std::exchange(*sum, {sum->edge, sum->name}));
  };
  for (size_t table = 0; table < push_stats_.size(); ++table) {
    push_stats_[table].stats = encoder_->TakeStats(static_cast<uint32_t>(table));
    take(&push_stats_[table]);
    take(&lookup_stats_[table]);
  }
  take(&probe_stats_);
  return taken;
}

absl::StatusOr<std::unique_ptr<BagsLookup>> RowBags::StartLookup(int64_t step, LookupRequest::Purpose purpose, uint32_t samples,
                                                                 absl::Span<const FeatureKeys> features) {
  std::unique_ptr<StepMemory> memory;
  if (spare_.empty()) {
    memory = std::make_unique<StepMemory>();
  } else {
    memory = std::move(spare_.back());
    spare_.pop_back();
  }
  auto lookup = std::make_unique<RowLookup>(this, std::move(memory), step, purpose);
  WEIR_RETURN_IF_ERROR(router_->Route(samples, features, method_.sent, &lookup->memory_->batch));
  lookup->memory_->held.clear();
  if (ForChanges(purpose)) {
    held_->Place([this](uint32_t table) { return policy_.holds_rows(table); }, &lookup->memory_->batch, &lookup->memory_->held);
  }
  const SplitOptions split = {group_->size(), method_.key_bytes, group_->options().call_bytes_target};
  WEIR_ASSIGN_OR_RETURN(lookup->memory_->parts, SplitCalls(lookup->memory_->batch.tables, split));
  RowAnswer answer;
  answer.purpose = purpose;
  // What is evaluated is the model, not what training saw of it.
  std::vector<RowReply>& replies = lookup->memory_->replies;
  replies.clear();
  if (purpose == LookupRequest::PURPOSE_TRAIN) {
    for (const TableBatch& table : lookup->memory_->batch.tables) replies.push_back(policy_.ReplyOf(table.table, step));
    answer.entropy = method_.lookup_entropy;
  }
  answer.replies = replies;
  lookup->stats_.resize(lookup->memory_->batch.tables.size());
  WEIR_RETURN_IF_ERROR(StartRowLookups(*group_, lookup->View(), answer, &lookup->calls_, absl::MakeSpan(lookup->stats_)));
  return lookup;
}

// Into rows_; false when there is nothing.
bool RowBags::GatherHeldBack(const BagBatch& batch) {
  rows_.assign(batch.rows * dim_, 0.0f);
  bool any = false;
  for (const TableBatch& table : batch.tables) {
    for (size_t slot = 0; slot < table.keys.keys.size(); ++slot) {
      const absl::Span<const float> held_back = encoder_->residual(table.table, table.keys.keys[slot]);
      std::copy(held_back.begin(), held_back.end(), rows_.begin() + (table.first_row + slot) * dim_);
      any = any || !held_back.empty();
    }
  }
  return any;
}

absl::StatusOr<EmbeddingBags::ProbedRows> RowBags::Probe(const ProbeRequest& request) {
  ProbedRows probed;
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<BagsLookup> lookup,
                        StartLookup(request.step, LookupRequest::PURPOSE_EVALUATE, request.samples, request.features));
  probed.pooled.resize(size_t{request.samples} * request.features.size() * dim_);
  WEIR_RETURN_IF_ERROR(lookup->Wait(absl::MakeSpan(probed.pooled)));
  RowLookup& rows = static_cast<RowLookup&>(*lookup);
  const absl::Cleanup count = [this, &rows] {
    for (const CodecStats& stats : rows.stats_) probe_stats_.Add(stats);
  };
  const BagBatch& batch = rows.memory_->batch;
  if (!GatherHeldBack(batch)) return probed;

  RowAnswer answer;  // of an evaluation, in fp32
  answer.what_if_gradients = rows_;
  answer.what_if_samples = request.step_samples;
  LookupCalls calls(group_);
  WEIR_RETURN_IF_ERROR(StartRowLookups(*group_, rows.View(), answer, &calls, absl::MakeSpan(rows.stats_)));
  WEIR_RETURN_IF_ERROR(calls.Wait());
  WEIR_RETURN_IF_ERROR(ReadRows(*group_, rows.View(), calls, absl::MakeSpan(rows_), {}, absl::MakeSpan(rows.stats_)));
  probed.what_if.resize(probed.pooled.size());
  PoolRows(batch, dim_, rows_, absl::MakeSpan(probed.what_if));
  return probed;
}

// Frames in the order of the parts' runs; the encoder takes one table after the other.
absl::Status RowBags::EncodeGradients(RowPush* push, const BagBatch& batch, std::vector<std::string>* frames) {
  const RowStep& step = push->step_;
  std::vector<std::vector<uint32_t>> slice_ends(step.tables.size());
  std::vector<std::vector<size_t>> frame_of_slice(step.tables.size());
  size_t runs = 0;
  for (const CallPart& part : step.parts) {
    for (const KeyRun& run : part.runs) {
      slice_ends[run.batch].push_back(run.end);
      frame_of_slice[run.batch].push_back(runs++);
    }
  }
  frames->resize(runs);
  std::vector<std::string> slices;
  for (size_t i = 0; i < step.tables.size(); ++i) {
    const TableBatch& table = step.tables[i];
    if (table.keys.keys.empty()) continue;
    const absl::Span<const float> values = absl::MakeConstSpan(rows_).subspan(table.first_row * dim_, table.keys.keys.size() * dim_);
    slices.clear();
    const absl::Time begin = absl::Now();
    WEIR_RETURN_IF_ERROR(encoder_->Encode({table.table, table.keys.keys, values, slice_ends[i]}, &slices));
    for (size_t slice = 0; method_.pack_pushes && slice < slices.size(); ++slice) compression::PackFrame(&slices[slice]);
    push->stats_[i].seconds += absl::ToDoubleSeconds(absl::Now() - begin);
    for (size_t slice = 0; slice < slices.size(); ++slice) (*frames)[frame_of_slice[i][slice]] = std::move(slices[slice]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BagsPush>> RowBags::StartPush(BagsLookup* lookup, absl::Span<const float> gradient) {
  RowLookup* const of = static_cast<RowLookup*>(lookup);
  const BagBatch& batch = of->memory_->batch;
  const size_t size = size_t{batch.samples} * batch.features.size() * dim_;
  if (gradient.size() != size) return absl::InvalidArgumentError(absl::StrCat(gradient.size(), " gradients, not ", size));
  if (of->purpose_ != LookupRequest::PURPOSE_TRAIN) return absl::InvalidArgumentError("a push needs a lookup for training");
  rows_.resize(batch.rows * dim_);
  SumGradients(batch, dim_, gradient, absl::MakeSpan(rows_));
  auto push = std::make_unique<RowPush>(this, of->View());
  std::vector<std::string> frames;
  WEIR_RETURN_IF_ERROR(EncodeGradients(push.get(), batch, &frames));
  StartRowPushes(*group_, push->step_, method_.push_keys, std::move(frames), &push->calls_, absl::MakeSpan(push->stats_));
  return push;
}

RowMethod MethodFrom(const Compression& compression, uint32_t dim) {
  RowMethod method;
  method.key_bytes = sizeof(Key) + dim * sizeof(float);
  method.lookup_entropy = compression.lookup().entropy();
  if (method.lookup_entropy == Compression::ENTROPY_HUFFMAN) method.coding = TableKeys::CODING_SORTED_RICE;
  method.pack_pushes = compression.push().entropy() == Compression::ENTROPY_HUFFMAN;
  if (compression.lookup().method() == Compression::METHOD_PLAIN) {
    method.sent = KeysSent::kEveryOccurrence;
    method.push_keys = PushKeys::kSend;
    method.coding = TableKeys::CODING_RAW;
  }
  return method;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddingBags>> CreateRowBags(const ServerGroup* group, const BagsOptions& options) {
  const Compression& compression = options.compression;
  if ((compression.lookup().method() == Compression::METHOD_PLAIN) != (compression.push().method() == Compression::METHOD_PLAIN)) {
    return absl::InvalidArgumentError("compression method plain sends every key of every sample: set it on lookup and push together");
  }
  WEIR_ASSIGN_OR_RETURN(LookupPolicy policy, LookupPolicy::Create(group->tables(), compression.lookup()));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<PushEncoder> encoder, PushEncoder::Create(group->tables(), options.dim, compression.push()));
  std::unique_ptr<EmbeddingBags> bags = std::make_unique<RowBags>(group, options.dim, MethodFrom(compression, options.dim),
                                                                  std::move(policy), std::move(encoder), compression.lookup().cache_rows());
  return bags;
}

}  // namespace weir::client
