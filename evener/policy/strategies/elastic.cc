// Elastic averaging SGD (Zhang, Choromanska, LeCun 2015), synchronous form: after every p local
// steps  w_i -= a (w_i - z),  z += a sum (w_i - z),  a = .9/n.
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class Elastic final : public Rounds {
 public:
  explicit Elastic(const PolicyConfig& config)
      : Rounds(static_cast<std::size_t>(config.values.number("period")), step_rows(config),
               Work::local),
        config_(config),
        pull_(config.values.number("pull", 0.9 / config.workers)) {}

 private:
  std::size_t update_rows(std::size_t workers) const override {
    return rows_of_update(config_, workers);
  }
  Decision end_of_round(const std::vector<std::size_t>& /*rows*/) override {
    return ElasticAverage{pull_, 0};
  }

  PolicyConfig config_;
  double pull_;
};

}  // namespace

Strategy elastic_strategy() {
  return {.name = "elastic",
          .line = "replicas pulled towards a common center every few steps",
          .paper = "Zhang, Choromanska, LeCun 2015",
          .order = 60,
          .sharing = Sharing::replicas,
          .options = {number_option("period", "10", 1, kMostRows,
                                    "p: local steps between two averagings"),
                      number_option("pull", "auto", 0, 1,
                                    "a: how far a replica goes to the center; auto: 0.9 / devices"),
                      step_option()},
          .presets = {evener_preset(), paper_preset({{"step", "whole"}})},
          .make = [](const PolicyConfig& config) { return std::make_unique<Elastic>(config); }};
}

}  // namespace evener
