// Elastic averaging SGD (Zhang, Choromanska, LeCun 2015), synchronous form: after every p local
// steps  w_i -= a (w_i - z),  z += a sum (w_i - z),  a = .9/n.
#include "evener/policy/policies.h"
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class Elastic final : public Rounds {
 public:
  Elastic(std::size_t period, std::size_t rows, double pull)
      : Rounds(period, rows, Work::local), pull_(pull) {}

 private:
  Decision end_of_round(const std::vector<std::size_t>& /*rows*/) override {
    return ElasticAverage{pull_, 0};
  }

  double pull_;
};

}  // namespace

std::unique_ptr<Policy> make_elastic(const PolicyConfig& config) {
  const auto& values = config.values;
  return std::make_unique<Elastic>(static_cast<std::size_t>(values.number("period")),
                                   config.own_batch(), values.number("pull", 0.9 / config.workers));
}

}  // namespace evener
