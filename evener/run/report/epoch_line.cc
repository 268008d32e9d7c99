#include "evener/run/report/epoch_line.h"

#include <fmt/format.h>

#include "evener/run/report/metric_text.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

std::string text_of(const EpochLine& line) {
  const bool by_time = line.total_seconds > 0;
  std::string text = by_time ? fmt::format("epoch {}", line.epoch)
                             : fmt::format("epoch {}/{}", line.epoch, line.epochs);
  if (line.part < 1) text += fmt::format(" ({:.0f} % of it)", 100 * line.part);
  text += fmt::format("  loss {:.4f}", line.train_loss);
  if (line.metrics != nullptr) {
    text += fmt::format(" ({} {:.4f})  {}", line.has_test ? "test" : "validation",
                        line.metrics->at("loss"), metrics_line(*line.metrics));
  }
  return fmt::format(
      "{}  {:.0f} rows/s  {}", text, line.samples_per_second,
      by_time ? part_of_duration(line.seconds, line.total_seconds) : format_duration(line.seconds));
}

}  // namespace evener
