#include "client/sample_bags.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/bag_batch.h"
#include "client/pending_calls.h"
#include "client/push_encoder.h"
#include "client/row_calls.h"
#include "client/sample_parts.h"
#include "compression/frame.h"

namespace weir::client {
namespace {

// Of keys, and of which of them make up each bag.
uint64_t KeyBytes(const LookupRequest& request) {
  uint64_t bytes = 0;
  for (const TableKeys& keys : request.tables()) bytes += keys.keys().size();
  for (const FeatureBags& bags : request.bags()) bytes += bags.counts().size() + bags.indices().size();
  return bytes;
}

class SampleBags;

class SampleLookup : public BagsLookup {
 public:
  SampleLookup(SampleBags* bags, int64_t step, LookupRequest::Purpose purpose);
  absl::Status Wait(absl::Span<float> pooled) override;
  bool ready() const override { return calls_.ready(); }

 private:
  friend class SampleBags;
  friend class SamplePush;

  absl::Status Scatter(size_t part, const std::string& frame, absl::Span<float> pooled);

  SampleBags* const bags_;
  const int64_t step_;
  const LookupRequest::Purpose purpose_;
  BagBatch batch_;
  std::vector<SamplePart> parts_;
  std::vector<std::vector<uint32_t>> masks_;  // of each part: what its reply kept, as positions in the part's bags x dim
  LookupCalls calls_;
};

class SamplePush : public BagsPush {
 public:
  SamplePush(SampleBags* bags, const SampleLookup* lookup);
  absl::Status Wait() override;
  bool ready() const override { return calls_.ready(); }

 private:
  friend class SampleBags;

  bool SendRows(size_t part, PushRequest* request) const;

  SampleBags* const bags_;
  const SampleLookup* const lookup_;
  std::vector<std::vector<float>> values_;  // of each part, in the order of its mask
  PushCalls calls_;
};

class SampleBags : public EmbeddingBags {
 public:
  SampleBags(const ServerGroup* group, uint32_t dim, const Compression::Lookup& lookup)
      : group_(group), dim_(dim), sparsity_(lookup.sparsity()), threshold_(lookup.threshold()), entropy_(lookup.entropy()) {
    FollowServers();
  }

  absl::StatusOr<std::unique_ptr<BagsLookup>> StartLookup(int64_t step, LookupRequest::Purpose purpose, uint32_t samples,
                                                          absl::Span<const FeatureKeys> features) override;
  absl::StatusOr<std::unique_ptr<BagsPush>> StartPush(BagsLookup* lookup, absl::Span<const float> gradient) override;

  void FollowServers() override { router_ = std::make_unique<BagRouter>(group_->shard_map(), group_->tables(), dim_); }

  std::vector<CodecStats> TakeStats() override {
    std::vector<CodecStats> taken;
    for (CodecStats* stats : {&lookup_stats_, &push_stats_}) {
      if (!stats->empty()) taken.push_back(std::exchange(*stats, {stats->edge, stats->name}));
    }
    return taken;
  }

 private:
  friend class SampleLookup;
  friend class SamplePush;

  double BagBytes() const;

