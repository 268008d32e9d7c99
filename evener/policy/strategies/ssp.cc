// Stale synchronous parallel (Ho et al. 2013): as asp, but a node that is more than s pushes ahead
// of the slowest waits for it.
#include "evener/policy/parameter_server.h"
#include "evener/policy/policies.h"

namespace evener {

namespace {

class Ssp final : public ParameterServer {
 public:
  explicit Ssp(const PolicyConfig& config)
      : ParameterServer(config), bound_(config.values.number("s")) {}

 private:
  void pushed(int node) override {
    apply_at_once(node);
    release_within(node, bound_);
    release_bound(bound_);
  }
  void missed(int /*node*/) override { release_bound(bound_); }
  void woken() override { release_bound(bound_); }

  double bound_;
};

}  // namespace

std::unique_ptr<Policy> make_ssp(const PolicyConfig& config) {
  return std::make_unique<Ssp>(config);
}

}  // namespace evener
