// Local SGD: every node trains k steps alone, then all become their mean; with outer momentum the
// mean goes on in the direction it went. The baseline that needs an all-reduce.
#include "evener/policy/policies.h"
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class LocalSgd final : public Rounds {
 public:
  LocalSgd(std::size_t period, std::size_t rows, double momentum)
      : Rounds(period, rows, Work::local), momentum_(momentum) {}

 private:
  /// Whoever trained in the round counts alike.
  Decision end_of_round(const std::vector<std::size_t>& rows) override {
    Merge merge;
    double count = 0;
    for (const std::size_t own : rows) count += own > 0 ? 1 : 0;
    for (const std::size_t own : rows) merge.weights.push_back(own > 0 ? 1 / count : 0);
    merge.momentum = momentum_;
    return merge;
  }

  double momentum_;
};

}  // namespace

std::unique_ptr<Policy> make_local_sgd(const PolicyConfig& config) {
  const auto& values = config.values;
  return std::make_unique<LocalSgd>(static_cast<std::size_t>(values.number("period")),
                                    config.shared_batch(), values.number("outer-momentum"));
}

}  // namespace evener
