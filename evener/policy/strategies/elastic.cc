// Elastic averaging SGD (Zhang, Choromanska, LeCun 2015), synchronous form: after every p local
// steps  w_i -= a (w_i - z),  z += a sum (w_i - z),  a = .9/n.
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

Strategy elastic_strategy() {
  return {
      .name = "elastic",
      .line = "replicas pulled towards a common center every few steps",
      .paper = "Zhang, Choromanska, LeCun 2015",
      .order = 60,
      .sharing = Sharing::replicas,
      .options = {number_option("period", "10", 1, kMostRows,
                                "p: local steps between two averagings"),
                  number_option("pull", "auto", 0, 1,
                                "a: how far a replica goes to the center; auto: 0.9 / devices")},
      .make = [](const PolicyConfig& config) {
        return std::make_unique<Elastic>(static_cast<std::size_t>(config.values.number("period")),
                                         config.own_batch(),
                                         config.values.number("pull", 0.9 / config.workers));
      }};
}

}  // namespace evener
