// One session of training: from a start or a checkpoint to the end, or to where it diverges.
#pragma once

#include <string>
#include <vector>

#include "evener/core/error.h"
#include "evener/run/session/train.h"

namespace evener {

/// It diverged, and has a checkpoint from before.
class DivergedRun : public Error {
 public:
  DivergedRun(const std::string& why, const std::string& path)
      : Error(why + "; go on from the last good checkpoint with --resume " + path),
        reason(why),
        directory(path) {}
  std::string reason, directory;
};

/// `notes` are said first.
TrainResult train_session(const TrainOptions& options, const RunContext& context,
                          const std::vector<std::string>& notes);

}  // namespace evener
