#include "evener/policy/catalogue.h"

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/policy/catalogue_options.h"
#include "evener/policy/policies.h"

namespace evener {

namespace {

const std::vector<Strategy> kStrategies{
    {"sequential",
     "one device, one batch after the other: plain mini-batch training",
     "",
     Sharing::single,
     {},
     make_sequential},
    {"hogwild", "CPU threads step in place on one shared model without locks",
     "Recht, Re, Wright, Niu 2011", Sharing::in_place, hogwild_options(), make_hogwild},
    {"hogbatch",
     "small batches in place on CPU threads beside large ones on copies by accelerators",
     "Ma, Rusu 2020",
     Sharing::shared,
     hogbatch_options(),
     make_hogbatch,
     {{"writeback", "overwrite"}}},
    {"adaptive-hogbatch",
     "hogbatch whose batch sizes evolve until all do equally many updates",
     "Ma, Rusu 2020",
     Sharing::shared,
     adaptive_hogbatch_options(),
     make_adaptive_hogbatch,
     {{"writeback", "overwrite"}}},
    {"sync",
     "a part of each batch on every device, one update from the sum of gradients",
     "what PyTorch DDP and TensorFlow MirroredStrategy do",
     Sharing::gradients,
     {word_option("split", {"equal", "speed"},
                  "parts of a batch: equal, or by the devices' speed (ours)")},
     make_sync},
    {"elastic", "replicas pulled towards a common center every few steps",
     "Zhang, Choromanska, LeCun 2015", Sharing::replicas, elastic_options(), make_elastic},
    {"sma",
     "replicas pulled towards a center with momentum after every step",
     "Koliousis et al. 2019 (CROSSBOW)",
     Sharing::replicas,
     sma_options(),
     make_sma,
     {{"pull", "0.5"}}},
    {"adaptive-sgd",
     "replicas; batches to whoever is free, sizes by speed, merged with normalized weights",
     "Ma, Rusu, Wu, Sim 2022",
     Sharing::replicas,
     adaptive_sgd_options(),
     make_adaptive_sgd,
     {{"b-max", "1024"},
      {"b-min", "32"},
      {"b-start", "min"},
      {"scaler", "released"},
      {"beta", "32"},
      {"merge", "updates"},
      {"perturbation-from", "10"},
      {"warmup", "10"}}},
    {"bsp", "parameter server: all push, the mean is applied, all go on", "Valiant 1990",
     Sharing::pushes, bsp_options(), make_bsp},
    {"asp", "parameter server: each push is applied as it comes, nobody waits",
     "Dean et al. 2012 (DistBelief)", Sharing::pushes, asp_options(), make_asp},
    {"ssp", "asp where nobody gets too far ahead of the slowest", "Ho et al. 2013", Sharing::pushes,
     ssp_options(), make_ssp},
    {"dssp", "ssp where the fastest gets extra turns by measured pace", "Zhao et al. 2019",
     Sharing::pushes, dssp_options(), make_dssp},
    {"dasp", "each worker moves between synchronous and asynchronous ways by its state",
     "Ma, Xiang et al. 2023", Sharing::pushes, dasp_options(), make_dasp},
    {"local-sgd", "replicas train alone for some steps, then all become their mean",
     "McDonald et al. 2010; Stich 2019", Sharing::replicas, local_sgd_options(), make_local_sgd},
    {"gossip", "replicas exchange with one peer every so many steps, without a server",
     "Lian et al. 2018 (AD-PSGD)", Sharing::peers, gossip_options(), make_gossip},
    {"adaptive-gossip", "gossip when the local model has changed, not by the clock",
     "Ho, Wu, Liu 2018; the trigger is ours", Sharing::peers, adaptive_gossip_options(),
     make_gossip},
};

/// The option every strategy with two versions has.
const StrategyOption& preset_option() {
  static const StrategyOption option = word_option(
      "preset", {"paper", "released"}, "defaults of the paper, or of its authors' code");
  return option;
}

}  // namespace

std::vector<StrategyOption> options_of(const Strategy& strategy) {
  std::vector<StrategyOption> options = strategy.options;
  if (!strategy.released.empty()) options.insert(options.begin(), preset_option());
  return options;
}

const std::vector<Strategy>& strategies() {
  return kStrategies;
}

const Strategy& find_strategy(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& strategy : kStrategies) {
    if (strategy.name == name) return strategy;
    names.push_back(strategy.name);
  }
  throw UsageError(fmt::format("unknown strategy '{}'{}; valid: {}", name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

void check_workers(const Strategy& strategy, const std::vector<WorkerTraits>& workers) {
  if (workers.empty()) throw UsageError("no device to train on");
  if (strategy.sharing == Sharing::single && workers.size() > 1) {
    throw UsageError(
        fmt::format("strategy {} trains on one device, and {} are given: choose "
                    "another strategy (evener strategies) or one device",
                    strategy.name, workers.size()));
  }
  if (strategy.sharing != Sharing::in_place) return;
  for (const auto& worker : workers) {
    if (!worker.in_place) {
      throw UsageError(
          fmt::format("strategy {} works in place on CPU devices only, and {} is not "
                      "one",
                      strategy.name, worker.name));
    }
  }
}

}  // namespace evener
