#include "client/push_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/dct_rows.h"
#include "compression/frame.h"
#include "compression/value_type.h"
#include "proto/codec_overrides.h"

namespace weir::client {
namespace {

// Methods plain, none, fp16 and bf16: every value travels.
class DenseEncoder : public PushEncoder {
 public:
  DenseEncoder(absl::Span<const TableInfo> tables, uint32_t dim, compression::ValueType type) : PushEncoder(tables, dim), type_(type) {}

 private:
  absl::Status EncodeSlices(const RowGradients& gradients, std::vector<std::string>* frames) override {
    size_t begin = 0;
    for (const uint32_t end : gradients.slice_ends) {
      const size_t values_end = size_t{end} * dim_;
      WEIR_RETURN_IF_ERROR(compression::EncodeDense(gradients.values.subspan(begin, values_end - begin), type_, &frames->emplace_back()));
      begin = values_end;
    }
    return absl::OkStatus();
  }

  const compression::ValueType type_;
};

// Method dct: a threshold for each table, a residual for each row.
class DctEncoder : public PushEncoder {
 public:
  DctEncoder(absl::Span<const TableInfo> tables, uint32_t dim, compression::DctOptions options)
      : PushEncoder(tables, dim), options_(options), rows_(tables.size()), stats_(tables.size()) {}

  void Commit() override {
    for (const uint32_t table : unsettled_) {
      rows_[table]->Commit();
      AddStats(rows_[table]->stats(), &stats_[table]);
    }
    unsettled_.clear();
  }

  void Rollback() override {
    for (const uint32_t table : unsettled_) rows_[table]->Rollback();
    unsettled_.clear();
  }

  void SetDensityFactor(double factor) override {
    density_factor_ = factor;
    for (const auto& rows : rows_) {
      if (rows != nullptr) rows->SetDensityFactor(factor);
    }
  }

  void VisitState(StateVisitor* state) override {
    state->Real("density_factor", &density_factor_);
    for (uint32_t table = 0; table < rows_.size(); ++table) {
      const StateVisitor::Scope scope(state, tables_[table].name);
      bool pushed = rows_[table] != nullptr;
      state->Flag("pushed", &pushed);
      if (!pushed) continue;
      if (rows_[table] == nullptr) rows_[table] = std::make_unique<compression::DctRows>(dim_, options_);
      rows_[table]->VisitState(state);
    }
  }

  absl::Span<const float> residual(uint32_t table, Key key) const override {
    return rows_[table] == nullptr ? absl::Span<const float>() : rows_[table]->residual(key);
  }

  compression::DctStats TakeStats(uint32_t table) override { return std::exchange(stats_[table], compression::DctStats()); }

 private:
  absl::Status EncodeSlices(const RowGradients& gradients, std::vector<std::string>* frames) override {
    std::unique_ptr<compression::DctRows>& rows = rows_[gradients.table];
    if (rows == nullptr) {
      rows = std::make_unique<compression::DctRows>(dim_, options_);
      rows->SetDensityFactor(density_factor_);
    }
    WEIR_RETURN_IF_ERROR(rows->Encode(gradients.keys, gradients.values, gradients.slice_ends, frames));
    unsettled_.push_back(gradients.table);
    return absl::OkStatus();
  }

  const compression::DctOptions options_;
  double density_factor_ = 1;
  std::vector<std::unique_ptr<compression::DctRows>> rows_;  // of each table, made when it is first pushed
  std::vector<compression::DctStats> stats_;                 // since TakeStats
  std::vector<uint32_t> unsettled_;                          // tables encoded since the last Commit or Rollback
};

compression::DctOptions OptionsFrom(const Compression::Push& push) {
  compression::DctOptions options;
  options.sparsity = push.sparsity();
  options.refresh_every = std::max(push.refresh_every(), 1u);
  options.values = compression::ValueTypeOf(push.values());
  return options;
}

absl::StatusOr<std::unique_ptr<PushEncoder>> MakeEncoder(absl::Span<const TableInfo> tables, uint32_t dim, const Compression::Push& push) {
  std::unique_ptr<PushEncoder> encoder;
  switch (push.method()) {
    case Compression::METHOD_PLAIN:
    case Compression::METHOD_NONE:
      encoder = std::make_unique<DenseEncoder>(tables, dim, compression::ValueType::kFp32);
      return encoder;
    case Compression::METHOD_FP16:
      encoder = std::make_unique<DenseEncoder>(tables, dim, compression::ValueType::kFp16);
      return encoder;
    case Compression::METHOD_BF16:
      encoder = std::make_unique<DenseEncoder>(tables, dim, compression::ValueType::kBf16);
      return encoder;
    case Compression::METHOD_DCT:
      if (!(push.sparsity() >= 0 && push.sparsity() < 1)) {
        return absl::InvalidArgumentError(absl::StrCat("compression.push.sparsity is ", push.sparsity(), ", not in [0, 1)"));
      }
      encoder = std::make_unique<DctEncoder>(tables, dim, OptionsFrom(push));
      return encoder;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("compression.push.method ", Compression::Method_Name(push.method()), " is not one that a client can do"));
  }
}

// The codec of each table: its own, or the edge's.
class EncoderByTable : public PushEncoder {
 public:
  EncoderByTable(absl::Span<const TableInfo> tables, uint32_t dim, std::unique_ptr<PushEncoder> of_edge)
      : PushEncoder(tables, dim), of_table_(tables.size(), of_edge.get()) {
    encoders_.push_back(std::move(of_edge));
  }

