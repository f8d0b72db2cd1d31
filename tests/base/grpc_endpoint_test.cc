#include "base/grpc_endpoint.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/socket_bytes.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "proto/data_service.grpc.pb.h"

namespace weir {
namespace {

// Answers every lookup with a frame of the size that the request asks for in `samples`.
class EchoService final : public DataService::Service {
 public:
  grpc::Status Lookup(grpc::ServerContext*, const LookupRequest* request, LookupReply* reply) override {
    reply->set_pooled_frame(std::string(request->samples(), 'x'));
    return grpc::Status::OK;
  }
  grpc::Status Push(grpc::ServerContext*, const PushRequest*, PushReply*) override { return ToGrpc(absl::DataLossError("broken frame")); }
};

// The kernel's own count of a connection: bytes received, and bytes sent that the peer acknowledged.
struct KernelCount {
  uint64_t sent = 0;
  uint64_t received = 0;
};

// Sums over this process's sockets that are connected to `port`.
KernelCount CountOfConnectionsTo(int port) {
  KernelCount count;
  DIR* dir = opendir("/proc/self/fd");
  for (const dirent* entry; (entry = readdir(dir)) != nullptr;) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    // gRPC connects through IPv6 sockets: the port is at the same place.
    if (ntohs(peer.sin_port) != port) continue;
    tcp_info info{};
    socklen_t info_size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0) continue;
    count.sent += info.tcpi_bytes_acked - 1;  // the SYN counts as one
    count.received += info.tcpi_bytes_received;
  }
  closedir(dir);
  return count;
}

absl::Status CallLookup(DataService::Stub* stub, uint32_t reply_bytes, const std::string& request_bytes) {
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + absl::Seconds(10));
  LookupRequest request;
  request.set_samples(reply_bytes);
  request.add_tables()->set_keys(request_bytes);
  LookupReply reply;
  return FromGrpc(stub->Lookup(&context, request, &reply), "server 0");
}

TEST(GrpcEndpointTest, CountsWhatTheKernelCounts) {
  EchoService service;
  auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&service});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const auto stub = DataService::NewStub(OpenChannel((*endpoint)->address(), Edge::kLookup));
  const EdgeBytes before = CountedBytes();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(CallLookup(stub.get(), 300000, std::string(1000, 'k')).ok());

  // The last acknowledgement may still be on its way to the kernel's counter.
  KernelCount kernel;
  EdgeBytes after;
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  do {
    kernel = CountOfConnectionsTo((*endpoint)->port());
    after = CountedBytes();
  } while (absl::Now() < deadline &&
           (kernel.sent != after.lookup_request - before.lookup_request || kernel.received != after.lookup_reply - before.lookup_reply));
  EXPECT_EQ(after.lookup_request - before.lookup_request, kernel.sent);
  EXPECT_EQ(after.lookup_reply - before.lookup_reply, kernel.received);
  EXPECT_GT(after.lookup_request - before.lookup_request, 20 * 1000);
  EXPECT_GT(after.lookup_reply - before.lookup_reply, 20 * 300000);
  EXPECT_EQ(after.push, before.push);
  EXPECT_EQ(after.control, before.control);
}

TEST(GrpcEndpointTest, ChannelsOfTwoEdgesAreCountedApart) {
  EchoService service;
  auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&service});
  ASSERT_TRUE(endpoint.ok());
  const auto lookups = DataService::NewStub(OpenChannel((*endpoint)->address(), Edge::kLookup));
  const auto pushes = DataService::NewStub(OpenChannel((*endpoint)->address(), Edge::kPush));
  ASSERT_TRUE(CallLookup(lookups.get(), 10, "").ok());
  const EdgeBytes before = CountedBytes();
  ASSERT_TRUE(CallLookup(pushes.get(), 100000, "").ok());
  const EdgeBytes after = CountedBytes();
  EXPECT_GT(after.push - before.push, 100000);
  EXPECT_LT(after.lookup_reply - before.lookup_reply, 1000) << "a push went over the lookup connection";
}

TEST(GrpcEndpointTest, PortTakenIsAnErrorThatNamesIt) {
  auto first = GrpcEndpoint::Listen("127.0.0.1:0", {});
  ASSERT_TRUE(first.ok());
  const auto second = GrpcEndpoint::Listen((*first)->address(), {});
  ASSERT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.status().message().find((*first)->address()), std::string::npos) << second.status();
}

TEST(GrpcEndpointTest, AddressWithoutPortIsRefused) {
  EXPECT_EQ(GrpcEndpoint::Listen("localhost", {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GrpcEndpointTest, StatusKeepsCodeAndNamesThePeer) {
  EchoService service;
  auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {&service});
  ASSERT_TRUE(endpoint.ok());
  const auto stub = DataService::NewStub(OpenChannel((*endpoint)->address(), Edge::kPush));
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + absl::Seconds(10));
  PushReply reply;
  const absl::Status status = FromGrpc(stub->Push(&context, PushRequest(), &reply), "server 3");
  EXPECT_EQ(status, absl::DataLossError("server 3: broken frame"));
}

TEST(GrpcEndpointTest, UnreachablePeerEndsAtTheDeadline) {
  std::string address;
  {
    auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {});
    ASSERT_TRUE(endpoint.ok());
    address = (*endpoint)->address();
  }
  const auto stub = DataService::NewStub(OpenChannel(address, Edge::kLookup));
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + absl::Milliseconds(200));
  LookupReply reply;
  EXPECT_EQ(stub->Lookup(&context, LookupRequest(), &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(GrpcEndpointTest, ServesHealth) {
  auto endpoint = GrpcEndpoint::Listen("127.0.0.1:0", {});
  ASSERT_TRUE(endpoint.ok());
  grpc::GenericStub stub(OpenChannel((*endpoint)->address(), Edge::kNotCounted));
  grpc::ClientContext context;
  SetDeadline(&context, absl::Now() + absl::Seconds(10));
  grpc::CompletionQueue queue;
  // An empty HealthCheckRequest asks for the server as a whole.
  const grpc::Slice empty;
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::ByteBuffer(&empty, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(reply.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 1);
  // HealthCheckResponse{status: SERVING}: field 1, varint 1.
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(slices[0].begin()), slices[0].size()), std::string("\x08\x01"));
}

}  // namespace
}  // namespace weir
