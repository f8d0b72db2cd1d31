// Rows over a loopback connection: the C++ client against an embedding server in a process of its own, the client on one core and the
// server on another. One table of 2 million rows of 16 weights under rowwise Adagrad; batches of distinct random keys that have a row.
//   BM_Lookup   EmbeddingBags::StartLookup and Wait, with that many lookups under way; replies in fp32 (none), fp16, or
//               a tenth of each sample's values by threshold (sample_dct, DCT-MP: 25 features).
//   BM_Push     EmbeddingBags::StartPush and Wait under the ticket of a lookup, one under way; gradients in fp32 (none), or a tenth of
//               them by threshold (dct). Its lookup is not timed.
// Each beside two limits, taken in turns with it, so that all see the same machine:
//   grpc        calls of byte buffers to a service of the same server process that answers at once: as many calls, as many under way, as
//               many bytes each way as the turn before had on its sockets.
//   table       Table::Lookup or Table::Apply of the same keys in this process: no keys to sort, no codec, no calls.
// Counters: rows/s of the three, and the client's share of both limits (of_grpc, of_table); GB/s on the client's sockets; nanoseconds of
// processor time for one row, in each process with its gRPC threads, of the three (ns_...): others on the machine disturb those least. All
// are medians over turns. Time is of one turn.
#include <benchmark/benchmark.h>
#include <google/protobuf/io/coded_stream.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "base/grpc_endpoint.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/socket_bytes.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "proto/data_service.grpc.pb.h"
#include "proto/job_file.h"
#include "proto/job_tables.h"
#include "server/embedding_server.h"
#include "server/storage/slab_arena.h"
#include "server/table/table.h"

