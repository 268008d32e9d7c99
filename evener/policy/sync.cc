// Synchronous data parallelism, what MirroredStrategy and DDP do: a static equal split, and one
// update from the gradient of all parts. g = sum_i (rows_i / sum rows) g_i.
#include <numeric>

#include "evener/policy/policies.h"
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class Sync final : public Rounds {
 public:
  explicit Sync(std::size_t rows) : Rounds(1, rows, Work::gradient) {}

 private:
  Decision end_of_round(const std::vector<std::size_t>& rows) override {
    const auto total =
        static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::size_t{0}));
    Apply apply;
    for (const std::size_t part : rows) apply.weights.push_back(static_cast<double>(part) / total);
    return apply;
  }
};

}  // namespace

std::unique_ptr<Policy> make_sync(const PolicyConfig& config) {
  return std::make_unique<Sync>(config.shared_batch());
}

}  // namespace evener
