// Reads the description of a run from its directory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "evener/nn/metrics.h"

namespace evener {

/// The devices and the strategy of a run. While the run is still training, those of its options.
struct RunInfo {
  std::vector<std::string> devices;  // "cpu:1 (emulated x0.25)"
  std::string emulation;             // as in --emulate; empty: none
  std::string strategy;              // with its options
  bool virtual_time = false;         // the devices were simulated
};
RunInfo run_info(const std::string& directory);

/// The last record of each kind in a metrics.jsonl. Lines that are not JSON (a torn last line) are
/// skipped. An "end" record that is older than a resumed session does not count. What is not a
/// regular file has none.
std::map<std::string, nlohmann::ordered_json> last_records(const std::string& path);

/// The metrics among a record's fields; the other fields are times and positions.
Metrics metrics_in(const nlohmann::ordered_json& record);

}  // namespace evener
