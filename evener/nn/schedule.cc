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

/// How much of the cosine is done, 0 .. 1: it begins at the end of warm-up.
double cosine_share(const Schedule& schedule, double epoch) {
  const double span = schedule.total_epochs - schedule.warmup_epochs;
  return span > 0 ? std::clamp((epoch - schedule.warmup_epochs) / span, 0.0, 1.0) : 1.0;
}

/// The same for a run that ends by time. Estimates total_epochs as epoch / time_share: what is left
/// of the time trains as many rows per second as the time before. Without warm-up the estimate
/// cancels out.
double cosine_share(const Schedule& schedule, double epoch, double time_share) {
  const double warmup = schedule.warmup_epochs;
  if (warmup == 0) return std::clamp(time_share, 0.0, 1.0);
  const double span = epoch - warmup * time_share;
  return span > 0 ? std::clamp(time_share * (epoch - warmup) / span, 0.0, 1.0) : 1.0;
}

/// Share of the learning rate after warm-up; both decays count epochs from the start of the run.
/// `cosine`: cosine_share.
double decayed(const Schedule& schedule, double epoch, double cosine) {
  const double factor = schedule.decay_factor;
  switch (schedule.decay) {
    case Decay::constant:
      return 1;
    case Decay::step:
      return schedule.decay_epochs > 0 ? std::pow(factor, std::floor(epoch / schedule.decay_epochs))
                                       : 1;
    case Decay::cosine:
      // Half a cosine from 1 to the factor.
      return factor + (1 - factor) * (1 + std::cos(std::numbers::pi * cosine)) / 2;
  }
  return 1;
}

float rate_at(const Schedule& schedule, double epoch, double cosine) {
  const double share = epoch < schedule.warmup_epochs
                           ? std::max(epoch / schedule.warmup_epochs, kWarmupFloor)
                           : decayed(schedule, epoch, cosine);
  return static_cast<float>(std::max(0.0, schedule.learning_rate * share));
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
  return rate_at(schedule, epoch, cosine_share(schedule, epoch));
}

float learning_rate_at(const Schedule& schedule, double epoch, double time_share) {
  if (schedule.total_epochs > 0) {
    return learning_rate_at(schedule, time_share * schedule.total_epochs);
  }
  return rate_at(schedule, epoch, cosine_share(schedule, epoch, time_share));
}

}  // namespace evener
