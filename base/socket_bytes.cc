// Fortified headers define some of the functions below inline.
#undef _FORTIFY_SOURCE

#include "base/socket_bytes.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace weir {
namespace {

constexpr int kFileDescriptorsMax = 1 << 16;

// All relaxed: the numbers are statistics, they order nothing.
std::array<std::atomic<uint8_t>, kFileDescriptorsMax> edge_of_socket{};
std::array<std::atomic<uint64_t>, 5> sent{};      // by edge
std::array<std::atomic<uint64_t>, 5> received{};  // by edge
std::atomic<uint8_t> accepted_edge{0};
thread_local uint8_t connect_edge = 0;

void Add(std::array<std::atomic<uint64_t>, 5>& bytes, int fd, ssize_t count) {
  if (count <= 0 || fd < 0 || fd >= kFileDescriptorsMax) return;
  const uint8_t edge = edge_of_socket[fd].load(std::memory_order_relaxed);
  if (edge != 0) bytes[edge].fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
}

ssize_t CountSent(int fd, ssize_t count) {
  Add(sent, fd, count);
  return count;
}

ssize_t CountReceived(int fd, ssize_t count, int flags = 0) {
  if ((flags & MSG_PEEK) == 0) Add(received, fd, count);
  return count;
}

int CountAccepted(int fd) {
  const uint8_t edge = accepted_edge.load(std::memory_order_relaxed);
  if (fd >= 0 && edge != 0) CountSocket(fd, static_cast<Edge>(edge));
  return fd;
}

}  // namespace

EdgeBytes CountedBytes() {
  const auto both = [](Edge edge) {
    const auto index = static_cast<size_t>(edge);
    return sent[index].load(std::memory_order_relaxed) + received[index].load(std::memory_order_relaxed);
  };
  EdgeBytes bytes;
  bytes.lookup_request = sent[static_cast<size_t>(Edge::kLookup)].load(std::memory_order_relaxed);
  bytes.lookup_reply = received[static_cast<size_t>(Edge::kLookup)].load(std::memory_order_relaxed);
  bytes.push = both(Edge::kPush);
  bytes.dense = both(Edge::kDense);
  bytes.control = both(Edge::kControl);
  return bytes;
}

void CountSocket(int fd, Edge edge) {
  if (fd >= 0 && fd < kFileDescriptorsMax) edge_of_socket[fd].store(static_cast<uint8_t>(edge), std::memory_order_relaxed);
}

void CountAcceptedSockets(Edge edge) { accepted_edge.store(static_cast<uint8_t>(edge), std::memory_order_relaxed); }

CountConnectsInScope::CountConnectsInScope(Edge edge) { connect_edge = static_cast<uint8_t>(edge); }
CountConnectsInScope::~CountConnectsInScope() { connect_edge = 0; }

}  // namespace weir

// The C library's functions under their own names: a definition in the executable (linked with -rdynamic) goes before the C library's for
// every shared library. Each calls the real one and counts what it moved.
#define WEIR_REAL(name) static const auto real = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

extern "C" {

ssize_t send(int fd, const void* data, size_t size, int flags) {
  WEIR_REAL(send);
  return weir::CountSent(fd, real(fd, data, size, flags));
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  WEIR_REAL(sendmsg);
  return weir::CountSent(fd, real(fd, message, flags));
}

ssize_t write(int fd, const void* data, size_t size) {
  WEIR_REAL(write);
  return weir::CountSent(fd, real(fd, data, size));
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  WEIR_REAL(writev);
  return weir::CountSent(fd, real(fd, parts, count));
}

ssize_t recv(int fd, void* data, size_t size, int flags) {
  WEIR_REAL(recv);
  return weir::CountReceived(fd, real(fd, data, size, flags), flags);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  WEIR_REAL(recvmsg);
  return weir::CountReceived(fd, real(fd, message, flags), flags);
}

ssize_t read(int fd, void* data, size_t size) {
  WEIR_REAL(read);
  return weir::CountReceived(fd, real(fd, data, size));
}

ssize_t readv(int fd, const struct iovec* parts, int count) {
  WEIR_REAL(readv);
  return weir::CountReceived(fd, real(fd, parts, count));
}

int connect(int fd, const struct sockaddr* address, socklen_t size) {
  WEIR_REAL(connect);
  if (weir::connect_edge != 0) weir::CountSocket(fd, static_cast<weir::Edge>(weir::connect_edge));
  return real(fd, address, size);
}

int accept(int fd, struct sockaddr* address, socklen_t* size) {
  WEIR_REAL(accept);
  return weir::CountAccepted(real(fd, address, size));
}

int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags) {
  WEIR_REAL(accept4);
  return weir::CountAccepted(real(fd, address, size, flags));
}

int close(int fd) {
  WEIR_REAL(close);
  // Before the call: afterwards the number may already name another thread's new socket.
  weir::CountSocket(fd, weir::Edge::kNotCounted);
  return real(fd);
}

}  // extern "C"
