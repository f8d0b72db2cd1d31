// Bytes at the socket, by edge. The process's own send and receive functions are wrapped, so that everything that gRPC and Gloo put on
// a labelled socket is counted: payload, HTTP/2 framing, headers, retries. A connection is counted in one process only, both
// directions: data and dense connections where they were opened (a worker), control connections where they were accepted (the
// coordinator). Thread-safe.
#ifndef WEIR_BASE_SOCKET_BYTES_H_
#define WEIR_BASE_SOCKET_BYTES_H_

#include <cstdint>

namespace weir {

// What a connection is for. A lookup connection carries two edges: what is sent on it are requests, what is received are replies.
enum class Edge : uint8_t { kNotCounted = 0, kLookup, kPush, kDense, kControl };

struct EdgeBytes {
  uint64_t lookup_request = 0;
  uint64_t lookup_reply = 0;
  uint64_t push = 0;
  uint64_t dense = 0;
  uint64_t control = 0;
};

// All that was counted in this process.
EdgeBytes CountedBytes();

// From now on counts what goes over this socket as `edge`; until it is closed.
void CountSocket(int fd, Edge edge);

// Sockets that this process accepts are counted as `edge`.
void CountAcceptedSockets(Edge edge);

// Sockets that this thread connects in the object's lifetime are counted as `edge`. For libraries that give no access to their sockets
// (Gloo).
class CountConnectsInScope {
 public:
  explicit CountConnectsInScope(Edge edge);
  ~CountConnectsInScope();
  CountConnectsInScope(const CountConnectsInScope&) = delete;
  CountConnectsInScope& operator=(const CountConnectsInScope&) = delete;
};

}  // namespace weir

#endif  // WEIR_BASE_SOCKET_BYTES_H_
