// A small embedding server for tests of the client: the data service's contract over std::map, one mutex, plain gradient descent with a
// rate of 1, and faults to order. Shares no code with server/.
#ifndef WEIR_TESTS_CLIENT_FAKE_DATA_SERVICE_H_
#define WEIR_TESTS_CLIENT_FAKE_DATA_SERVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/grpc_endpoint.h"
#include "base/key.h"
#include "base/mutex.h"
#include "client/client_options.h"
#include "client/key_router.h"
#include "proto/data_service.grpc.pb.h"

namespace weir::client {

// A multiple of 1/64 in [-1, 1): sums of a few of them are exact in fp32 and fp16, whatever their order.
float FakeInitialValue(uint32_t table, Key key, uint32_t column);

// Each counts down to 0 as it strikes.
struct Faults {
  uint32_t unavailable_describes = 0;
  uint32_t unavailable_lookups = 0;
  uint32_t unavailable_pushes = 0;     // nothing was applied
  uint32_t lost_acknowledgements = 0;  // applied, then UNAVAILABLE
  int64_t rejected_step = -1;          // its pushes get INVALID_ARGUMENT whenever they come, nothing is applied
  uint32_t lost_tickets = 0;           // forgets a push's ticket just before it comes
};

// What was asked so far. Calls that met a fault count too.
struct FakeCounts {
  uint32_t lookups = 0;
  uint32_t pushes = 0;
  uint32_t pushes_with_ticket = 0;
  uint32_t duplicates = 0;
  uint32_t keys_looked_up = 0;
  uint32_t parts_max = 0;
  size_t frame_bytes_max = 0;               // of the replies and pushes of one call
  std::map<uint32_t, double> error_bounds;  // of each table, in the last lookup for training that had one
};

struct FakeServerOptions {
  uint32_t index = 0;
  ShardMap map;
  uint64_t job_hash = 77;
  uint32_t protocol_version = kProtocolVersion;
  std::vector<TableInfo> tables;
};

using RowMap = std::map<std::pair<uint32_t, Key>, std::vector<float>>;

// Thread-safe.
class FakeDataService : public DataService::Service {
 public:
  explicit FakeDataService(FakeServerOptions options) : options_(std::move(options)) {}

  void SetFaults(const Faults& faults);
  FakeCounts counts() const;
  RowMap rows() const;
  // Steps that every one of `parts` parts has arrived of.
  std::set<int64_t> complete_steps() const;
  // This row is left out of pushes and reported as not finite.
  void Refuse(uint32_t table, Key key);

  grpc::Status Describe(grpc::ServerContext* context, const DescribeRequest* request, DescribeReply* reply) override;
  grpc::Status Lookup(grpc::ServerContext* context, const LookupRequest* request, LookupReply* reply) override;
  grpc::Status Push(grpc::ServerContext* context, const PushRequest* request, PushReply* reply) override;

 private:
  struct TableOf {
    uint32_t table = 0;
    std::vector<Key> keys;
  };
  struct Bag {
    uint32_t slot = 0;  // index of its table in the ticket
    std::vector<uint32_t> keys;
  };
  // Keys of a lookup; in sample scope also its bags in the order of the reply, and what was kept of them.
  struct Ticket {
    std::vector<TableOf> tables;
    std::vector<Bag> bags;
    std::vector<uint32_t> mask;
  };
  using CallId = std::tuple<uint32_t, uint64_t, int64_t, uint32_t>;  // rank, incarnation, step, part

  absl::Status CheckJob(uint64_t job_hash) const;
  absl::StatusOr<TableOf> ReadKeys(const TableKeys& keys) const;
  std::vector<float> Row(uint32_t table, Key key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AnswerRows(const LookupRequest& request, const Ticket& ticket, LookupReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AnswerPooled(const LookupRequest& request, Ticket* ticket, LookupReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadBags(const LookupRequest& request, Ticket* ticket, std::vector<uint32_t>* sample_bag_ends);
  absl::Status LookupLocked(const LookupRequest& request, LookupReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status PushLocked(const PushRequest& request, PushReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadGradients(const PushRequest& request, RowMap* gradients) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadPooled(const PushRequest& request, const Ticket& ticket, RowMap* gradients) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const FakeServerOptions options_;
  mutable Mutex mu_;
  Faults faults_ ABSL_GUARDED_BY(mu_);
  FakeCounts counts_ ABSL_GUARDED_BY(mu_);
  RowMap rows_ ABSL_GUARDED_BY(mu_);
  std::map<CallId, Ticket> tickets_ ABSL_GUARDED_BY(mu_);
  std::set<CallId> applied_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, uint32_t> parts_left_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<uint32_t, Key>> refused_ ABSL_GUARDED_BY(mu_);
};

// All servers of a job, on free ports.
class FakeCluster {
 public:
  FakeCluster(uint32_t servers, std::vector<TableInfo> tables);

  FakeDataService& server(uint32_t index) { return *services_[index]; }
  // For this cluster, with a timeout that a failing test can wait for.
  ClientOptions options() const;
  const ShardMap& map() const { return map_; }
  RowMap rows() const;  // of all servers
  FakeCounts counts() const;
  void StopServer(uint32_t index) { endpoints_[index].reset(); }

 private:
  const ShardMap map_;
  std::vector<std::unique_ptr<FakeDataService>> services_;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints_;
  std::vector<std::string> addresses_;
};

}  // namespace weir::client

#endif  // WEIR_TESTS_CLIENT_FAKE_DATA_SERVICE_H_
