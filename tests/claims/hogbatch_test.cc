// [H]: a CPU with 16 threads and an accelerator that is ten times as fast per sample.
#include <algorithm>

#include "tests/claims/claims.h"

namespace evener {
namespace {

DeviceModel cpu_of_16_threads() {
  DeviceModel device;
  device.name = "host, 16 threads";
  device.in_place = true;
  device.threads = 16;
  device.fixed = 10e-6;
  device.per_row = 1600e-6;  // ten thousand rows per second by all threads
  return device;
}

Claim claim(const ClaimSet& set, std::vector<std::string> strategies,
            std::vector<DeviceModel> devices, std::uint32_t epochs) {
  const ClaimData data = claim_data(set);
  Claim claim;
  claim.train.data = data.train;
  claim.train.test = data.test;
  claim.train.hidden = {64};
  claim.train.loss = "sigmoid";
  claim.train.optimizer = "sgd";
  claim.train.decay = "constant";
  claim.train.dropout = 0;
  claim.train.epochs = epochs;
  claim.train.learning_rate = 1;
  claim.train.cache = false;
  claim.options.strategies = std::move(strategies);
  claim.options.metric = "loss";
  claim.options.grid = {0.03, 0.1, 0.3, 1, 3};
  claim.devices = std::move(devices);
  return claim;
}

class Hogbatch : public OnClaimSets {};

double update_ratio(const ComparedStrategy& strategy) {
  const auto& workers = strategy.runs.front().workers;
  return static_cast<double>(workers[0].updates) / static_cast<double>(workers[1].updates);
}

// As in the paper, both forms are faster than either device alone. With plain SGD small steps learn
// most, so the published form, with steps of one row, is the first; the adaptive one, with our
// batches, has the better loss at the end.
TEST_P(Hogbatch, ThePairAgainstEitherAlone) {
  Claim cpu_alone = claim(GetParam(), {"hogwild"}, {cpu_of_16_threads()}, 4);
  cpu_alone.options.evaluations_per_epoch = 10;  // about as often in time as the others
  // The CPU alone reaches it in two and a half epochs.
  const double target = middle_loss(cpu_alone.run().strategies[0], 24);
  const auto run = [&](Claim claimed) {
    claimed.options.target = target;
    return claimed.run();
  };
  const Comparison cpu = run(cpu_alone);
  const Comparison accelerator =
      run(claim(GetParam(), {"hogbatch:preset=paper"}, {card(1, 10e-6)}, 60));
  const Comparison pair = run(claim(GetParam(), {"hogbatch:preset=paper", "adaptive-hogbatch"},
                                    {cpu_of_16_threads(), card(1, 10e-6)}, 40));

  EXPECT_LT(median_time(pair, 0), median_time(accelerator, 0));
  EXPECT_LT(median_time(pair, 0), median_time(cpu, 0));
  EXPECT_LT(median_time(pair, 1), median_time(accelerator, 0));
  EXPECT_LT(median_time(pair, 1), median_time(cpu, 0));
  EXPECT_LT(pair.strategies[1].final_quality().median,
            0.97 * cpu.strategies[0].final_quality().median);
  EXPECT_GT(update_ratio(pair.strategies[0]), 5);
  // Small steps at the end of each epoch count as updates, too.
  EXPECT_GT(update_ratio(pair.strategies[1]), 0.5);
  EXPECT_LT(update_ratio(pair.strategies[1]), update_ratio(pair.strategies[0]) / 10);
}

TEST_P(Hogbatch, OverwritingTheModelCostsMoreThanItSaves) {
  Claim claimed = claim(GetParam(), {"hogbatch:preset=paper", "hogbatch:preset=released"},
                        {cpu_of_16_threads(), card(1, 10e-6)}, 20);
  const Comparison comparison = claimed.run();
  EXPECT_LT(comparison.strategies[0].final_quality().median,
            comparison.strategies[1].final_quality().median);
}

INSTANTIATE_TEST_SUITE_P(On, Hogbatch, testing::ValuesIn(claim_sets(kBibtex)), name_of_set);

}  // namespace
}  // namespace evener
