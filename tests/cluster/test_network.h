// The transports that tests of the cluster run over: gRPC and the one between threads; under the
// thread sanitizer, which cannot see into gRPC, only the latter.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/sanitized.h"
#include <gtest/gtest.h>

#include "evener/cluster/transport/transport.h"

namespace evener {

enum class TransportKind { grpc, local };

inline std::string to_string(TransportKind kind) {
  return kind == TransportKind::grpc ? "Grpc" : "Local";
}
/// For gtest.
inline void PrintTo(TransportKind kind, std::ostream* out) {
  *out << to_string(kind);
}

inline std::vector<TransportKind> transports_here() {
  if (kThreadSanitized) return {TransportKind::local};
  return {TransportKind::grpc, TransportKind::local};
}

/// A transport and the addresses that it has.
class TestNetwork {
 public:
  /// `admission`: of gRPC, in seconds.
  explicit TestNetwork(TransportKind kind, double admission = 10)
      : kind_(kind),
        transport_(kind == TransportKind::grpc ? make_grpc_transport({}, 0, admission)
                                               : make_local_transport()) {}

  const std::shared_ptr<Transport>& transport() const { return transport_; }
  /// To listen at any free address.
  std::string any_address() const { return kind_ == TransportKind::grpc ? "127.0.0.1:0" : ""; }
  /// Addresses that are free now.
  std::vector<std::string> free_addresses(int count) const {
    class Nothing final : public Handler {
      void received(Message /*message*/) override {}
      void ended(const std::string& /*why*/) override {}
    };
    std::vector<std::unique_ptr<Listener>> listeners;
    std::vector<std::string> addresses;
    for (int i = 0; i < count; ++i) {
      listeners.push_back(transport_->listen(any_address(), [](const std::shared_ptr<Channel>&) {
        return std::make_shared<Nothing>();
      }));
      addresses.push_back(listeners.back()->address());
    }
    return addresses;
  }

 private:
  TransportKind kind_;
  std::shared_ptr<Transport> transport_;
};

/// The address at which a test reaches a coordinator.
struct TestAddress {
  TestNetwork network;
  std::string address;
};

inline std::string transport_name(const testing::TestParamInfo<TransportKind>& kind) {
  return to_string(kind.param);
}

// NOLINTNEXTLINE(*macro-usage): as gtest's own
#define EVENER_OVER_TRANSPORTS(Suite) \
  INSTANTIATE_TEST_SUITE_P(Over, Suite, testing::ValuesIn(transports_here()), transport_name)

}  // namespace evener
