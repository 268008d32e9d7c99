#include "evener/policy/normalized_merge.h"

#include <algorithm>

namespace evener {

NormalizedMerge::NormalizedMerge(const StrategyValues& v)
    : rule_(v.word("merge")),
      perturbs_(v.on("perturbation")),
      threshold_(v.number("perturbation-threshold")),
      delta_(v.number("delta")),
      from_epoch_(v.number("perturbation-from")),
      momentum_(v.number("gamma")),
      moments_(v.is("moments", "merged")) {}

Merge NormalizedMerge::weigh(const std::vector<DeviceProgress>& progress,
                             const std::vector<int>& workers, const std::vector<double>& norms,
                             std::uint64_t epoch) const {
  const auto of = [&](int worker) -> const DeviceProgress& {
    return progress[static_cast<std::size_t>(worker)];
  };
  const auto fewer = [&](int a, int b) { return of(a).updates < of(b).updates; };
  const int slowest = *std::min_element(workers.begin(), workers.end(), fewer);
  const int fastest = *std::max_element(workers.begin(), workers.end(), fewer);
  const bool equal = of(slowest).updates == of(fastest).updates;

  const auto share = [&](int worker) {
    if (rule_ == "equal") return 1.0;
    if (rule_ == "normalized" && equal) return of(worker).batch;
    return static_cast<double>(of(worker).updates);
  };
  Merge merge{std::vector<double>(progress.size(), 0), momentum_, moments_};
  double total = 0;
  for (const int worker : workers) total += share(worker);
  for (const int worker : workers) {
    merge.weights[static_cast<std::size_t>(worker)] = share(worker) / total;
  }
  const bool regular = perturbs_ && std::all_of(workers.begin(), workers.end(), [&](int worker) {
                         return norms[static_cast<std::size_t>(worker)] < threshold_;
                       });
  if (regular && fastest != slowest && static_cast<double>(epoch) >= from_epoch_) {
    merge.weights[static_cast<std::size_t>(fastest)] *= 1 + delta_;
    merge.weights[static_cast<std::size_t>(slowest)] *= 1 - delta_;
  }
  return merge;
}

std::vector<StrategyOption> normalized_merge_options() {
  return {
      word_option("merge", {"normalized", "updates", "equal"},
                  "weights of replicas: by batch size where updates are equal, else by "
                  "updates; always by updates; all alike"),
      word_option("perturbation", {"off", "on"},
                  "favour the replica with most updates while weights are small"),
      number_option("perturbation-threshold", "0.1", 0, kMostRows,
                    "norm of w / number of parameters, above which nothing is perturbed"),
      number_option("perturbation-from", "0", 0, kMostRows, "first epoch with perturbation"),
      number_option("delta", "0.1", 0, 1, "size of the perturbation"),
      number_option("gamma", "0", 0, 0.999, "momentum of merges"),
      word_option("moments", {"merged", "own"},
                  "the second moments of Adam and AdaGrad are averaged with the replicas (ours), "
                  "or each replica keeps its own")};
}

}  // namespace evener
