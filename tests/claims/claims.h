// Claims of the papers as tests in virtual time, on real data: what reproduces, and what does not.
#pragma once

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "evener/run/compare/compare.h"
#include "evener/run/session/backends.h"

namespace evener {

/// NAME of data_folder() if it exists, else debian-tags, made once from the package index.
struct ClaimData {
  std::string train, test;
};
ClaimData claim_data(const std::string& train, const std::string& test);
/// Whether that is the requested file: claims about times to a target on one data set need not hold
/// on another.
bool has_claim_data(const std::string& train);

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

inline double median_time(const Comparison& comparison, std::size_t strategy) {
  return comparison.strategies[strategy].time_to_target().median;
}

}  // namespace evener
