// Plain mini-batch SGD: one worker, one batch after the other.
#include "evener/policy/policies.h"

namespace evener {

namespace {

class Sequential final : public Policy {
 public:
  explicit Sequential(std::size_t batch) : batch_(batch) {}

  Decisions on(const Event& event) override {
    if (const auto* joined = std::get_if<Joined>(&event)) workers_.join(*joined);
    if (std::holds_alternative<EpochBegan>(event) || std::holds_alternative<Finished>(event)) {
      return {workers_.assign(0, batch_, Work::local)};
    }
    return {};
  }

 private:
  WorkerSet workers_;
  std::size_t batch_;
};

}  // namespace

std::unique_ptr<Policy> make_sequential(const PolicyConfig& config) {
  return std::make_unique<Sequential>(config.own_batch());
}

}  // namespace evener
