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

}  // namespace evener
