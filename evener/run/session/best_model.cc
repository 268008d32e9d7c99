#include "evener/run/session/best_model.h"

#include "evener/nn/metrics.h"

namespace evener {

std::string deciding_metric(const TrainOptions& options) {
  return options.early_stop == "none" ? "p@1" : options.early_stop;
}

bool is_best(Progress& progress, const std::string& metric, double value, std::uint64_t epoch) {
  const bool better =
      larger_is_better(metric) ? value > progress.best_metric : value < progress.best_metric;
  if (progress.best_epoch > 0 && !better) {
    progress.epochs_since_best = epoch - progress.best_epoch;
    return false;
  }
  progress.best_metric = value;
  progress.best_epoch = epoch;
  progress.epochs_since_best = 0;
  return true;
}

bool stops_early(const TrainOptions& options, const Progress& progress) {
  return options.early_stop != "none" && progress.best_epoch > 0 &&
         progress.epochs_since_best >= options.patience;
}

}  // namespace evener