  const ServerGroup* const group_;
  const uint32_t dim_;
  const double sparsity_;
  const Compression::Threshold threshold_;
  const Compression::Entropy entropy_;  // of replies and pushes
  std::unique_ptr<BagRouter> router_;
  // Since TakeStats.
  CodecStats lookup_stats_ = {"lookup", "pooled"};
  CodecStats push_stats_ = {"push", "pooled"};
};

SampleLookup::SampleLookup(SampleBags* bags, int64_t step, LookupRequest::Purpose purpose)
    : bags_(bags), step_(step), purpose_(purpose), calls_(bags->group_) {}

absl::Status SampleLookup::Scatter(size_t part, const std::string& frame, absl::Span<float> pooled) {
  const uint32_t dim = bags_->dim_;
  const std::vector<uint32_t>& bags = parts_[part].bags;
  const uint32_t entries = static_cast<uint32_t>(bags.size() * dim);
  WEIR_ASSIGN_OR_RETURN(compression::SparseEntries kept, compression::DecodeSparse(frame, entries));
  for (size_t i = 0; i < kept.positions.size(); ++i) {
    const uint32_t position = kept.positions[i];
    // A bag whose keys live on several servers is the sum of what they answer.
    pooled[size_t{bags[position / dim]} * dim + position % dim] += kept.values[i];
  }
  if (purpose_ == LookupRequest::PURPOSE_TRAIN) {
    bags_->lookup_stats_.stats.entries += entries;
    bags_->lookup_stats_.stats.kept += kept.positions.size();
    bags_->lookup_stats_.stats.density_asked = 1 - bags_->sparsity_;
    bags_->lookup_stats_.bytes += compression::FrameBytesOf(frame);
  }
  masks_[part] = std::move(kept.positions);
  return absl::OkStatus();
}

absl::Status SampleLookup::Wait(absl::Span<float> pooled) {
  const size_t size = size_t{batch_.samples} * batch_.features.size() * bags_->dim_;
  if (pooled.size() != size) return absl::InvalidArgumentError(absl::StrCat(pooled.size(), " pooled values, not ", size));
  WEIR_RETURN_IF_ERROR(calls_.Wait());
  std::fill(pooled.begin(), pooled.end(), 0.0f);
  masks_.assign(parts_.size(), {});
  size_t call = 0;
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].bags.empty()) continue;
    if (absl::Status status = Scatter(part, calls_.reply(call++).pooled_frame(), pooled); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(bags_->group_->NameOf(parts_[part].call.server), ": pooled rows: ", status.message()));
    }
  }
  return absl::OkStatus();
}

SamplePush::SamplePush(SampleBags* bags, const SampleLookup* lookup)
    : bags_(bags), lookup_(lookup), values_(lookup->parts_.size()), calls_(bags->group_) {}

// Without the ticket the server knows neither bags nor mask: it gets gradients of rows, which say the same.
bool SamplePush::SendRows(size_t part, PushRequest* request) const {
  const SamplePart& of = lookup_->parts_[part];
  const std::vector<std::vector<float>> gradients = RowGradientsOf(lookup_->batch_, of, bags_->dim_, lookup_->masks_[part], values_[part]);
  for (size_t i = 0; i < of.tables.size(); ++i) {
    const TableBatch& table = lookup_->batch_.tables[of.tables[i].batch];
    std::vector<Key> keys;
    for (const uint32_t slot : of.tables[i].slots) keys.push_back(table.keys.keys[slot]);
    TableGradients* const sent = request->add_tables();
    EncodeKeys(table.table, keys, TableKeys::CODING_SORTED_DELTA, sent->mutable_keys());
    // Sums of finite numbers may still be too large: then the first failure stands.
    if (!compression::EncodeDense(gradients[i], compression::ValueType::kFp32, sent->mutable_frame()).ok()) return false;
  }
  request->set_ticket(false);
  request->clear_pooled_frame();
  return true;
}

absl::Status SamplePush::Wait() {
  WEIR_RETURN_IF_ERROR(calls_.Wait([this](size_t call, const absl::Status& failure, PushRequest* request) {
    return absl::IsFailedPrecondition(failure) && request->ticket() && SendRows(call, request);
  }));
  return ReportRefused(*bags_->group_, lookup_->step_, calls_);
}

// Kept values and the mask, of which a bitmap is the most that is chosen at high sparsity; at low sparsity the frame is dense.
double SampleBags::BagBytes() const {
  constexpr double kMaskBytes = 1.0 / 8;
  return dim_ * std::min<double>(sizeof(float), sizeof(float) * (1 - sparsity_) + kMaskBytes);
}

