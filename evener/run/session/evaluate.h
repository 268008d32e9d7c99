// Evaluates a replica on a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "evener/data/dataset.h"
#include "evener/device/device.h"
#include "evener/nn/predictions.h"

namespace evener {

constexpr std::uint32_t kEvaluationTop = 5;  // labels per row that metrics need

/// The top k (or all, if there are fewer) labels of every row. Calls `stop` between batches; if it
/// returns true, the result is nullopt.
std::optional<Predictions> predict_all(Replica& replica, const Dataset& data, std::uint32_t k,
                                       const std::function<bool()>& stop = {});

}  // namespace evener
