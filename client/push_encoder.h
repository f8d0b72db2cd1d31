// The codec of the push edge in row scope: gradients of rows to frames.
#ifndef WEIR_CLIENT_PUSH_ENCODER_H_
#define WEIR_CLIENT_PUSH_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "base/state_visitor.h"
#include "client/client_options.h"
#include "client/embedding_bags.h"
#include "proto/job.pb.h"

namespace weir::client {

// A table's gradients of one push.
struct RowGradients {
  uint32_t table = 0;
  absl::Span<const Key> keys;             // distinct, unless the method is plain
  absl::Span<const float> values;         // keys x dim
  absl::Span<const uint32_t> slice_ends;  // slice i ends at key slice_ends[i]; the last end is keys.size()
};

// Single-threaded. Between two Encodes that end a step stands one Commit or Rollback, which is about all tables encoded since the last.
class PushEncoder {
 public:
  // tables outlives it; those that push.tables names have a codec of their own. INVALID_ARGUMENT: a method that this edge does not have.
  static absl::StatusOr<std::unique_ptr<PushEncoder>> Create(absl::Span<const TableInfo> tables, uint32_t dim,
                                                             const Compression::Push& push);
  virtual ~PushEncoder() = default;

  // Appends one frame for each slice. INVALID_ARGUMENT, naming table and key: a value that is not finite, or too large for the frame's
  // type.
  virtual absl::Status Encode(const RowGradients& gradients, std::vector<std::string>* frames);

  // What was encoded has been acknowledged: it leaves the residuals.
  virtual void Commit() {}
  // What was encoded has been given up: it stays in the residuals.
  virtual void Rollback() {}
  // From the next encoding on: `factor`, at least 1, times as many entries as the settings say, at most all. No effect where nothing is
  // dropped.
  virtual void SetDensityFactor(double factor) { static_cast<void>(factor); }
  // What is remembered from step to step. REQUIRES: nothing is between Encode and Commit or Rollback.
  virtual void VisitState(StateVisitor* state) { static_cast<void>(state); }
  // What a row's gradients have left to be sent: dim values, sums over samples; empty when nothing.
  virtual absl::Span<const float> residual(uint32_t table, Key key) const;
  // Of a table since it was asked for last; without entries where nothing is dropped.
  virtual compression::DctStats TakeStats(uint32_t table) { return static_cast<void>(table), compression::DctStats(); }

 protected:
  PushEncoder(absl::Span<const TableInfo> tables, uint32_t dim) : tables_(tables), dim_(dim) {}
  virtual absl::Status EncodeSlices(const RowGradients& gradients, std::vector<std::string>* frames) = 0;

  const absl::Span<const TableInfo> tables_;
  const uint32_t dim_;
};

// Adds what a later encoding did: counts add up, thresholds and norms are those of the later one.
void AddStats(const compression::DctStats& later, compression::DctStats* sum);

}  // namespace weir::client

#endif  // WEIR_CLIENT_PUSH_ENCODER_H_
