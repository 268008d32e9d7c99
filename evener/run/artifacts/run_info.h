// What can be read from a run directory about its run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "evener/nn/metrics.h"

namespace evener {

/// Which devices trained, and how. Where a run has neither ended nor been interrupted yet, what its
/// options say.
struct RunInfo {
  std::vector<std::string> devices;  // "cpu:1 (emulated x0.25)"
  std::string emulation;             // as --emulate has it; empty: none
  std::string strategy;              // with its options
  bool virtual_time = false;         // the devices were simulated
};
RunInfo run_info(const std::string& directory);

/// The last record of each kind in a metrics.jsonl. Lines that are no JSON (a torn end) pass. An
/// "end" that a resumed run has left behind is none.
std::map<std::string, nlohmann::ordered_json> last_records(const std::string& path);

/// The metrics among a record's fields; others are times and places.
Metrics metrics_in(const nlohmann::ordered_json& record);

}  // namespace evener