namespace weir {
namespace {

constexpr uint32_t kDim = 16;
constexpr uint64_t kRows = 2'000'000;
constexpr size_t kFillKeys = 50'000;    // in one push
constexpr size_t kSampleFeatures = 25;  // in sample scope: about as many as the paper's samples have
constexpr size_t kTurnKeys = 32'768;    // looked up in one turn, if a batch is not larger
constexpr const char* kJob =
    "data: {train: [none.tsv]}\n"
    "embeddings: {dim: 16, optimizer: {type: rowwise_adagrad, learning_rate: 0.01}, initializer: {type: uniform, scale: 0.05}}\n"
    "training: {gradient_scale: sum, staleness: 0}\n"
    "cluster: {servers: 1, workers: 1}\n";

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "rpc_bench: %s\n", status.ToString().c_str());
  std::abort();
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

// `push` empty: the job's default.
Job JobWith(const std::string& lookup, const std::string& push) {
  const std::string pushed = push.empty() ? "" : absl::StrCat(", push: {method: ", push, "}");
  return Must(ParseJob(kJob, "rpc_bench", {absl::StrCat("compression={lookup: {method: ", lookup, "}", pushed, "}")}));
}

// This process and its later threads run on the `index`-th of the cores that it may use, if there are that many.
void PinToCore(size_t index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

// The limit's service: a lookup whose request says in its first 8 bytes how many the reply shall have.
class RawService final : public DataService::WithRawCallbackMethod_Lookup<DataService::Service> {
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override {
    grpc::ByteBuffer readable = *request;
    grpc::ProtoBufferReader reader(&readable);
    uint64_t bytes = 0;
    google::protobuf::io::CodedInputStream(&reader).ReadLittleEndian64(&bytes);
    const grpc::Slice slice(bytes_.data(), std::min<size_t>(bytes, bytes_.size()), grpc::Slice::STATIC_SLICE);
    *reply = grpc::ByteBuffer(&slice, 1);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const std::string bytes_ = std::string(kMessageBytesMax / 2, 'x');
};

// The server process: tells its addresses on `out`, serves until `in` ends.
int Serve(int in, int out) {
  PinToCore(1);
  server::EmbeddingServer server;
  RawService raw;
  const Job job = JobWith("none", "none");
  Must(server.Start({job, JobHash(job)}));
  const auto endpoint = Must(GrpcEndpoint::Listen("127.0.0.1:0", {server.service()}));
  const auto raw_endpoint = Must(GrpcEndpoint::Listen("127.0.0.1:0", {&raw}));
  const std::string addresses = absl::StrCat(endpoint->address(), " ", raw_endpoint->address(), "\n");
  if (write(out, addresses.data(), addresses.size()) != static_cast<ssize_t>(addresses.size())) return 1;
  char unused;
  while (read(in, &unused, 1) > 0) {
  }
  server.Stop();
  return 0;
}

// The server process, from this one. Started before anything here has a thread; ends with this object or with this process.
class ServerProcess {
 public:
  ServerProcess() {
    int to_server[2], from_server[2];
    if (pipe(to_server) != 0 || pipe(from_server) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      close(to_server[1]);
      std::exit(Serve(to_server[0], from_server[1]));
    }
    close(to_server[0]);
    close(from_server[1]);
    end_ = to_server[1];
    std::string addresses;
    for (char c; read(from_server[0], &c, 1) == 1 && c != '\n';) addresses.push_back(c);
    close(from_server[0]);
    const std::vector<std::string> both = absl::StrSplit(addresses, ' ');
    if (process_ < 0 || both.size() != 2 || clock_getcpuclockid(process_, &cpu_clock_) != 0) std::abort();
    address_ = both[0];
    raw_address_ = both[1];
  }
  ~ServerProcess() {
    close(end_);
    waitpid(process_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  const std::string& raw_address() const { return raw_address_; }
  clockid_t cpu_clock() const { return cpu_clock_; }

 private:
  pid_t process_ = -1;
  int end_ = -1;
  clockid_t cpu_clock_{};
  std::string address_;
  std::string raw_address_;
};

// Of one call.
struct PayloadBytes {
  size_t request = 0;
  size_t reply = 0;
};

// Some raw calls under way together.
class RawBatch {
 public:
  RawBatch(grpc::GenericStub* stub, size_t calls, const std::string& request) : state_(std::make_shared<State>()) {
    state_->calls = std::vector<Call>(calls);
    {
      MutexLock lock(&state_->mu);
      state_->under_way = calls;
    }
    const grpc::Slice slice(request.data(), request.size(), grpc::Slice::STATIC_SLICE);
    for (Call& call : state_->calls) {
      call.request = grpc::ByteBuffer(&slice, 1);
      SetDeadline(&call.context, absl::Now() + absl::Seconds(30));
      stub->UnaryCall(&call.context, "/weir.DataService/Lookup", {}, &call.request, &call.reply,
                      [state = state_](const grpc::Status& status) {
                        if (!status.ok()) Must(FromGrpc(status, "raw service"));
                        MutexLock lock(&state->mu);
                        if (--state->under_way == 0) state->changed.NotifyAll();
                      });
    }
  }

  void Wait() {
    MutexLock lock(&state_->mu);
    State* const state = state_.get();
    state->changed.WaitUntil(&state->mu, absl::InfiniteFuture(), [state] { return state->under_way == 0; });
  }

 private:
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request, reply;
  };
  struct State {
    std::vector<Call> calls;
    Mutex mu;
    CondVar changed;
    size_t under_way ABSL_GUARDED_BY(mu) = 0;
  };
  std::shared_ptr<State> state_;
};

// Batches of distinct rows in random order. Without end.
class Batches {
 public:
  Batches() : order_(kRows) {
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(1));
  }
  // A batch of one key for each of `count` features of a sample, all of one table.
  std::vector<client::FeatureKeys> Next(size_t keys, size_t count = 1) {
    std::vector<client::FeatureKeys> features(count);
    for (size_t i = 0; i < keys; ++i) {
      features[i % count].keys.push_back(Mix64(order_[next_]));
      next_ = (next_ + 1) % kRows;
    }
    return features;
  }

 private:
  std::vector<uint32_t> order_;
  size_t next_ = 0;
};

std::unique_ptr<client::Client> ConnectTo(const ServerProcess& server) {
  client::ClientOptions options;
  options.servers = {server.address()};
  return Must(client::Client::Connect(options));
}

std::vector<float> DrawGradients(size_t keys) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1e-3f);
  std::vector<float> gradients(keys * kDim);
  for (float& gradient : gradients) gradient = normal(random);
  return gradients;
}

// Built once, for all benchmarks: the connection, and the limits.
struct Fixture {
  explicit Fixture(const ServerProcess* of) : server(of), client(ConnectTo(*of)), raw(OpenChannel(of->raw_address(), Edge::kNotCounted)) {
    const Job job = JobWith("none", "none");
    table = Must(server::Table::Create(0, TablesOf(job)[0], job.seed(), {0, MakeShardMap(job.cluster().shards(), 1)}, &arena));
    for (const char* const codec : {"none", "fp16"}) AddBags(codec, JobWith(codec, "none"));
    AddBags("sample_dct", JobWith("dct, scope: sample, sparsity: 0.9", ""));
    AddBags("dct", JobWith("none", "dct"));
    gradients = DrawGradients(kFillKeys);
    for (uint64_t row = 0; row < kRows; row += kFillKeys) {
      const std::vector<Key> keys = batches.Next(kFillKeys)[0].keys;
      Must(client->Push(step++, 1, 0, keys, gradients));
      table->Apply(keys, gradients, {1, 1});
    }
    CheckSameRows();
    // Until every row has a residual.
    for (uint64_t row = 0; row < kRows; row += kFillKeys) {
      const auto features = batches.Next(kFillKeys);
      const auto lookup = TrainLookup("dct", features);
      Must(Must(bags["dct"]->StartPush(lookup.get(), gradients))->Wait());
    }
  }

