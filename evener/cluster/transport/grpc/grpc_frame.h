// A message as gRPC carries it: four bytes with the head's length, the head, the body.
#pragma once

#include <optional>

#include <grpcpp/support/byte_buffer.h>

#include "evener/cluster/transport/transport.h"

namespace evener {

/// The body is not copied: it lives until gRPC has sent it.
grpc::ByteBuffer to_frame(const Message& message);
/// Nothing where it is malformed. The body is not copied either.
std::optional<Message> from_frame(const grpc::ByteBuffer& frame);

}  // namespace evener
