#include "evener/run/report/epoch_line.h"

#include <fmt/format.h>

#include "evener/run/report/metric_text.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

std::string text_of(const EpochLine& line) {
  std::string text =
      fmt::format("epoch {}/{}  loss {:.4f}", line.epoch, line.epochs, line.train_loss);
  if (line.metrics != nullptr) {
    text += fmt::format(" ({} {:.4f})  {}", line.has_test ? "test" : "validation",
                        line.metrics->at("loss"), metrics_line(*line.metrics));
  }
  return fmt::format("{}  {:.0f} rows/s  {}", text, line.samples_per_second,
                     format_duration(line.seconds));
}

}  // namespace evener
