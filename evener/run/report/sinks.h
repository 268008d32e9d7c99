// Sinks for the measurements of a run: metrics.jsonl and TensorBoard events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace evener {

/// One row of measurements, in order; names like "p@1", "train_loss", "samples_per_second".
using LogValue = std::variant<double, std::int64_t, std::string>;
using LogField = std::pair<std::string, LogValue>;
struct Record {
  std::string kind;  // "step", "epoch", "eval", "worker", "note", "end"
  std::uint64_t step = 0;
  double seconds = 0;  // since the run began
  std::vector<LogField> fields;
  std::string worker{};  // the name of a worker; empty: the whole run
};

/// A sink never stops a run: a failing write (disk full) is reported once through its warning.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const Record& record) = 0;
  virtual void flush() = 0;
  /// The first failure, if any. Reading clears it.
  virtual std::string take_warning() = 0;
};

/// One JSON object per line. Appends: a resumed run continues the same file.
std::unique_ptr<Sink> make_jsonl_sink(const std::string& path);
/// events.out.tfevents.* in `directory`; every numeric field is a scalar. `resumed_at`: the first
/// step of a resumed run. TensorBoard then discards the events of earlier files from this step on.
std::unique_ptr<Sink> make_tensorboard_sink(const std::string& directory,
                                            std::optional<std::uint64_t> resumed_at = {});

}  // namespace evener
