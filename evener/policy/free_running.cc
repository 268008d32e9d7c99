#include "evener/policy/free_running.h"

#include <fmt/format.h>

namespace evener {

namespace {

// Above this number of parameters a step touches so much of the model that one row per step is
// slow.
constexpr std::size_t kLargeModel = 100'000;

}  // namespace

Decisions FreeRunning::on(const Event& event) {
  Decisions decisions;
  dispatch(
      event,
      [&](const Joined& e) {
        workers_.join(e);
        joined(e.worker);
        if (running_) decisions.push_back(next(e.worker));
      },
      [&](const Lost& e) {
        workers_.lose(e.worker);
        if (running_) decisions = assign_idle();  // its rows are back
      },
      [&](const EpochBegan&) {
        running_ = true;
        decisions = assign_idle();
      },
      [&](const Finished& e) {
        workers_.at(e.worker).busy = false;
        finished(e);
        decisions.push_back(next(e.worker));
      },
      [&](const OutOfRows& e) { workers_.at(e.worker).busy = false; },
      [&](const EpochEnded&) { running_ = false; },
      Ignore<Suspected, InvalidPush, Delivered, Measured, Merged, TimerFired>{});
  return decisions;
}

Assign FreeRunning::hogbatch(int worker, std::size_t rows, double rate) {
  const WorkerTraits& traits = workers_.at(worker).traits;
  return traits.in_place ? workers_.assign(worker, rows, Work::in_place, rate, traits.threads)
                         : workers_.assign(worker, rows, Work::copied, rate);
}

Decisions FreeRunning::assign_idle() {
  Decisions decisions;
  for (const int worker : workers_.idle_workers()) decisions.push_back(next(worker));
  return decisions;
}

StrategyOption cpu_batch_option() {
  return number_option("cpu-batch", "1", 1, kMostRows, "rows of one step of a CPU thread");
}

std::vector<StrategyOption> hogbatch_options() {
  return {cpu_batch_option(),
          number_option("accelerator-batch", "1024", 1, kMostRows,
                        "rows of one step of an accelerator"),
          word_option("rate-scaling", {"off", "sqrt", "linear"},
                      "the learning rate grows with the batch: by the root of its rows over "
                      "cpu-batch, or in proportion (ours)"),
          word_option("writeback", {"delta", "overwrite"},
                      "how an accelerator's step reaches the shared model: add what it changed, "
                      "or replace the model and lose what others did meanwhile")};
}

bool overwrites(const StrategyValues& values) {
  return values.is("writeback", "overwrite");
}

std::string cpu_batch_hint(const std::string& name, const StrategyValues& values,
                           const HintSetup& setup) {
  const bool slow = setup.has_in_place && setup.parameters >= kLargeModel;
  if (!slow || values.number("cpu-batch") != 1) return "";
  return fmt::format(
      "hint: CPU threads step on one row at a time, which is slow on {} parameters; faster: "
      "{}:cpu-batch=32, perhaps with a larger --learning-rate",
      setup.parameters, name);
}

}  // namespace evener
