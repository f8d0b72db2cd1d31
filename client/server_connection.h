// The channels to one server. Apart from server_group.h because gRPC's headers are slow to compile.
#ifndef WEIR_CLIENT_SERVER_CONNECTION_H_
#define WEIR_CLIENT_SERVER_CONNECTION_H_

#include <memory>
#include <string>

#include "proto/data_service.grpc.pb.h"

namespace weir::client {

// Thread-safe. Lookups and pushes have a connection each, because their bytes are counted apart at the socket.
struct ServerConnection {
  std::string name;  // "server 1 at 127.0.0.1:4000"
  std::unique_ptr<DataService::Stub> lookup;
  std::unique_ptr<DataService::Stub> push;
};

}  // namespace weir::client

#endif  // WEIR_CLIENT_SERVER_CONNECTION_H_
