// The options of each strategy, for the catalogue.
#pragma once

#include "evener/policy/strategy.h"

namespace evener {

std::vector<StrategyOption> hogwild_options();
std::vector<StrategyOption> hogbatch_options();
std::vector<StrategyOption> adaptive_hogbatch_options();
std::vector<StrategyOption> elastic_options();
std::vector<StrategyOption> sma_options();
std::vector<StrategyOption> adaptive_sgd_options();
std::vector<StrategyOption> bsp_options();
std::vector<StrategyOption> asp_options();
std::vector<StrategyOption> ssp_options();
std::vector<StrategyOption> dssp_options();
std::vector<StrategyOption> dasp_options();
std::vector<StrategyOption> local_sgd_options();
std::vector<StrategyOption> gossip_options();
std::vector<StrategyOption> adaptive_gossip_options();

}  // namespace evener
