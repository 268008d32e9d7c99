// The policies' factories, one file each; the catalogue lists them.
#pragma once

#include <memory>

#include "evener/policy/policy.h"
#include "evener/policy/strategy.h"
#include "evener/policy/worker_set.h"

namespace evener {

std::unique_ptr<Policy> make_sequential(const PolicyConfig& config);
std::unique_ptr<Policy> make_hogwild(const PolicyConfig& config);
std::unique_ptr<Policy> make_hogbatch(const PolicyConfig& config);
std::unique_ptr<Policy> make_adaptive_hogbatch(const PolicyConfig& config);
std::unique_ptr<Policy> make_sync(const PolicyConfig& config);
std::unique_ptr<Policy> make_elastic(const PolicyConfig& config);
std::unique_ptr<Policy> make_sma(const PolicyConfig& config);
std::unique_ptr<Policy> make_adaptive_sgd(const PolicyConfig& config);
std::unique_ptr<Policy> make_bsp(const PolicyConfig& config);
std::unique_ptr<Policy> make_asp(const PolicyConfig& config);
std::unique_ptr<Policy> make_ssp(const PolicyConfig& config);
std::unique_ptr<Policy> make_dssp(const PolicyConfig& config);
std::unique_ptr<Policy> make_dasp(const PolicyConfig& config);
std::unique_ptr<Policy> make_local_sgd(const PolicyConfig& config);
std::unique_ptr<Policy> make_gossip(const PolicyConfig& config);

}  // namespace evener
