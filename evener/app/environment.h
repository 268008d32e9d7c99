// The one place that reads the environment.
#pragma once

#include <string>

#include "evener/run/progress_bar.h"

namespace evener {

struct Environment {
  /// EVENER_CACHE_DIR, else evener in XDG_CACHE_HOME, else in HOME/.cache; empty: nowhere.
  std::string cache_directory;
  /// What `--devices auto` is: the CPU, with OMP_NUM_THREADS threads where that is set.
  std::string automatic_device = "cpu";
  DisplayOptions display;  // NO_COLOR, TERM
};

Environment read_environment();

}  // namespace evener
