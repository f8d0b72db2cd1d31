#include "tests/client/fake_data_service.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/key_codec.h"
#include "compression/threshold.h"
#include "spdlog/spdlog.h"

namespace weir::client {
namespace {

// Whether the fault strikes now.
bool Strike(uint32_t* left) {
  if (*left == 0) return false;
  --*left;
  return true;
}

void AddTo(RowMap* rows, uint32_t table, Key key, absl::Span<const float> values) {
  std::vector<float>& row = (*rows)[{table, key}];
  row.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) row[i] += values[i];
}

}  // namespace

float FakeInitialValue(uint32_t table, Key key, uint32_t column) {
  return static_cast<float>(static_cast<int>(Mix64(Mix64(table, key), column) % 128) - 64) / 64;
}

void FakeDataService::SetFaults(const Faults& faults) {
  MutexLock lock(&mu_);
  faults_ = faults;
}

FakeCounts FakeDataService::counts() const {
  MutexLock lock(&mu_);
  return counts_;
}

RowMap FakeDataService::rows() const {
  MutexLock lock(&mu_);
  return rows_;
}

std::set<int64_t> FakeDataService::complete_steps() const {
  MutexLock lock(&mu_);
  std::set<int64_t> steps;
  for (const auto& [step, left] : parts_left_) {
    if (left == 0) steps.insert(step);
  }
  return steps;
}

void FakeDataService::Refuse(uint32_t table, Key key) {
  MutexLock lock(&mu_);
  refused_.emplace(table, key);
}

absl::Status FakeDataService::CheckJob(uint64_t job_hash) const {
  if (job_hash == options_.job_hash) return absl::OkStatus();
  return absl::FailedPreconditionError("job_hash differs");
}

absl::StatusOr<FakeDataService::TableOf> FakeDataService::ReadKeys(const TableKeys& keys) const {
  if (keys.table() >= options_.tables.size()) return absl::InvalidArgumentError("unknown table");
  TableOf read{keys.table(), {}};
  if (keys.coding() == TableKeys::CODING_RAW) {
    WEIR_ASSIGN_OR_RETURN(read.keys, compression::DecodeKeysRaw(keys.keys(), keys.count()));
  } else if (keys.coding() == TableKeys::CODING_SORTED_RICE) {
    WEIR_ASSIGN_OR_RETURN(read.keys, compression::DecodeKeysRice(keys.keys(), keys.count()));
  } else {
    WEIR_ASSIGN_OR_RETURN(read.keys, compression::DecodeKeysSorted(keys.keys(), keys.count()));
  }
  for (const Key key : read.keys) {
    if (OwnerOf(options_.map, read.table, key) != options_.index) return absl::InvalidArgumentError("a key of another server");
  }
  return read;
}

std::vector<float> FakeDataService::Row(uint32_t table, Key key) const {
  const auto found = rows_.find({table, key});
  if (found != rows_.end()) return found->second;
  std::vector<float> row(options_.tables[table].dim);
  for (uint32_t column = 0; column < row.size(); ++column) row[column] = FakeInitialValue(table, key, column);
  return row;
}

grpc::Status FakeDataService::Describe(grpc::ServerContext*, const DescribeRequest*, DescribeReply* reply) {
  MutexLock lock(&mu_);
  if (Strike(&faults_.unavailable_describes)) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ordered");
  reply->set_job_hash(options_.job_hash);
  reply->set_server_index(options_.index);
  *reply->mutable_shard_map() = options_.map;
  reply->set_protocol_version(options_.protocol_version);
  for (const TableInfo& table : options_.tables) {
    TableDescription* const description = reply->add_tables();
    description->set_name(table.name);
    description->set_dim(table.dim);
  }
  return grpc::Status::OK;
}

grpc::Status FakeDataService::Lookup(grpc::ServerContext*, const LookupRequest* request, LookupReply* reply) {
  MutexLock lock(&mu_);
  ++counts_.lookups;
  if (Strike(&faults_.unavailable_lookups)) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ordered");
  return ToGrpc(LookupLocked(*request, reply));
}

