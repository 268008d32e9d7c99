#include "evener/cluster/transport/grpc/grpc_reason.h"

namespace evener {

std::string reason_of(const grpc::Status& status) {
  const std::string message = status.error_message();
  const auto has = [&](const char* text) { return message.find(text) != std::string::npos; };
  // gRPC names every layer that an error passed through; the last one is the cause.
  const std::size_t last = message.rfind(": ");
  const std::string cause = last == std::string::npos ? message : message.substr(last + 2);
  // The time for TLS is over, if this is the last cause.
  const bool silent = cause == "Handshake read failed" || has("Handshake timed out");
  if (has("Failed parsing HTTP/2") || has("SETTINGS frame") || has("http1.x") || silent ||
      status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return "something listens there, but it does not answer as evener";
  }
  if (has("wrong version number")) {
    return "something listens there, but it does not answer with TLS (does it run without --tls, "
           "or is it not evener?)";
  }
  if (has("DNS resolution failed")) return "no address is known for this host";
  return has("connect") && last != std::string::npos ? "cannot connect: " + cause : message;
}

}  // namespace evener
