// Synchronous model averaging (CROSSBOW, Koliousis et al. 2019): after every local step
//   d_i = w_i - z;  w_i -= a d_i;  z += sum a d_i + m (z - z_prev)
// with a = 1/n (their code: .5), m = .9.
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class Sma final : public Rounds {
 public:
  explicit Sma(const PolicyConfig& config)
      : Rounds(1, step_rows(config), Work::local),
        config_(config),
        average_{config.values.number("pull", 1.0 / config.workers),
                 config.values.number("center-momentum")} {}

 private:
  std::size_t update_rows(std::size_t workers) const override {
    return rows_of_update(config_, workers);
  }
  Decision end_of_round(const std::vector<std::size_t>& /*rows*/) override { return average_; }

  PolicyConfig config_;
  ElasticAverage average_;
};

}  // namespace

Strategy sma_strategy() {
  return {.name = "sma",
          .line = "replicas pulled towards a center with momentum after every step",
          .paper = "Koliousis et al. 2019 (CROSSBOW)",
          .order = 70,
          .sharing = Sharing::replicas,
          .options = {number_option("pull", "auto", 0, 1,
                                    "a: how far a replica goes to the center; auto: 1 / devices"),
                      number_option("center-momentum", "0.9", 0, 0.999, "m: of the center"),
                      step_option()},
          .presets = {evener_preset(), paper_preset({{"step", "whole"}}),
                      released_preset({{"step", "whole"}, {"pull", "0.5"}})},
          .make = [](const PolicyConfig& config) { return std::make_unique<Sma>(config); }};
}

}  // namespace evener
