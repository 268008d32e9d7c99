// Synchronous model averaging (CROSSBOW, Koliousis et al. 2019): after every local step
//   d_i = w_i - z;  w_i -= a d_i;  z += sum a d_i + m (z - z_prev)
// with a = 1/n (their code: .5), m = .9.
#include "evener/policy/policies.h"
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

std::unique_ptr<Policy> make_sma(const PolicyConfig& config) {
  const auto& values = config.values;
  return std::make_unique<Sma>(config.own_batch(), values.number("pull", 1.0 / config.workers),
                               values.number("center-momentum"));
}

}  // namespace evener