  void AddBags(const std::string& codec, const Job& job) {
    bags[codec] = Must(client::EmbeddingBags::Create(client.get(), {kDim, job.compression()}));
  }

  // What is measured does the same work as its limit.
  void CheckSameRows() {
    const std::vector<Key> keys = batches.Next(kFillKeys)[0].keys;
    std::vector<float> served(keys.size() * kDim), local(keys.size() * kDim);
    Must(client->Lookup(0, keys, absl::MakeSpan(served)));
    if (Must(table->Lookup(keys, absl::MakeSpan(local))) != 0 || served != local) Must(absl::InternalError("the server holds other rows"));
  }

  // The lookup of the next step, answered.
  std::unique_ptr<client::BagsLookup> TrainLookup(const std::string& codec, const std::vector<client::FeatureKeys>& features) {
    const auto samples = static_cast<uint32_t>(features[0].keys.size());
    auto lookup = Must(bags[codec]->StartLookup(step++, LookupRequest::PURPOSE_TRAIN, samples, features));
    rows.resize(size_t{samples} * kDim);
    Must(lookup->Wait(absl::MakeSpan(rows)));
    return lookup;
  }

  const ServerProcess* const server;
  const std::unique_ptr<client::Client> client;
  grpc::GenericStub raw;
  server::SlabArena arena;
  std::unique_ptr<server::Table> table;
  std::map<std::string, std::unique_ptr<client::EmbeddingBags>> bags;  // of each codec
  Batches batches;
  std::vector<float> gradients;
  std::vector<float> rows;  // of the last lookup
  int64_t step = 0;         // the next
};

double SecondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds.
struct Cost {
  double wall = 0;
  double client = 0;  // of processor time
  double server = 0;
};

using Costs = std::vector<Cost>;  // of turns

template <typename Work>
double Measure(const Fixture& fixture, Work work, Costs* costs) {
  const auto now = [&] {
    return Cost{SecondsOf(CLOCK_MONOTONIC), SecondsOf(CLOCK_PROCESS_CPUTIME_ID), SecondsOf(fixture.server->cpu_clock())};
  };
  const Cost start = now();
  work();
  const Cost end = now();
  costs->push_back({end.wall - start.wall, end.client - start.client, end.server - start.server});
  return costs->back().wall;
}

double Median(Costs costs, double Cost::*of) {
  const auto middle = costs.begin() + static_cast<ptrdiff_t>(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end(), [of](const Cost& a, const Cost& b) { return a.*of < b.*of; });
  return (*middle).*of;
}

// What is measured and its limits, turn by turn.
struct Sides {
  Costs weir, raw, table;
  size_t bytes = 0;  // of a turn, both ways
};

void Report(benchmark::State& state, const Sides& sides, size_t turn_keys) {
  const auto keys = static_cast<double>(turn_keys);
  const double weir = Median(sides.weir, &Cost::wall), raw = Median(sides.raw, &Cost::wall), table = Median(sides.table, &Cost::wall);
  state.counters["rows/s"] = keys / weir;
  state.counters["grpc"] = keys / raw;
  state.counters["of_grpc"] = raw / weir;
  state.counters["table"] = keys / table;
  state.counters["of_table"] = table / weir;
  state.counters["GB/s"] = static_cast<double>(sides.bytes) / weir / 1e9;
  state.counters["ns_client"] = Median(sides.weir, &Cost::client) / keys * 1e9;
  state.counters["ns_server"] = Median(sides.weir, &Cost::server) / keys * 1e9;
  state.counters["ns_grpc_client"] = Median(sides.raw, &Cost::client) / keys * 1e9;
  state.counters["ns_grpc_server"] = Median(sides.raw, &Cost::server) / keys * 1e9;
  state.counters["ns_table"] = Median(sides.table, &Cost::client) / keys * 1e9;
}

// Calls of one batch: the client's rule for one server (client/call_splitter.h).
size_t CallsOf(size_t keys) { return (keys * (sizeof(Key) + kDim * sizeof(float)) + kCallBytesTarget - 1) / kCallBytesTarget; }

// start(i) and later Wait of what it returned for each batch, with at most `in_flight` under way.
template <typename Start, typename Finish>
void Pipeline(size_t batches, size_t in_flight, Start start, Finish finish) {
  std::deque<decltype(start(size_t{0}))> under_way;
  for (size_t i = 0; i < batches; ++i) {
    if (under_way.size() == in_flight) {
      finish(under_way.front());
      under_way.pop_front();
    }
    under_way.push_back(start(i));
  }
  for (auto& last : under_way) finish(last);
}

std::string RawRequest(const PayloadBytes& payload) {
  std::string request(std::max(payload.request, sizeof(uint64_t)), 'x');
  const uint64_t reply = payload.reply;
  std::memcpy(request.data(), &reply, sizeof(reply));
  return request;
}

// Arguments: keys a batch, batches under way. All are lookups of the same step, as if it were tried again: no pushes have to follow.
void Lookup(benchmark::State& state, Fixture* fixture, const std::string& codec) {
  const size_t keys = state.range(0), in_flight = state.range(1);
  const size_t turn_batches = std::max(kTurnKeys / keys, 2 * in_flight), calls = turn_batches * CallsOf(keys);
  const size_t features = codec == "sample_dct" ? kSampleFeatures : 1;
  client::EmbeddingBags* const bags = fixture->bags[codec].get();
  std::vector<float> rows(keys * kDim);
  Sides sides;
  for (auto _ : state) {
    std::vector<std::vector<client::FeatureKeys>> batches(turn_batches);
    for (auto& batch : batches) batch = fixture->batches.Next(keys, features);
    const EdgeBytes before = CountedBytes();
    state.SetIterationTime(Measure(
        *fixture,
        [&] {
          Pipeline(
              turn_batches, in_flight,
              [&](size_t i) { return Must(bags->StartLookup(fixture->step, LookupRequest::PURPOSE_TRAIN, keys / features, batches[i])); },
              [&](auto& lookup) { Must(lookup->Wait(absl::MakeSpan(rows))); });
        },
        &sides.weir));
    const EdgeBytes after = CountedBytes();
    const PayloadBytes payload = {(after.lookup_request - before.lookup_request) / calls,
                                  (after.lookup_reply - before.lookup_reply) / calls};
    sides.bytes = calls * (payload.request + payload.reply);
    const std::string request = RawRequest(payload);
    const auto start_raw = [&](size_t) { return RawBatch(&fixture->raw, CallsOf(keys), request); };
    Measure(
        *fixture, [&] { Pipeline(turn_batches, in_flight, start_raw, [](RawBatch& batch) { batch.Wait(); }); }, &sides.raw);
    const auto look_up = [&](const auto& batch) {
      for (const client::FeatureKeys& feature : batch) {
        Must(fixture->table->Lookup(feature.keys, absl::MakeSpan(rows).first(feature.keys.size() * kDim)).status());
      }
    };
    Measure(
        *fixture, [&] { std::for_each(batches.begin(), batches.end(), look_up); }, &sides.table);
  }
  Report(state, sides, turn_batches * keys);
}

// Argument: keys a batch.
void Push(benchmark::State& state, Fixture* fixture, const std::string& codec) {
  const size_t keys = state.range(0), calls = CallsOf(keys);
  const absl::Span<const float> gradients = absl::MakeConstSpan(fixture->gradients).first(keys * kDim);
  Sides sides;
  for (auto _ : state) {
    const auto features = fixture->batches.Next(keys);
    const auto lookup = fixture->TrainLookup(codec, features);
    const uint64_t before = CountedBytes().push;
    state.SetIterationTime(Measure(
        *fixture, [&] { Must(Must(fixture->bags[codec]->StartPush(lookup.get(), gradients))->Wait()); }, &sides.weir));
    sides.bytes = CountedBytes().push - before;
    const std::string request = RawRequest({sides.bytes / calls, 0});
    Measure(
        *fixture, [&] { RawBatch(&fixture->raw, calls, request).Wait(); }, &sides.raw);
    Measure(
        *fixture,
        [&] {
          fixture->table->Apply(features[0].keys, gradients, {1, 1});
        },
        &sides.table);
  }
  Report(state, sides, keys);
}

void RegisterAll(Fixture* fixture) {
  for (const char* const codec : {"none", "fp16", "sample_dct"}) {
    auto* const lookup = benchmark::RegisterBenchmark(absl::StrCat("BM_Lookup/", codec).c_str(), Lookup, fixture, codec)
                             ->ArgNames({"keys", "in_flight"})
                             ->Args({50000, 2})
                             ->UseManualTime()
                             ->Unit(benchmark::kMicrosecond);
    if (codec != absl::string_view("sample_dct")) lookup->Args({2048, 1})->Args({2048, 4});
  }
  for (const char* const codec : {"none", "dct"}) {
    benchmark::RegisterBenchmark(absl::StrCat("BM_Push/", codec).c_str(), Push, fixture, codec)
        ->ArgName("keys")
        ->Arg(2048)
        ->Arg(50000)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  // --glibc_defaults: without the heap that every binary keeps, to see what it is worth (docs/performance.md).
  const bool glibc_defaults = argc == 2 && std::strcmp(argv[1], "--glibc_defaults") == 0;
  if (!glibc_defaults) weir::StartProcess("rpc_bench");
  const weir::ServerProcess server;
  weir::PinToCore(0);
  const auto fixture = std::make_unique<weir::Fixture>(&server);
  weir::RegisterAll(fixture.get());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
