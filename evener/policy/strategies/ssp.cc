// Stale synchronous parallel (Ho et al. 2013): as asp, but a node that is more than s pushes ahead
// of the slowest waits for it.
#include "evener/policy/asynchronous_server.h"

namespace evener {

namespace {

class Ssp final : public AsynchronousServer {
 public:
  explicit Ssp(const PolicyConfig& config)
      : AsynchronousServer(config), bound_(config.values.number("s")) {}

 private:
  void pushed(int node) override {
    apply_at_once(node);
    release_within(node, bound_);
    release_bound(bound_);
  }
  void missed(int /*node*/) override { release_bound(bound_); }
  void reconsider() override { release_bound(bound_); }

  double bound_;
};

}  // namespace

Strategy ssp_strategy() {
  return {
      .name = "ssp",
      .line = "asp where no node gets too far ahead of the slowest",
      .paper = "Ho et al. 2013",
      .order = 110,
      .sharing = Sharing::pushes,
      .options = join_options(asynchronous_server_options(),
                              {number_option("s", "3", 0, kUnbounded,
                                             "pushes that a node may be ahead of the slowest")}),
      .make = [](const PolicyConfig& config) { return std::make_unique<Ssp>(config); },
      .compression = compression_from};
}

}  // namespace evener
