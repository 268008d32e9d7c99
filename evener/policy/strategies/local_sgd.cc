// Local SGD: every node trains k steps alone, then all replicas become their mean, optionally with
// outer momentum. The baseline that needs an all-reduce.
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class LocalSgd final : public Rounds {
 public:
  explicit LocalSgd(const PolicyConfig& config)
      : Rounds(static_cast<std::size_t>(config.values.number("period")), config.shared_batch(),
               Work::local),
        config_(config),
        momentum_(config.values.number("outer-momentum")) {}

 private:
  /// All workers that trained in the round have equal weight.
  Decision end_of_round(const std::vector<std::size_t>& rows) override {
    Merge merge;
    double count = 0;
    for (const std::size_t own : rows) count += own > 0 ? 1 : 0;
    for (const std::size_t own : rows) merge.weights.push_back(own > 0 ? 1 / count : 0);
    merge.momentum = momentum_;
    return merge;
  }

  /// The mean of all nodes' steps is a step on all their rows.
  std::size_t update_rows(std::size_t workers) const override {
    return config_.update_rows(workers);
  }

  PolicyConfig config_;
  double momentum_;
};

}  // namespace

Strategy local_sgd_strategy() {
  return {.name = "local-sgd",
          .line = "replicas train alone for some steps, then all become their mean",
          .paper = "McDonald et al. 2010; Stich 2019",
          .order = 140,
          .sharing = Sharing::replicas,
          .options = {number_option("period", "8", 1, kMostRows, "k: steps between two averagings"),
                      number_option("outer-momentum", "0", 0, 0.999, "of the mean's moves")},
          .make = [](const PolicyConfig& config) { return std::make_unique<LocalSgd>(config); }};
}

}  // namespace evener