absl::Status FakeDataService::LookupLocked(const LookupRequest& request, LookupReply* reply) {
  WEIR_RETURN_IF_ERROR(CheckJob(request.job_hash()));
  counts_.parts_max = std::max(counts_.parts_max, request.parts());
  if (request.part() >= request.parts()) return absl::InvalidArgumentError("part is not below parts");
  Ticket ticket;
  for (const TableKeys& keys : request.tables()) {
    WEIR_ASSIGN_OR_RETURN(TableOf table, ReadKeys(keys));
    counts_.keys_looked_up += static_cast<uint32_t>(table.keys.size());
    ticket.tables.push_back(std::move(table));
  }
  if (request.reply() == LookupRequest::REPLY_POOLED_DCT) {
    WEIR_RETURN_IF_ERROR(AnswerPooled(request, &ticket, reply));
  } else {
    WEIR_RETURN_IF_ERROR(AnswerRows(request, ticket, reply));
  }
  if (request.purpose() == LookupRequest::PURPOSE_TRAIN) {
    tickets_[{request.worker_rank(), request.incarnation(), request.step(), request.part()}] = std::move(ticket);
  }
  counts_.frame_bytes_max = std::max(counts_.frame_bytes_max, reply->ByteSizeLong());
  return absl::OkStatus();
}

absl::Status FakeDataService::AnswerRows(const LookupRequest& request, const Ticket& ticket, LookupReply* reply) {
  for (const TableKeys& table : request.tables()) {
    const double bound = table.has_reply() ? table.reply().error_bound() : request.error_bound();
    if (bound > 0) counts_.error_bounds[table.table()] = bound;
  }
  compression::ValueType type = compression::ValueType::kFp32;
  if (request.reply() == LookupRequest::REPLY_FP16) type = compression::ValueType::kFp16;
  if (request.reply() == LookupRequest::REPLY_BF16) type = compression::ValueType::kBf16;
  if (request.reply() == LookupRequest::REPLY_INT8) type = compression::ValueType::kInt8;
  for (const TableOf& table : ticket.tables) {
    std::vector<float> values;
    TableRows* const answer = reply->add_tables();
    answer->set_table(table.table);
    for (const Key key : table.keys) {
      const std::vector<float> row = Row(table.table, key);
      values.insert(values.end(), row.begin(), row.end());
      if (rows_.count({table.table, key}) == 0) answer->set_initial(answer->initial() + 1);
    }
    if (const TableKeys& asked = request.tables(reply->tables_size() - 1); asked.reply().count_distinct()) {
      // Rows of even tables become equal to each other.
      answer->set_distinct(100);
      answer->set_distinct_sent(table.table % 2 == 0 ? 50 : 100);
    }
    WEIR_RETURN_IF_ERROR(compression::EncodeDense(values, type, answer->mutable_frame(),
                                                  std::max<size_t>(1, values.size() / std::max<size_t>(1, table.keys.size()))));
  }
  return absl::OkStatus();
}

absl::Status FakeDataService::ReadBags(const LookupRequest& request, Ticket* ticket, std::vector<uint32_t>* sample_bag_ends) {
  std::vector<std::vector<uint32_t>> counts, indices;
  for (const FeatureBags& bags : request.bags()) {
    if (bags.table_slot() >= ticket->tables.size()) return absl::InvalidArgumentError("table_slot");
    WEIR_ASSIGN_OR_RETURN(counts.emplace_back(), compression::DecodeVarints(bags.counts(), request.samples()));
    uint32_t keys = 0;
    for (const uint32_t count : counts.back()) keys += count;
    WEIR_ASSIGN_OR_RETURN(indices.emplace_back(), compression::DecodeVarints(bags.indices(), keys));
  }
  std::vector<size_t> next(counts.size(), 0);
  for (uint32_t sample = 0; sample < request.samples(); ++sample) {
    for (size_t feature = 0; feature < counts.size(); ++feature) {
      const uint32_t count = counts[feature][sample];
      if (count == 0) continue;
      Bag bag{request.bags(static_cast<int>(feature)).table_slot(), {}};
      for (uint32_t i = 0; i < count; ++i) {
        bag.keys.push_back(indices[feature][next[feature]++]);
        if (bag.keys.back() >= ticket->tables[bag.slot].keys.size()) return absl::InvalidArgumentError("index of a key");
      }
      ticket->bags.push_back(std::move(bag));
    }
    sample_bag_ends->push_back(static_cast<uint32_t>(ticket->bags.size()));
  }
  return absl::OkStatus();
}

