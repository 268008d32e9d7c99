// Synchronous model averaging (CROSSBOW, Koliousis et al. 2019): after every local step
//   d_i = w_i - z;  w_i -= a d_i;  z += sum a d_i + m (z - z_prev)
// with a = 1/n (their code: .5), m = .9.
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class Sma final : public Rounds {
 public:
  Sma(std::size_t rows, double pull, double momentum)
      : Rounds(1, rows, Work::local), average_{pull, momentum} {}

 private:
  Decision end_of_round(const std::vector<std::size_t>& /*rows*/) override { return average_; }

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
                      number_option("center-momentum", "0.9", 0, 0.999, "m: of the center")},
          .presets = {paper_preset(), released_preset({{"pull", "0.5"}})},
          .make = [](const PolicyConfig& config) {
            return std::make_unique<Sma>(config.own_batch(),
                                         config.values.number("pull", 1.0 / config.workers),
                                         config.values.number("center-momentum"));
          }};
}

}  // namespace evener
