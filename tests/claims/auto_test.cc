// Ours: --strategy auto on several devices is never worse than one device. With the default recipe,
// a pair reaches as good a model as one device, and any quality no later, except for the cost of
// the trials.
#include <algorithm>
#include <fstream>

#include "tests/claims/claims.h"
#include <nlohmann/json.hpp>

namespace evener {
namespace {

struct Curve {
  std::vector<double> seconds, quality;
  double best = 0;

  double time_to(double target) const {
    for (std::size_t i = 0; i < quality.size(); ++i) {
      if (quality[i] >= target) return seconds[i];
    }
    return 1e9;
  }
};

Curve curve_of(const ClaimSet& set, const std::vector<DeviceModel>& devices, std::uint64_t seed) {
  const ClaimData data = claim_data(set);
  const std::string folder = own_folder("auto");
  std::filesystem::remove_all(folder);
  TrainOptions options;
  options.data = data.train;
  options.test = data.test;
  options.cache = false;
  options.epochs = 10;
  options.seed = seed;
  options.output = folder;
  VirtualTimeOptions time;
  time.devices = devices;
  train(options, *make_virtual_backend(time), {});
  Curve curve;
  std::ifstream file(folder + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.at("kind") != "eval") continue;
    curve.seconds.push_back(record.at("seconds"));
    curve.quality.push_back(record.at("p@1"));
    curve.best = std::max(curve.best, curve.quality.back());
  }
  std::filesystem::remove_all(folder);
  return curve;
}

/// The allowed cost of the trials: about six batches of the first device.
constexpr double kTrials = 6 * (0.2e-3 + 256 * 60e-6);

/// Two standard errors of P@1 on a test set of 3,000 rows: two runs that are equally good differ by
/// as much. Without it a target that falls between two runs' first evaluations costs a whole epoch.
constexpr double kNoise = 0.01;

DeviceModel cores(double speed) {
  return card(speed, 60e-6);
}

class Auto : public OnClaimSets {};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The median of the seeds: evaluations are an epoch apart, so single times differ by that.
TEST_P(Auto, OnSeveralDevicesIsNeitherLaterNorWorseThanOnOne) {
  std::vector<Curve> alone;
  for (const std::uint64_t seed : {1, 2, 3})
    alone.push_back(curve_of(GetParam(), {cores(1)}, seed));
  for (const double second : {1.0, 0.5, 0.02}) {
    std::vector<Curve> pair;
    for (const std::uint64_t seed : {1, 2, 3}) {
      pair.push_back(curve_of(GetParam(), {cores(1), cores(second)}, seed));
      fmt::print("second at {:g}: best {:.2f} against {:.2f}\n", second, 100 * pair.back().best,
                 100 * alone[seed - 1].best);
      EXPECT_GT(pair.back().best, alone[seed - 1].best - kNoise) << second;
    }
    for (const double share : {0.9, 0.95, 0.98}) {
      std::vector<double> together, by_itself;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        together.push_back(pair[i].time_to(share * alone[i].best - kNoise));
        by_itself.push_back(alone[i].time_to(share * alone[i].best));
      }
      EXPECT_LE(median(together), 1.05 * median(by_itself) + kTrials) << second << " to " << share;
    }
  }
}

// A step of no rows takes this card as long as 130 rows take the cores, but it is faster with whole
// batches: small trials must not exclude it.
TEST_P(Auto, KeepsACardWhoseStepsCostMuchWhateverTheirSize) {
  DeviceModel gpu = card(1, 4e-6);
  gpu.fixed = 8e-3;
  gpu.name = "gpu";
  std::vector<double> together, by_itself;  // seconds to the target, by seed
  double between = 0;                       // two evaluations: the resolution of these times
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Curve alone = curve_of(GetParam(), {gpu}, seed);
    const Curve pair = curve_of(GetParam(), {cores(1), gpu}, seed);
    const double target = 0.98 * alone.best;
    between = alone.seconds[1] - alone.seconds[0];
    by_itself.push_back(alone.time_to(target));
    together.push_back(pair.time_to(target - kNoise));
    fmt::print("{:.2f} s together, {:.2f} s alone\n", together.back(), by_itself.back());
  }
  EXPECT_LE(median(together), 1.05 * median(by_itself) + kTrials + between);
}

INSTANTIATE_TEST_SUITE_P(On, Auto, testing::ValuesIn(claim_sets(kBibtex)), name_of_set);

}  // namespace
}  // namespace evener