absl::Status FakeDataService::AnswerPooled(const LookupRequest& request, Ticket* ticket, LookupReply* reply) {
  std::vector<uint32_t> ends;
  WEIR_RETURN_IF_ERROR(ReadBags(request, ticket, &ends));
  const uint32_t dim = options_.tables[0].dim;
  std::vector<float> pooled(ticket->bags.size() * dim);
  for (size_t bag = 0; bag < ticket->bags.size(); ++bag) {
    const TableOf& table = ticket->tables[ticket->bags[bag].slot];
    for (const uint32_t index : ticket->bags[bag].keys) {
      const std::vector<float> row = Row(table.table, table.keys[index]);
      for (uint32_t column = 0; column < dim; ++column) pooled[bag * dim + column] += row[column];
    }
  }
  for (uint32_t& end : ends) end *= dim;
  WEIR_RETURN_IF_ERROR(compression::SelectPerSample(pooled, ends, request.sparsity(), &ticket->mask));
  std::vector<float> kept;
  for (const uint32_t position : ticket->mask) kept.push_back(pooled[position]);
  return compression::EncodeSparse(static_cast<uint32_t>(pooled.size()), ticket->mask, kept, compression::ValueType::kFp32,
                                   reply->mutable_pooled_frame());
}

grpc::Status FakeDataService::Push(grpc::ServerContext*, const PushRequest* request, PushReply* reply) {
  MutexLock lock(&mu_);
  ++counts_.pushes;
  counts_.pushes_with_ticket += request->ticket();
  counts_.parts_max = std::max(counts_.parts_max, request->parts());
  counts_.frame_bytes_max = std::max(counts_.frame_bytes_max, request->ByteSizeLong());
  if (Strike(&faults_.unavailable_pushes)) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ordered");
  if (request->step() == faults_.rejected_step) return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "ordered");
  if (request->ticket() && Strike(&faults_.lost_tickets)) {
    tickets_.erase({request->worker_rank(), request->incarnation(), request->step(), request->part()});
  }
  const absl::Status status = PushLocked(*request, reply);
  if (status.ok() && Strike(&faults_.lost_acknowledgements)) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ordered");
  return ToGrpc(status);
}

absl::Status FakeDataService::PushLocked(const PushRequest& request, PushReply* reply) {
  WEIR_RETURN_IF_ERROR(CheckJob(request.job_hash()));
  if (request.part() >= request.parts()) return absl::InvalidArgumentError("part is not below parts");
  const CallId id = {request.worker_rank(), request.incarnation(), request.step(), request.part()};
  if (applied_.count(id) != 0) {
    ++counts_.duplicates;
    reply->set_outcome(PushReply::OUTCOME_DUPLICATE);
    return absl::OkStatus();
  }
  RowMap gradients;
  WEIR_RETURN_IF_ERROR(ReadGradients(request, &gradients));
  for (const auto& [place, gradient] : gradients) {
    if (refused_.count(place) != 0) {
      KeyStatus* const status = reply->add_refused();
      status->set_table(place.first);
      status->set_key(place.second);
      status->set_code(KeyStatus::CODE_NOT_FINITE);
      reply->set_refused_count(reply->refused_count() + 1);
      continue;
    }
    std::vector<float> row = Row(place.first, place.second);
    for (size_t i = 0; i < row.size(); ++i) row[i] -= gradient[i];
    rows_[place] = std::move(row);
  }
  applied_.insert(id);
  tickets_.erase(id);
  parts_left_.emplace(request.step(), request.parts()).first->second -= 1;
  reply->set_outcome(PushReply::OUTCOME_ACCEPTED);
  return absl::OkStatus();
}

