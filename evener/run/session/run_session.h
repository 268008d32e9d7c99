// One session of a run: from its start or its last checkpoint to its end, a signal or an error.
#pragma once

#include <string>
#include <vector>

#include "evener/core/error.h"
#include "evener/run/session/driver.h"
#include "evener/run/session/train.h"

namespace evener {

/// The run diverged, and an earlier checkpoint exists.
class DivergedRun : public Error {
 public:
  DivergedRun(const std::string& why, const std::string& path)
      : Error(why + "; go on from the last good checkpoint with --resume " + path),
        reason(why),
        directory(path) {}
  std::string reason, directory;
};

struct SessionOptions {
  std::vector<std::string> notes;  // printed first
  DriverOptions driver;
};

/// Opens or resumes the run that the options name, and runs the driver. `data` null: opens the data
/// that the options name.
TrainResult run_session(TrainOptions options, const TrainingData* data, Backend& backend,
                        const RunContext& context, const SessionOptions& session = {});

}  // namespace evener
