// Asynchronous parallel: every push is applied at once, as 1/N of a step, and nobody waits.
#include "evener/policy/parameter_server.h"
#include "evener/policy/policies.h"

namespace evener {

namespace {

class Asp final : public ParameterServer {
 public:
  using ParameterServer::ParameterServer;

 private:
  void pushed(int node) override {
    apply_at_once(node);
    release(node);
  }
};

}  // namespace

std::unique_ptr<Policy> make_asp(const PolicyConfig& config) {
  return std::make_unique<Asp>(config);
}

}  // namespace evener