  void SetEncoder(uint32_t table, std::unique_ptr<PushEncoder> encoder) {
    of_table_[table] = encoder.get();
    encoders_.push_back(std::move(encoder));
  }

  absl::Status Encode(const RowGradients& gradients, std::vector<std::string>* frames) override {
    return of_table_[gradients.table]->Encode(gradients, frames);
  }
  void Commit() override {
    for (const auto& encoder : encoders_) encoder->Commit();
  }
  void Rollback() override {
    for (const auto& encoder : encoders_) encoder->Rollback();
  }
  void SetDensityFactor(double factor) override {
    for (const auto& encoder : encoders_) encoder->SetDensityFactor(factor);
  }
  void VisitState(StateVisitor* state) override {
    for (size_t i = 0; i < encoders_.size(); ++i) {
      const StateVisitor::Scope scope(state, absl::StrCat("encoder ", i));
      encoders_[i]->VisitState(state);
    }
  }
  absl::Span<const float> residual(uint32_t table, Key key) const override { return of_table_[table]->residual(table, key); }
  compression::DctStats TakeStats(uint32_t table) override { return of_table_[table]->TakeStats(table); }

 private:
  absl::Status EncodeSlices(const RowGradients&, std::vector<std::string>*) override {
    return absl::InternalError("Encode goes to the table's own");
  }

  std::vector<std::unique_ptr<PushEncoder>> encoders_;  // the edge's first
  std::vector<PushEncoder*> of_table_;
};

}  // namespace

absl::Span<const float> PushEncoder::residual(uint32_t, Key) const { return {}; }

void AddStats(const compression::DctStats& later, compression::DctStats* sum) {
  const uint64_t entries = sum->entries + later.entries;
  const uint64_t kept = sum->kept + later.kept;
  *sum = later;
  sum->entries = entries;
  sum->kept = kept;
}

absl::StatusOr<std::unique_ptr<PushEncoder>> PushEncoder::Create(absl::Span<const TableInfo> tables, uint32_t dim,
                                                                 const Compression::Push& push) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<PushEncoder> of_edge, MakeEncoder(tables, dim, push));
  if (push.tables_size() == 0) return of_edge;
  auto encoder = std::make_unique<EncoderByTable>(tables, dim, std::move(of_edge));
  for (const Compression::TablePush& own : push.tables()) {
    const auto table = std::find_if(tables.begin(), tables.end(), [&own](const TableInfo& info) { return info.name == own.name(); });
    if (table == tables.end())
      return absl::InvalidArgumentError(absl::StrCat("compression.push.tables: the servers have no table ", own.name()));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<PushEncoder> of_table, MakeEncoder(tables, dim, PushOfTable(push, own.name())));
    encoder->SetEncoder(static_cast<uint32_t>(table - tables.begin()), std::move(of_table));
  }
  return encoder;
}

absl::Status PushEncoder::Encode(const RowGradients& gradients, std::vector<std::string>* frames) {
  absl::Status status = EncodeSlices(gradients, frames);
  if (status.ok()) return status;
  const std::string where = absl::StrCat("gradients of table ", tables_[gradients.table].name);
  const auto bad = std::find_if(gradients.values.begin(), gradients.values.end(), [](float value) { return !std::isfinite(value); });
  if (bad == gradients.values.end()) return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
  const size_t row = static_cast<size_t>(bad - gradients.values.begin()) / dim_;
  return absl::Status(status.code(), absl::StrCat(where, ", key ", gradients.keys[row], ": ", status.message()));
}

}  // namespace weir::client
