// Asynchronous parallel: every push is applied at once, as 1/N of a step, and no node waits.
#include "evener/policy/asynchronous_server.h"

namespace evener {

namespace {

class Asp final : public AsynchronousServer {
 public:
  using AsynchronousServer::AsynchronousServer;

 private:
  void pushed(int node) override {
    apply_at_once(node);
    release(node);
  }
};

}  // namespace

Strategy asp_strategy() {
  return {.name = "asp",
          .line = "parameter server: each push is applied as it comes, no node waits",
          .paper = "Dean et al. 2012 (DistBelief)",
          .order = 100,
          .sharing = Sharing::pushes,
          .options = asynchronous_server_options(),
          .make = [](const PolicyConfig& config) { return std::make_unique<Asp>(config); },
          .compression = compression_from};
}

}  // namespace evener
