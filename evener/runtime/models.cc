// What all kinds of models share, and the choice of the kind.
#include "evener/runtime/models.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "evener/runtime/model_kinds.h"

namespace evener {

std::string kept_name(std::size_t worker, std::size_t vector) {
  return fmt::format("worker{}.{}", worker, vector);
}

void keep_copy(const FloatBuffer& vector, const std::string& name, KeptVectors& kept) {
  if (vector.size() == 0) return;
  FloatBuffer copy(vector.size());
  std::copy_n(vector.data(), vector.size(), copy.data());
  kept[name] = std::move(copy);
}

void refuse_decision(const Models& models, const char* decision, const char* kind) {
  throw Error(
      fmt::format("the policy decided {}, which needs a model of kind '{}', but the strategy's "
                  "model is of kind '{}'",
                  decision, kind, models.kind()));
}

double step_through(Replica& replica, const Dataset* data, const Task& task) {
  double sum = 0;
  for (std::size_t i = 0; i < task.parts.size(); ++i) {
    const auto& [slice, step] = task.parts[i];
    const Part* next = i + 1 < task.parts.size() ? &task.parts[i + 1]
                       : task.next               ? &*task.next
                                                 : nullptr;
    NextStep after;
    if (next != nullptr) after = {{data, next->slice.rows}, next->step};
    sum += replica.step({data, slice.rows}, step, next != nullptr ? &after : nullptr) *
           static_cast<double>(slice.rows.size());
  }
  return sum;
}

std::vector<double> Models::shares_of_present(std::vector<double> weights,
                                              const std::vector<FloatBuffer>& given) {
  const double before = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (given[i].size() == 0) weights[i] = 0;
  }
  const double after = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (after == before || after == 0) return weights;
  for (double& weight : weights) weight *= before / after;
  return weights;
}

std::unique_ptr<Models> make_models(const ModelSetup& setup, const StrategyChoice& strategy) {
  switch (strategy.strategy->sharing) {
    case Sharing::single:
      return make_single_model(setup);
    case Sharing::in_place:
      return make_shared_model(setup, false);
    case Sharing::shared:
      return make_shared_model(setup, strategy.overwrites());
    case Sharing::replicas:
      return make_replica_models(setup);
    case Sharing::gradients:
      return make_gradient_model(setup);
    case Sharing::pushes:
      return make_server_model(setup, strategy.compression());
    case Sharing::peers:
      return make_peer_models(setup, peer_options(strategy));
  }
  throw Error("a strategy has an unknown kind of sharing");
}

Training training_of_worker(const Training& training, std::size_t worker) {
  Training own = training;
  own.seed += worker * 0x9E3779B97F4A7C15U;
  return own;
}

}  // namespace evener