absl::Status FakeDataService::ReadGradients(const PushRequest& request, RowMap* gradients) {
  Ticket ticket;
  if (request.ticket()) {
    const auto found = tickets_.find({request.worker_rank(), request.incarnation(), request.step(), request.part()});
    if (found == tickets_.end()) return absl::FailedPreconditionError("ticket not held");
    ticket = found->second;
    if (!request.pooled_frame().empty()) return ReadPooled(request, ticket, gradients);
    if (request.tables_size() != static_cast<int>(ticket.tables.size())) return absl::InvalidArgumentError("tables of the ticket");
  }
  for (int i = 0; i < request.tables_size(); ++i) {
    const TableGradients& sent = request.tables(i);
    TableOf table;
    if (request.ticket()) {
      table = ticket.tables[i];
      if (sent.keys().table() != table.table || sent.keys().count() != 0) return absl::InvalidArgumentError("keys beside a ticket");
    } else {
      WEIR_ASSIGN_OR_RETURN(table, ReadKeys(sent.keys()));
    }
    const uint32_t dim = options_.tables[table.table].dim;
    std::vector<float> values(table.keys.size() * dim);
    WEIR_RETURN_IF_ERROR(compression::DecodeInto(sent.frame(), absl::MakeSpan(values)));
    for (size_t key = 0; key < table.keys.size(); ++key) {
      AddTo(gradients, table.table, table.keys[key], absl::MakeConstSpan(values).subspan(key * dim, dim));
    }
  }
  return absl::OkStatus();
}

absl::Status FakeDataService::ReadPooled(const PushRequest& request, const Ticket& ticket, RowMap* gradients) {
  const uint32_t dim = options_.tables[0].dim;
  std::vector<float> values(ticket.mask.size());
  WEIR_RETURN_IF_ERROR(compression::DecodeImplied(request.pooled_frame(), absl::MakeSpan(values)));
  std::vector<float> pooled(ticket.bags.size() * dim);
  for (size_t i = 0; i < ticket.mask.size(); ++i) pooled[ticket.mask[i]] = values[i];
  for (size_t bag = 0; bag < ticket.bags.size(); ++bag) {
    const TableOf& table = ticket.tables[ticket.bags[bag].slot];
    for (const uint32_t index : ticket.bags[bag].keys) {
      AddTo(gradients, table.table, table.keys[index], absl::MakeConstSpan(pooled).subspan(bag * dim, dim));
    }
  }
  return absl::OkStatus();
}

FakeCluster::FakeCluster(uint32_t servers, std::vector<TableInfo> tables) : map_(MakeShardMap(256, servers)) {
  for (uint32_t index = 0; index < servers; ++index) {
    FakeServerOptions options;
    options.index = index;
    options.map = map_;
    options.tables = tables;
    services_.push_back(std::make_unique<FakeDataService>(std::move(options)));
    absl::StatusOr<std::unique_ptr<GrpcEndpoint>> endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {services_.back().get()});
    if (!endpoint.ok()) {
      spdlog::critical("{}", std::string(endpoint.status().message()));
      std::abort();
    }
    addresses_.push_back((*endpoint)->address());
    endpoints_.push_back(*std::move(endpoint));
  }
}

ClientOptions FakeCluster::options() const {
  ClientOptions options;
  options.servers = addresses_;
  options.call_timeout = absl::Seconds(20);
  return options;
}

RowMap FakeCluster::rows() const {
  RowMap all;
  for (const auto& service : services_) {
    for (const auto& [place, row] : service->rows()) all[place] = row;
  }
  return all;
}

FakeCounts FakeCluster::counts() const {
  FakeCounts sum;
  for (const auto& service : services_) {
    const FakeCounts one = service->counts();
    sum.lookups += one.lookups;
    sum.pushes += one.pushes;
    sum.pushes_with_ticket += one.pushes_with_ticket;
    sum.duplicates += one.duplicates;
    sum.keys_looked_up += one.keys_looked_up;
    sum.parts_max = std::max(sum.parts_max, one.parts_max);
    sum.frame_bytes_max = std::max(sum.frame_bytes_max, one.frame_bytes_max);
    sum.error_bounds.insert(one.error_bounds.begin(), one.error_bounds.end());
  }
  return sum;
}

}  // namespace weir::client
