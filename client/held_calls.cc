#include "client/held_calls.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "compression/row_changes.h"

namespace weir::client {
namespace {

// The first slot of the run that is new, or its end.
uint32_t BeginNew(const HeldRun& run) { return std::clamp(run.held.ranges[run.server].begin_new, run.run.begin, run.run.end); }

}  // namespace

void EncodeHeldRun(const HeldRun& run, TableKeys* out) {
  const HeldRange& range = run.held.ranges[run.server];
  const uint32_t begin_new = BeginNew(run);
  const absl::Span<const Key> added = absl::MakeConstSpan(run.batch.keys.keys).subspan(begin_new, run.run.end - begin_new);
  out->set_table(run.batch.table);
  out->set_count(static_cast<uint32_t>(added.size()));
  out->set_coding(TableKeys::CODING_SORTED_DELTA);
  compression::EncodeKeysSorted(added, out->mutable_keys());
  HeldRows* const held = out->mutable_held();
  held->set_generation(range.generation);
  held->set_first_new(added.empty() ? 0 : run.held.numbers[begin_new]);
  held->set_count(begin_new - run.run.begin);
  const std::vector<Key> numbers(run.held.numbers.begin() + run.run.begin, run.held.numbers.begin() + begin_new);
  compression::EncodeKeysSorted(numbers, held->mutable_numbers());
}

absl::Status ReadHeldRun(const HeldRun& run, const TableRows& answer, uint32_t dim, absl::Span<float> rows, compression::DctStats* stats) {
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
    WEIR_RETURN_IF_ERROR(compression::DecodeInto(answer.frame(), added));
  } else if (!answer.frame().empty()) {
    return absl::InvalidArgumentError("new rows, none was named");
  }
  for (uint32_t i = 0; i < run.run.size(); ++i) std::copy_n(&rows[size_t{i} * dim], dim, value_of(run.run.begin + i));
  return absl::OkStatus();
}

}  // namespace weir::client
