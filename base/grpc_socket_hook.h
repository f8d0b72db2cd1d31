// gRPC's socket mutator: the hook by which a channel sees each socket before it connects. gRPC takes one through its public API
// (ChannelArguments::SetSocketMutator) but installs no header that declares it; these declarations follow its
// src/core/lib/iomgr/socket_mutator.h, unchanged since 1.36. tests/base/grpc_endpoint_test.cc fails if they stop fitting.
#ifndef WEIR_BASE_GRPC_SOCKET_HOOK_H_
#define WEIR_BASE_GRPC_SOCKET_HOOK_H_

#include "grpc/support/sync.h"

enum grpc_fd_usage { GRPC_FD_CLIENT_CONNECTION_USAGE, GRPC_FD_SERVER_LISTENER_USAGE, GRPC_FD_SERVER_CONNECTION_USAGE };

struct grpc_mutate_socket_info {
  int fd;
  grpc_fd_usage usage;
};

struct grpc_socket_mutator;

struct grpc_socket_mutator_vtable {
  bool (*mutate_fd)(int fd, grpc_socket_mutator* mutator);
  int (*compare)(grpc_socket_mutator* a, grpc_socket_mutator* b);
  void (*destroy)(grpc_socket_mutator* mutator);
  bool (*mutate_fd_2)(const grpc_mutate_socket_info* info, grpc_socket_mutator* mutator);
};

struct grpc_socket_mutator {
  const grpc_socket_mutator_vtable* vtable;
  gpr_refcount refcount;
};

void grpc_socket_mutator_init(grpc_socket_mutator* mutator, const grpc_socket_mutator_vtable* vtable);

#endif  // WEIR_BASE_GRPC_SOCKET_HOOK_H_
