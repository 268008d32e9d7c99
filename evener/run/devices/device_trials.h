// Chooses the devices that train under --strategy auto. With several devices the model must be
// neither worse nor later than with one of them alone. So they make the same updates as one device
// (sync), and only if that is measured to be faster. The trials are the run's first batches, and
// each of them is trained once:
//   look       all devices, one batch in small pieces: a device that takes longer for a piece than
//              another for the whole batch is left out
//   together   the remaining devices, a few rounds with parts by speed; then without the slowest,
//              and so on while that is faster
//   alone      a few steps of each device that is near the fastest
// Where exchanges and waits take much of the time of these rounds, the devices train replicas that
// are averaged as often as a tenth of the time allows (adaptive-sgd): its rate is predicted from
// the speeds that the devices had while they computed.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "evener/core/time.h"
#include "evener/policy/catalogue.h"

namespace evener {

/// A trial: updates that some devices make while they are measured.
struct Trial {
  std::vector<std::size_t> devices;  // indices, ascending
  std::size_t untimed = 0;  // first updates: memory is cold, and parts do not yet follow speeds
  std::size_t timed = 1;

  std::string strategy() const {
    return automatic_strategy(devices.size() > 1 ? AutoFor::several_devices : AutoFor::one_device);
  }
  /// One batch, in small pieces.
  bool looks() const { return untimed == 0; }
  bool operator==(const Trial&) const = default;
};

/// The measurements of a trial.
struct Outcome {
  double rate = 0;             // rows per second in the timed updates; 0: a device failed
  std::vector<double> speeds;  // of each device while all were busy; 0: it failed
  Seconds seconds = 0;         // of the whole trial
};

struct Tried {
  Trial trial;
  Outcome outcome;
};

struct DeviceChoice {
  std::vector<std::size_t> devices;  // indices, ascending; empty: every device has failed
  std::string strategy;
  std::vector<std::string> notes;  // measurements and decisions, for the user
};

struct TrialSetting {
  std::vector<std::string> names;  // of all devices
  std::size_t batch = 1;           // rows of an update
  Seconds cold = 0;                // the first access to a model's memory may take this long
};

/// The next trial, given the trials so far; or the choice that follows from them.
std::variant<Trial, DeviceChoice> after_trials(const TrialSetting& setting,
                                               const std::vector<Tried>& history);

}  // namespace evener
