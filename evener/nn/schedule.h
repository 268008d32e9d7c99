// The learning rate over a run.
#pragma once

#include <cstdint>
#include <string>

namespace evener {

enum class Decay { constant, step, cosine };

std::string to_string(Decay decay);
Decay parse_decay(const std::string& name);

struct Schedule {
  float learning_rate = 1e-3F;
  double warmup_epochs = 0;  // linear from 0 (exclusive) to learning_rate
  Decay decay = Decay::constant;
  double decay_epochs = 10;   // step: every so many epochs ...
  float decay_factor = 0.1F;  // ... times this; cosine: the final share of learning_rate
  double total_epochs = 10;   // where cosine ends; 0: not known (a run that ends by time)
};

/// At `epoch` (fractional: samples seen / rows); never negative.
float learning_rate_at(const Schedule& schedule, double epoch);
/// For a run that ends by time, after `time_share` (0 .. 1) of it. The schedule follows the time:
/// that share of total_epochs is done. If total_epochs is not known, warm-up and step decay count
/// the epochs that were trained, and cosine ends where the time does.
float learning_rate_at(const Schedule& schedule, double epoch, double time_share);

}  // namespace evener
