#include "client/lookup_policy.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/bounded_rows.h"
#include "compression/dct_layer.h"
#include "proto/codec_overrides.h"

namespace weir::client {
namespace {

// A table's class is renewed from the last steps that were counted: every 64 steps.
constexpr uint32_t kObservationsPerClass = 4;
constexpr int64_t kCountEvery = 16;  // steps

}  // namespace

absl::StatusOr<LookupPolicy::TablePolicy> LookupPolicy::PolicyOf(const Compression::Lookup& settings) {
  TablePolicy policy;
  switch (settings.method()) {
    case Compression::METHOD_PLAIN:
    case Compression::METHOD_NONE:
      return policy;
    case Compression::METHOD_FP16:
      policy.reply.reply = LookupRequest::REPLY_FP16;
      return policy;
    case Compression::METHOD_BF16:
      policy.reply.reply = LookupRequest::REPLY_BF16;
      return policy;
    case Compression::METHOD_INT8_ROWWISE:
      policy.reply.reply = LookupRequest::REPLY_INT8;
      return policy;
    case Compression::METHOD_ERROR_BOUNDED:
      policy.reply.reply = LookupRequest::REPLY_ERROR_BOUNDED;
      policy.reply.error_bound = settings.error_bound();
      policy.error_bound_start = std::max(settings.error_bound_start(), 1.0);
      policy.error_bound_steps = settings.error_bound_steps();
      policy.by_class = settings.classes() == Compression::CLASSES_MEASURED;
      return policy;
    case Compression::METHOD_DCT:
      policy.reply.reply = LookupRequest::REPLY_CHANGES;
      policy.reply.sparsity = settings.sparsity();
      policy.reply.values = settings.values();
      policy.warmup_steps = settings.warmup_steps();
      return policy;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("compression.lookup.method ", Compression::Method_Name(settings.method()), " is not one that sends rows"));
  }
}

absl::StatusOr<LookupPolicy> LookupPolicy::Create(absl::Span<const TableInfo> tables, const Compression::Lookup& settings) {
  LookupPolicy policy;
  for (const TableInfo& table : tables) {
    WEIR_ASSIGN_OR_RETURN(const TablePolicy of_table, PolicyOf(LookupOfTable(settings, table.name)));
    policy.tables_.push_back(of_table);
  }
  for (const Compression::TableLookup& own : settings.tables()) {
    const auto named = [&own](const TableInfo& table) { return table.name == own.name(); };
    if (std::none_of(tables.begin(), tables.end(), named)) {
      return absl::InvalidArgumentError(absl::StrCat("compression.lookup.tables: the servers have no table ", own.name()));
    }
  }
  return policy;
}

bool LookupPolicy::holds_rows() const {
  return std::any_of(tables_.begin(), tables_.end(),
                     [](const TablePolicy& table) { return table.reply.reply == LookupRequest::REPLY_CHANGES; });
}

RowReply LookupPolicy::ReplyOf(uint32_t table, int64_t step) const {
  const TablePolicy& policy = tables_[table];
  const auto steps = static_cast<uint64_t>(std::max<int64_t>(step, 0));
  RowReply reply = policy.reply;
  if (reply.reply == LookupRequest::REPLY_CHANGES) {
    // Young rows move in all directions, so the density begins at 1 and falls by equal ratios.
    double sparsity = reply.sparsity;
    if (steps < policy.warmup_steps) {
      sparsity = 1 - std::pow(1 - sparsity, static_cast<double>(steps) / static_cast<double>(policy.warmup_steps));
    }
    reply.sparsity = compression::RelaxedSparsity(sparsity, density_factor_);
  }
  if (reply.reply == LookupRequest::REPLY_ERROR_BOUNDED) {
    const double decay = compression::BoundDecay(policy.error_bound_start, policy.error_bound_steps, steps);
    reply.error_bound = std::min(reply.error_bound * decay * policy.bound_factor, 1.0);
    reply.count_distinct = policy.by_class && step % kCountEvery == 0;
  }
  return reply;
}

void LookupPolicy::VisitState(StateVisitor* state) {
  state->Real("density_factor", &density_factor_);
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (!tables_[i].by_class) continue;
    const StateVisitor::Scope scope(state, absl::StrCat("table ", i));
    state->Number("distinct", &tables_[i].distinct);
    state->Number("distinct_sent", &tables_[i].distinct_sent);
    state->Real("bound_factor", &tables_[i].bound_factor);
    state->Number("observations", &tables_[i].observations);
  }
}

void LookupPolicy::Observe(uint32_t table, uint64_t distinct, uint64_t distinct_sent) {
  TablePolicy& policy = tables_[table];
  if (!policy.by_class) return;
  policy.distinct += distinct;
  policy.distinct_sent += distinct_sent;
  if (++policy.observations % kObservationsPerClass != 0 || policy.distinct == 0) return;
  policy.bound_factor = compression::BoundFactor(1 - static_cast<double>(policy.distinct_sent) / static_cast<double>(policy.distinct));
  policy.distinct = policy.distinct_sent = 0;
}

}  // namespace weir::client
