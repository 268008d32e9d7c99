// Claims of the papers as tests in virtual time, on real data: what reproduces, and what does not.
#pragma once

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "evener/run/compare/compare.h"
#include "evener/run/session/backends.h"

namespace evener {

/// A data set that claims are tested on: files of data_folder(), or none if it is made.
struct ClaimSet {
  const char* name;
  int rows;
  const char *train = "", *test = "";
  bool made() const { return *train == '\0'; }
  friend void PrintTo(const ClaimSet& set, std::ostream* out) { *out << set.name; }
};
inline constexpr ClaimSet kBibtex{"Bibtex", 4880, "bibtex/train.txt.xz", "bibtex/test.txt.xz"};
inline constexpr ClaimSet kRcv1{"Rcv1", 22000, "rcv1/rcv1sub.topics.train.txt.xz",
                                "rcv1/rcv1sub.topics.test.txt.xz"};

/// A set with as many rows that any machine can make, and the published one where it is present.
std::vector<ClaimSet> claim_sets(const ClaimSet& published);

/// A claim is tested on each of its sets.
class OnClaimSets : public testing::TestWithParam<ClaimSet> {};
inline std::string name_of_set(const testing::TestParamInfo<ClaimSet>& instance) {
  return instance.param.name;
}

struct ClaimData {
  std::string train, test;
};
/// The made set is made once, in the folder of temporary files.
ClaimData claim_data(const ClaimSet& set);

/// A folder that no other process uses.
inline std::string own_folder(const std::string& name) {
  return fmt::format("{}evener-claims-{}-{}", testing::TempDir(), name, getpid());
}

inline DeviceModel card(double speed, double per_row = 20e-6) {
  DeviceModel device;
  device.name = fmt::format("card at {:g}", speed);
  device.fixed = 0.2e-3 / speed;
  device.per_row = per_row / speed;
  device.latency = 20e-6;
  device.bandwidth = 10e9;
  return device;
}

struct Claim {
  TrainOptions train;
  CompareOptions options;
  std::vector<DeviceModel> devices;

  /// Three seeds, and the same epochs for all.
  Claim() {
    options.seeds = 3;
    options.equal_seconds = false;
  }

  /// Runs it and prints its table.
  Comparison run() const {
    CompareOptions simulated = options;
    simulated.virtual_time.emplace();
    simulated.virtual_time->devices = devices;
    const Comparison comparison = compare(train, simulated, {}, [](const std::string&) {});
    std::fputs(comparison_text(comparison).c_str(), stdout);
    return comparison;
  }
};

/// The median loss of a strategy's runs at the evaluation of this index.
inline double middle_loss(const ComparedStrategy& strategy, std::size_t evaluation) {
  std::vector<double> losses;
  for (const auto& run : strategy.runs) losses.push_back(run.curve[evaluation].quality);
  std::sort(losses.begin(), losses.end());
  return losses[losses.size() / 2];
}

inline double median_time(const Comparison& comparison, std::size_t strategy) {
  return comparison.strategies[strategy].time_to_target().median;
}

}  // namespace evener
