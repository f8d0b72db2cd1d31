#include "client/held_calls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "compression/packed_bytes.h"
#include "compression/row_changes.h"

namespace weir::client {
namespace {

// The first slot of the run that is new, or its end.
uint32_t BeginNew(const HeldRun& run) { return std::clamp(run.held.ranges[run.server].begin_new, run.run.begin, run.run.end); }

void EncodeSorted(absl::Span<const Key> keys, TableKeys::Coding coding, std::string* out) {
  coding == TableKeys::CODING_SORTED_RICE ? compression::EncodeKeysRice(keys, out) : compression::EncodeKeysSorted(keys, out);
}

// New rows: those that the answer leaves out are computed from their keys.
absl::Status ReadAdded(absl::Span<const Key> keys, const TableRows& answer, RowKind kind, absl::Span<float> rows) {
  if (answer.initial_rows().empty()) return compression::DecodeInto(answer.frame(), rows);
  if (kind.initializer == nullptr) return absl::InvalidArgumentError("initial_rows: the server did not say how rows begin");
  const size_t bytes = (keys.size() + 7) / 8;
  WEIR_ASSIGN_OR_RETURN(const std::string bits, compression::ReadWholeSection(answer.initial_rows(), bytes));
  if (bits.size() != bytes) return absl::InvalidArgumentError(absl::StrCat("initial_rows: not a bit for each of ", keys.size(), " rows"));
  const auto is_initial = [&bits](size_t i) { return (bits[i / 8] >> i % 8 & 1) != 0; };
  size_t initial = 0;
  for (size_t i = 0; i < keys.size(); ++i) initial += is_initial(i);
  std::vector<float> updated((keys.size() - initial) * kind.dim);
  if (!updated.empty()) {
    WEIR_RETURN_IF_ERROR(compression::DecodeInto(answer.frame(), absl::MakeSpan(updated)));
  } else if (!answer.frame().empty()) {
    return absl::InvalidArgumentError("new rows, but initial_rows says that there is none");
  }
  const float* next = updated.data();
  for (size_t i = 0; i < keys.size(); ++i) {
    const absl::Span<float> row = rows.subspan(i * kind.dim, kind.dim);
    if (is_initial(i)) {
      kind.initializer->Fill(keys[i], row);
    } else {
      std::copy_n(next, kind.dim, row.begin());
      next += kind.dim;
    }
  }
  return absl::OkStatus();
}

}  // namespace

void EncodeHeldRun(const HeldRun& run, TableKeys::Coding coding, TableKeys* out) {
  const HeldRange& range = run.held.ranges[run.server];
  const uint32_t begin_new = BeginNew(run);
  const absl::Span<const Key> added = absl::MakeConstSpan(run.batch.keys.keys).subspan(begin_new, run.run.end - begin_new);
  out->set_table(run.batch.table);
  out->set_count(static_cast<uint32_t>(added.size()));
  out->set_coding(coding);
  EncodeSorted(added, coding, out->mutable_keys());
  HeldRows* const held = out->mutable_held();
  held->set_generation(range.generation);
  held->set_first_new(added.empty() ? 0 : run.held.numbers[begin_new]);
  held->set_count(begin_new - run.run.begin);
  const std::vector<Key> numbers(run.held.numbers.begin() + run.run.begin, run.held.numbers.begin() + begin_new);
  EncodeSorted(numbers, coding, held->mutable_numbers());
}

absl::Status ReadHeldRun(const HeldRun& run, const TableRows& answer, RowKind kind, absl::Span<float> rows, compression::DctStats* stats) {
  const uint32_t dim = kind.dim;
  HeldValues& values = *run.held.ranges[run.server].values;
  const auto value_of = [&](uint32_t slot) { return &values[size_t{run.held.numbers[slot]} * dim]; };
  const uint32_t begin_new = BeginNew(run);
  const size_t known = begin_new - run.run.begin;
  for (size_t i = 0; i < known; ++i) std::copy_n(value_of(run.run.begin + i), dim, &rows[i * dim]);
  if (known > 0) {
    WEIR_ASSIGN_OR_RETURN(const compression::FrameHeader header,
                          compression::DecodeRowChanges(answer.changes(), rows.subspan(0, known * dim)));
    stats->entries += header.size;
    stats->kept += header.kept;
  } else if (!answer.changes().empty()) {
    return absl::InvalidArgumentError("changes of held rows, none was named");
  }
  const absl::Span<float> added = rows.subspan(known * dim);
  if (!added.empty()) {
    const absl::Span<const Key> keys = absl::MakeConstSpan(run.batch.keys.keys).subspan(begin_new, run.run.end - begin_new);
    WEIR_RETURN_IF_ERROR(ReadAdded(keys, answer, kind, added));
  } else if (!answer.frame().empty() || !answer.initial_rows().empty()) {
    return absl::InvalidArgumentError("new rows, none was named");
  }
  for (uint32_t i = 0; i < run.run.size(); ++i) std::copy_n(&rows[size_t{i} * dim], dim, value_of(run.run.begin + i));
  return absl::OkStatus();
}

}  // namespace weir::client
