// The part that asp, ssp and dssp share: each push is applied as it arrives, as a part of a step.
#pragma once

#include <vector>

#include "evener/policy/parameter_server.h"

namespace evener {

class AsynchronousServer : public ParameterServer {
 public:
  explicit AsynchronousServer(const PolicyConfig& config)
      : ParameterServer(config),
        full_(config.values.is("share", "full")),
        damps_(config.values.on("staleness-lr")) {}

 protected:
  /// This node's push alone, by the options `share` and `staleness-lr`.
  void apply_at_once(int node) {
    nodes().move(node, NodeState::async);
    const int n = nodes().count();
    apply({node}, full_ ? 1.0 : 1.0 / n, damps_ ? damping_of(staleness(node), n) : 1);
  }

 private:
  bool full_, damps_;
};

/// Those of parameter_server_options(), `share` and `staleness-lr`.
std::vector<StrategyOption> asynchronous_server_options();

}  // namespace evener
