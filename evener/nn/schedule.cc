#include "evener/nn/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "evener/core/error.h"

namespace evener {

namespace {

constexpr std::array<std::pair<Decay, const char*>, 3> kDecays{
    {{Decay::constant, "constant"}, {Decay::step, "step"}, {Decay::cosine, "cosine"}}};

// Otherwise the first steps of a warm-up would be lost: at epoch 0 the line is at 0.
constexpr double kWarmupFloor = 1e-3;

/// Share of the learning rate after warm-up; both decays count epochs from the start of the run.
double decayed(const Schedule& schedule, double epoch) {
  const double factor = schedule.decay_factor;
  switch (schedule.decay) {
    case Decay::constant:
      return 1;
    case Decay::step:
      return schedule.decay_epochs > 0 ? std::pow(factor, std::floor(epoch / schedule.decay_epochs))
                                       : 1;
    case Decay::cosine: {
      // Half a cosine from 1 at the end of warm-up to the factor at total_epochs.
      const double span = schedule.total_epochs - schedule.warmup_epochs;
      const double done =
          span > 0 ? std::clamp((epoch - schedule.warmup_epochs) / span, 0.0, 1.0) : 1.0;
      return factor + (1 - factor) * (1 + std::cos(std::numbers::pi * done)) / 2;
    }
  }
  return 1;
}

}  // namespace

std::string to_string(Decay decay) {
  for (const auto& [candidate, name] : kDecays) {
    if (candidate == decay) return name;
  }
  return "?";
}

Decay parse_decay(const std::string& name) {
  std::string valid;
  for (const auto& [candidate, known] : kDecays) {
    if (name == known) return candidate;
    valid += (valid.empty() ? "" : ", ") + std::string(known);
  }
  throw UsageError("unknown decay '" + name + "'; valid: " + valid);
}

float learning_rate_at(const Schedule& schedule, double epoch) {
  const double share = epoch < schedule.warmup_epochs
                           ? std::max(epoch / schedule.warmup_epochs, kWarmupFloor)
                           : decayed(schedule, epoch);
  return static_cast<float>(std::max(0.0, schedule.learning_rate * share));
}

}  // namespace evener
