#include "evener/policy/hogbatch_options.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace evener {

namespace {

// Above this number of parameters a step touches so much of the model that one row per step is
// slow.
constexpr std::size_t kLargeModel = 100'000;

}  // namespace

StrategyOption cpu_batch_option(const std::string& value, const std::string& help) {
  return number_option("cpu-batch", value, 1, kMostRows, "rows of one step of a CPU thread" + help);
}

std::vector<StrategyOption> hogbatch_options() {
  return {cpu_batch_option(
              "auto",
              "; auto: a quarter of the run's batch size, and at most 1/16 of an epoch for "
              "all threads"),
          number_option("accelerator-batch", "auto", 1, kMostRows,
                        "rows of one step of an accelerator; auto: the run's batch size"),
          word_option("rate-scaling", {"anchored", "off"},
                      "the learning rate of a step follows its rows (--reference-batch; ours), or "
                      "is the same for all"),
          word_option("writeback", {"delta", "overwrite"},
                      "how an accelerator's step reaches the shared model: add what it changed, "
                      "or replace the model and lose what others did meanwhile"),
          word_option("tail", {"shared", "whole"},
                      "at the end of an epoch a slow worker gets its share of the rows that are "
                      "left (ours), or whole batches, which others wait for")};
}

std::size_t cpu_batch(const PolicyConfig& config) {
  const auto auto_batch = static_cast<double>(std::max<std::size_t>(1, config.own_batch() / 4));
  return static_cast<std::size_t>(config.values.number("cpu-batch", auto_batch));
}

std::size_t most_cpu_rows(const PolicyConfig& config) {
  constexpr std::size_t kTasksPerEpoch = 16;
  if (config.rows == 0 || !config.values.is("cpu-batch", "auto")) return 0;
  return std::max<std::size_t>(1, config.rows / kTasksPerEpoch);
}

std::size_t accelerator_batch(const PolicyConfig& config) {
  const auto auto_batch = static_cast<double>(config.own_batch());
  return static_cast<std::size_t>(config.values.number("accelerator-batch", auto_batch));
}

bool is_anchored(const StrategyValues& values) {
  return values.is("rate-scaling", "anchored");
}

bool shares_tail(const StrategyValues& values) {
  return values.is("tail", "shared");
}

std::vector<Preset> hogbatch_presets(const std::map<std::string, std::string>& own) {
  std::map<std::string, std::string> paper{{"cpu-batch", "1"},
                                           {"accelerator-batch", "1024"},
                                           {"rate-scaling", "off"},
                                           {"tail", "whole"}};
  paper.insert(own.begin(), own.end());
  auto released = paper;
  released["writeback"] = "overwrite";
  return {evener_preset(), paper_preset(std::move(paper)), released_preset(std::move(released))};
}

bool overwrites(const StrategyValues& values) {
  return values.is("writeback", "overwrite");
}

std::string cpu_batch_hint(const std::string& name, const StrategyValues& values,
                           const HintSetup& setup) {
  const bool slow = setup.has_in_place && setup.parameters >= kLargeModel;
  if (!slow || !values.is("cpu-batch", "1")) return "";
  return fmt::format(
      "hint: CPU threads step on one row at a time, which is slow on {} parameters; faster: "
      "{}:cpu-batch=32, perhaps with a larger --learning-rate",
      setup.parameters, name);
}

}  // namespace evener