absl::StatusOr<std::unique_ptr<BagsLookup>> SampleBags::StartLookup(int64_t step, LookupRequest::Purpose purpose, uint32_t samples,
                                                                    absl::Span<const FeatureKeys> features) {
  auto lookup = std::make_unique<SampleLookup>(this, step, purpose);
  WEIR_RETURN_IF_ERROR(router_->Route(samples, features, KeysSent::kUnique, &lookup->batch_));
  const SampleSplit split = {group_->size(), BagBytes(), group_->options().call_bytes_target};
  WEIR_ASSIGN_OR_RETURN(lookup->parts_, SplitSamples(lookup->batch_, split));
  for (SamplePart& part : lookup->parts_) {
    LookupRequest request = LookupOf(*group_, step, purpose, part.call);
    request.set_reply(LookupRequest::REPLY_POOLED_DCT);
    request.set_sparsity(sparsity_);
    request.set_threshold(threshold_);
    request.set_entropy(entropy_);
    FillPart(lookup->batch_, &part, &request);
    if (purpose == LookupRequest::PURPOSE_TRAIN) lookup_stats_.key_bytes += KeyBytes(request);
    if (!part.bags.empty()) lookup->calls_.Start(part.call.server, std::move(request));
  }
  return lookup;
}

absl::StatusOr<std::unique_ptr<BagsPush>> SampleBags::StartPush(BagsLookup* lookup, absl::Span<const float> gradient) {
  const SampleLookup* const of = static_cast<SampleLookup*>(lookup);
  const size_t features = of->batch_.features.size();
  const size_t size = of->batch_.samples * features * dim_;
  if (gradient.size() != size) return absl::InvalidArgumentError(absl::StrCat(gradient.size(), " gradients, not ", size));
  if (of->purpose_ != LookupRequest::PURPOSE_TRAIN || (of->masks_.empty() && size > 0)) {
    return absl::InvalidArgumentError("a push needs a lookup for training that was waited for");
  }
  auto push = std::make_unique<SamplePush>(this, of);
  std::vector<PushRequest> requests;
  for (size_t i = 0; i < of->parts_.size(); ++i) {
    const SamplePart& part = of->parts_[i];
    PushRequest& request = requests.emplace_back(PushOf(*group_, of->step_, of->batch_.samples, part.call));
    if (part.bags.empty()) continue;
    std::vector<float>& values = push->values_[i];
    values.reserve(of->masks_[i].size());
    for (const uint32_t position : of->masks_[i]) values.push_back(gradient[size_t{part.bags[position / dim_]} * dim_ + position % dim_]);
    request.set_ticket(true);
    absl::Status status = compression::EncodeImplied(values, compression::ValueType::kFp32, request.mutable_pooled_frame());
    if (entropy_ == Compression::ENTROPY_HUFFMAN) compression::PackFrame(request.mutable_pooled_frame());
    push_stats_.bytes += compression::FrameBytesOf(request.pooled_frame());
    if (status.ok()) continue;
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    const uint32_t bag = bad == values.end() ? 0 : part.bags[of->masks_[i][bad - values.begin()] / dim_];
    return absl::Status(status.code(),
                        absl::StrCat("gradient of sample ", bag / features, ", feature ", bag % features, ": ", status.message()));
  }
  // Only now: a gradient that cannot be sent leaves no part of the step on any server.
  for (size_t i = 0; i < requests.size(); ++i) push->calls_.Start(of->parts_[i].call.server, std::move(requests[i]));
  return push;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddingBags>> CreateSampleBags(const ServerGroup* group, const BagsOptions& options) {
  const double sparsity = options.compression.lookup().sparsity();
  if (!(sparsity >= 0 && sparsity < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("compression.lookup.sparsity is ", sparsity, ", not in [0, 1)"));
  }
  const Compression::Method push = options.compression.push().method();
  if (push != Compression::METHOD_UNSPECIFIED && push != Compression::METHOD_NONE) {
    return absl::InvalidArgumentError(
        "compression.push.method has no effect with compression.lookup.method dct: a push sends what the "
        "lookup kept");
  }
  std::unique_ptr<EmbeddingBags> bags = std::make_unique<SampleBags>(group, options.dim, options.compression.lookup());
  return bags;
}

}  // namespace weir::client
