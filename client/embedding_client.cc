#include "client/embedding_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/call_splitter.h"
#include "client/pending_calls.h"
#include "client/push_encoder.h"
#include "client/row_calls.h"
#include "client/row_pooling.h"
#include "client/server_group.h"

namespace weir::client {
namespace {

// One table's keys, ready to be asked for or pushed.
struct RoutedTable {
  std::vector<TableBatch> tables;  // exactly one
  std::vector<CallPart> parts;
  uint32_t dim = 0;

  const RoutedKeys& keys() const { return tables[0].keys; }
  RowStep Step(int64_t step, uint32_t samples) const { return {step, samples, dim, TableKeys::CODING_SORTED_DELTA, tables, parts, {}}; }
};

absl::StatusOr<RoutedTable> RouteTable(const ServerGroup& group, uint32_t table, absl::Span<const Key> keys, size_t values) {
  if (table >= group.tables().size()) {
    return absl::InvalidArgumentError(absl::StrCat("table ", table, " of ", group.tables().size(), " does not exist"));
  }
  RoutedTable routed;
  routed.dim = group.tables()[table].dim;
  if (keys.size() >= uint64_t{1} << 31) return absl::InvalidArgumentError(absl::StrCat(keys.size(), " keys, fewer than 2^31 are allowed"));
  if (values != keys.size() * routed.dim) {
    return absl::InvalidArgumentError(absl::StrCat(values, " values for ", keys.size(), " keys of table ", group.tables()[table].name,
                                                   ", which is ", routed.dim, " wide"));
  }
  routed.tables.push_back({table, 0, {}});
  KeyRouter(group.shard_map()).RouteUnique(table, keys, &routed.tables[0].keys);
  const SplitOptions split = {group.size(), sizeof(Key) + routed.dim * sizeof(float), group.options().call_bytes_target};
  WEIR_ASSIGN_OR_RETURN(routed.parts, SplitCalls(routed.tables, split));
  return routed;
}

}  // namespace

Client::Client(std::unique_ptr<ServerGroup> servers) : servers_(std::move(servers)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(ClientOptions options) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ServerGroup> servers, ServerGroup::Connect(std::move(options)));
  return std::unique_ptr<Client>(new Client(std::move(servers)));
}

const std::vector<TableInfo>& Client::tables() const { return servers_->tables(); }

absl::StatusOr<uint32_t> Client::TableIndex(absl::string_view name) const {
  for (size_t i = 0; i < tables().size(); ++i) {
    if (tables()[i].name == name) return static_cast<uint32_t>(i);
  }
  const std::string known = absl::StrJoin(tables(), ", ", [](std::string* out, const TableInfo& table) { out->append(table.name); });
  return absl::NotFoundError(absl::StrCat("no table ", name, "; the servers have ", known));
}

absl::Status Client::Lookup(uint32_t table, absl::Span<const Key> keys, absl::Span<float> rows, uint64_t* initial) {
  if (initial != nullptr) *initial = 0;
  RowCounts counts;
  WEIR_ASSIGN_OR_RETURN(const RoutedTable routed, RouteTable(*servers_, table, keys, rows.size()));
  const RowStep step = routed.Step(0, 0);
  LookupCalls calls(servers_.get());
  CodecStats not_asked_for;
  const absl::Span<CodecStats> stats = absl::MakeSpan(&not_asked_for, 1);
  WEIR_RETURN_IF_ERROR(StartRowLookups(*servers_, step, RowAnswer(), &calls, stats));
  WEIR_RETURN_IF_ERROR(calls.Wait());
  std::vector<float> unique(routed.keys().keys.size() * routed.dim);
  WEIR_RETURN_IF_ERROR(ReadRows(*servers_, step, calls, absl::MakeSpan(unique), absl::MakeSpan(&counts, 1), stats));
  if (initial != nullptr) *initial = counts.initial;
  for (size_t i = 0; i < keys.size(); ++i) {
    const float* const row = unique.data() + size_t{routed.keys().slot_of[i]} * routed.dim;
    std::copy(row, row + routed.dim, rows.data() + i * routed.dim);
  }
  return absl::OkStatus();
}

absl::Status Client::Push(int64_t step, uint32_t samples, uint32_t table, absl::Span<const Key> keys, absl::Span<const float> gradients,
                          std::vector<KeyStatus>* refused) {
  if (refused != nullptr) refused->clear();
  WEIR_ASSIGN_OR_RETURN(const RoutedTable routed, RouteTable(*servers_, table, keys, gradients.size()));
  std::vector<float> sums(routed.keys().keys.size() * routed.dim);
  for (size_t i = 0; i < keys.size(); ++i) {
    AddRow(routed.dim, gradients.data() + i * routed.dim, sums.data() + size_t{routed.keys().slot_of[i]} * routed.dim);
  }
  std::vector<uint32_t> slice_ends;
  for (const CallPart& part : routed.parts) {
    for (const KeyRun& run : part.runs) slice_ends.push_back(run.end);
  }
  Compression::Push method;
  method.set_method(Compression::METHOD_NONE);
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<PushEncoder> encoder, PushEncoder::Create(tables(), routed.dim, method));
  std::vector<std::string> frames;
  WEIR_RETURN_IF_ERROR(encoder->Encode({table, routed.keys().keys, sums, slice_ends}, &frames));
  const RowStep row_step = routed.Step(step, samples);
  PushCalls calls(servers_.get());
  CodecStats not_asked_for;
  StartRowPushes(*servers_, row_step, PushKeys::kSend, std::move(frames), &calls, absl::MakeSpan(&not_asked_for, 1));
  WEIR_RETURN_IF_ERROR(WaitForRowPushes(row_step, &calls));
  if (refused == nullptr) return ReportRefused(*servers_, step, calls);
  WEIR_ASSIGN_OR_RETURN(RefusedRows left_out, CollectRefused(*servers_, calls));
  *refused = std::move(left_out.rows);
  return absl::OkStatus();
}

}  // namespace weir::client
