// [A]: replicas on four cards of unequal speed.
#include "tests/claims/claims.h"

namespace evener {
namespace {

const std::string kPublished = "adaptive-sgd:preset=paper";
const std::string kOurs = "adaptive-sgd";

Claim claim(const ClaimSet& set, std::vector<std::string> strategies,
            const std::vector<double>& speeds, std::uint32_t epochs = 4) {
  const ClaimData data = claim_data(set);
  Claim claim;
  claim.train.data = data.train;
  claim.train.test = data.test;
  claim.train.hidden = {64};
  claim.train.loss = "sigmoid";
  claim.train.decay = "constant";
  claim.train.dropout = 0;
  claim.train.epochs = epochs;
  claim.train.learning_rate = 0.01;
  claim.train.cache = false;
  claim.options.strategies = std::move(strategies);
  claim.options.grid = {0.3, 1, 3};
  for (const double speed : speeds) claim.devices.push_back(card(speed));
  return claim;
}

using Speeds = std::vector<double>;
class UnequalCards : public testing::TestWithParam<std::tuple<Speeds, ClaimSet>> {};

TEST_P(UnequalCards, AdaptiveSgdReachesTheTargetSoonerThanSyncElasticAndSma) {
  const auto& [speeds, set] = GetParam();
  Claim claimed = claim(set, {"sync", "elastic", "sma", kPublished, kOurs}, speeds);
  claimed.options.target = set.made() ? 0.6 : 0.9;
  const Comparison comparison = claimed.run();
  for (std::size_t baseline = 0; baseline < 3; ++baseline) {
    const auto& name = comparison.strategies[baseline].strategy;
    EXPECT_LT(median_time(comparison, 3), median_time(comparison, baseline)) << name;
    EXPECT_LT(median_time(comparison, 4), median_time(comparison, baseline)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cards, UnequalCards,
                         testing::Combine(testing::Values(Speeds{1, .9, .75, .68},
                                                          Speeds{1, .5, .25, .25}),
                                          testing::ValuesIn(claim_sets(kRcv1))),
                         [](const auto& instance) {
                           const bool alike = std::get<Speeds>(instance.param)[1] > 0.6;
                           return (alike ? "OfOneKindOn" : "OfDifferentKindsOn") +
                                  std::string(std::get<ClaimSet>(instance.param).name);
                         });

class AdaptiveSgd : public OnClaimSets {};

TEST_P(AdaptiveSgd, BatchesSettleAndUpdatesBecomeEqual) {
  Claim claimed = claim(GetParam(), {kOurs}, {1, .9, .75, .68});
  claimed.options.grid.clear();
  claimed.options.seeds = 1;
  const Comparison comparison = claimed.run();
  const auto& series = comparison.strategies[0].runs[0].series;
  std::vector<double> updates;  // in the second half of the run
  for (const auto& worker : series) {
    updates.push_back(worker.back().updates - worker[worker.size() / 2].updates);
  }
  const auto [least, most] = std::minmax_element(updates.begin(), updates.end());
  EXPECT_LT(*most / *least, 1.15);
  const std::size_t late = series[0].size() * 3 / 4;
  EXPECT_GT(series[0][late].batch, series[3][late].batch);
}

TEST_P(AdaptiveSgd, MoreWorkersTakeLessTime) {
  double before = 0;
  for (const std::size_t count : {1, 2, 4}) {
    Claim claimed = claim(GetParam(), {kOurs}, std::vector<double>(count, 1.0), 2);
    claimed.options.grid.clear();
    claimed.options.seeds = 1;
    const double rate = claimed.run().strategies[0].samples_per_second().median;
    EXPECT_GT(rate, 1.5 * before) << count << " workers";
    before = rate;
  }
}

INSTANTIATE_TEST_SUITE_P(On, AdaptiveSgd, testing::ValuesIn(claim_sets(kRcv1)), name_of_set);

}  // namespace
}  // namespace evener
