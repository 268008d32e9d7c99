// The state of a run, for `evener status`.
#pragma once

#include <cstdint>
#include <string>

#include "evener/run/report/reporter.h"
#include "evener/runtime/engine.h"

namespace evener {

/// JSON. `seconds`: of training so far, for the shares of time. `ignored`: number of ignored
/// pushes.
std::string status_json(const Engine& engine, const ProgressState& state, double seconds,
                        std::uint64_t ignored);

}  // namespace evener
