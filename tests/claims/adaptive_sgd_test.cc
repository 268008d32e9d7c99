// [A]: replicas on four cards of unequal speed.
#include "tests/claims/claims.h"

namespace evener {
namespace {

const std::string kOurs = "adaptive-sgd:mega-batch=20:scaler=throughput:perturbation=off:gamma=0";

Claim claim(std::vector<std::string> strategies, const std::vector<double>& speeds,
            std::uint32_t epochs = 4) {
  const ClaimData data =
      claim_data("rcv1/rcv1sub.topics.train.txt.xz", "rcv1/rcv1sub.topics.test.txt.xz");
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

class UnequalCards : public testing::TestWithParam<std::vector<double>> {};

TEST_P(UnequalCards, AdaptiveSgdReachesTheTargetSoonerThanSyncElasticAndSma) {
  if (!has_claim_data("rcv1/rcv1sub.topics.train.txt.xz"))
    GTEST_SKIP() << "the set it is about is not here";
  Claim claimed = claim({"sync", "elastic", "sma", "adaptive-sgd", kOurs}, GetParam());
  claimed.options.target = 0.9;
  const Comparison comparison = claimed.run();
  for (std::size_t baseline = 0; baseline < 3; ++baseline) {
    const auto& name = comparison.strategies[baseline].strategy;
    EXPECT_LT(median_time(comparison, 3), median_time(comparison, baseline)) << name;
    EXPECT_LT(median_time(comparison, 4), median_time(comparison, baseline)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Speeds, UnequalCards,
                         testing::Values(std::vector<double>{1, .9, .75, .68},
                                         std::vector<double>{1, .5, .25, .25}),
                         [](const auto& instance) {
                           return instance.param[1] > 0.6 ? "OfOneKind" : "OfDifferentKinds";
                         });

TEST(AdaptiveSgd, BatchesSettleAndUpdatesBecomeEqual) {
  Claim claimed = claim({kOurs}, {1, .9, .75, .68});
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
  EXPECT_GT(series[0].back().batch, series[3].back().batch);
}

TEST(AdaptiveSgd, MoreWorkersTakeLessTime) {
  double before = 0;
  for (const std::size_t count : {1, 2, 4}) {
    Claim claimed = claim({kOurs}, std::vector<double>(count, 1.0), 2);
    claimed.options.grid.clear();
    claimed.options.seeds = 1;
    const double rate = claimed.run().strategies[0].samples_per_second().median;
    EXPECT_GT(rate, 1.5 * before) << count << " workers";
    before = rate;
  }
}

}  // namespace
}  // namespace evener
