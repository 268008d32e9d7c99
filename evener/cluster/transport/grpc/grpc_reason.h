// Why gRPC has ended a connection, for people.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

namespace evener {

/// `status` is not OK.
std::string reason_of(const grpc::Status& status);

}  // namespace evener
