// What does the scheduler cost? The same small steps on a replica directly and through the
// scheduler with the wall-clock executor, in turns; then the time of steps that compute nothing,
// which has less noise. Merges are not counted.
//   build/release/bench/coordination [FILE]
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/data_folder.h"

#include "evener/core/team.h"
#include "evener/core/time.h"
#include "evener/data/read.h"
#include "evener/device/device.h"
#include "evener/nn/initialise.h"
#include "evener/runtime/engine.h"

namespace evener {
namespace {

constexpr int kRounds = 11;
constexpr std::size_t kRows = 4096;  // per round

struct Bench {
  Dataset data;
  Network network;
  Training training;
  EpochPlan plan;
  std::vector<std::uint32_t> some;
  std::size_t batch = 32;

  void give_start(const std::function<void(int, FloatBuffer)>& give) const {
    FloatBuffer start(layout_of(network).size);
    initialise(network, 1, start.span());
    give(0, std::move(start));
    for (int v = 1; v <= state_vectors(training.optimizer); ++v) {
      give(v, FloatBuffer(layout_of(network).size));
    }
  }
};

/// `workers` threads, each with a replica and a fixed share of the batches.
class Direct {
 public:
  Direct(const Bench& bench, int workers) : bench_(bench), team_(workers) {
    for (int i = 0; i < workers; ++i) {
      devices_.push_back(make_device("cpu:1"));
      replicas_.push_back(devices_.back()->make_replica(bench.network, bench.training));
      bench.give_start(
          [&](int v, FloatBuffer values) { replicas_.back()->give(v, std::move(values)); });
    }
  }

  double epoch(std::uint64_t number) {
    const Stopwatch watch;
    std::vector<std::uint32_t> order = shuffled_rows(kRows, bench_.plan.seed, number);
    team_.run([&](int member) {
      const auto own = static_cast<std::size_t>(member);
      const std::size_t stride = bench_.batch * replicas_.size();
      std::uint64_t step = 0;
      for (std::size_t at = own * bench_.batch; at < order.size(); at += stride) {
        const std::size_t count = std::min(bench_.batch, order.size() - at);
        replicas_[own]->step({&bench_.data, std::span(order).subspan(at, count)}, {++step, 1e-3F});
      }
    });
    return watch.elapsed();
  }

 private:
  const Bench& bench_;
  Team team_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Replica>> replicas_;
};

/// The time of all merges so far.
double merge_seconds(const Timeline& timeline) {
  double seconds = 0;
  for (const auto& entry : timeline.entries()) {
    if (entry.worker < 0) seconds += entry.end - entry.begin;
  }
  return seconds;
}

double scheduled(Engine& engine, Position& position) {
  const Stopwatch watch;
  engine.run_epoch(position, [](const StepReport&) { return true; });
  const double seconds = watch.elapsed() - merge_seconds(engine.timeline());
  position = {position.step, position.epoch + 1, 0, 0};
  return seconds;
}

/// A step that computes nothing: its time is the cost of the scheduler.
class IdleReplica final : public Replica {
 public:
  explicit IdleReplica(std::size_t size) : values_(size) {}
  double step(const Batch&, const Step&, const NextStep*) override { return 1; }
  void predict(const Batch&, Predictions&) override {}
  int vectors() const override { return 1; }
  FloatBuffer take(int) override { return std::move(values_); }
  void give(int, FloatBuffer values) override { values_ = std::move(values); }

 private:
  FloatBuffer values_;
};

class IdleDevice final : public Device {
 public:
  std::string name() const override { return "idle"; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training&) override {
    return std::make_unique<IdleReplica>(layout_of(network).size);
  }
};

EngineSetup setup_for(const Bench& bench, int workers) {
  EngineSetup setup;
  setup.network = bench.network;
  setup.training = bench.training;
  setup.plan = bench.plan;
  setup.strategy =
      parse_strategy(workers == 1 ? "sequential" : "adaptive-sgd:scaler=off:mega-batch=1000000");
  setup.batch = bench.batch;
  return setup;
}

/// Seconds per step that computes nothing: the median of several epochs.
double idle_step(const Bench& bench, int workers) {
  EngineSetup setup = setup_for(bench, workers);
  for (int i = 0; i < workers; ++i) setup.devices.push_back(std::make_unique<IdleDevice>());
  Engine engine(std::move(setup));
  engine.models().give(0, FloatBuffer(layout_of(bench.network).size));
  Position position;
  std::vector<double> seconds;
  double merges = 0;
  for (int round = 0; round < kRounds; ++round) {
    seconds.push_back(scheduled(engine, position) + merges);
    merges = merge_seconds(engine.timeline());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRounds / 2] * static_cast<double>(bench.batch) / kRows;
}

void run(const std::string& path, std::size_t batch, int workers) {
  Bench bench;
  bench.batch = batch;
  bench.data = read_dataset(path, {});
  bench.network.features = bench.data.feature_count;
  bench.network.labels = bench.data.label_count;
  bench.network.hidden = {128};
  bench.some.resize(kRows);
  for (std::size_t i = 0; i < kRows; ++i) bench.some[i] = static_cast<std::uint32_t>(i);
  bench.plan.data = &bench.data;
  bench.plan.rows = bench.some;

  Direct direct(bench, workers);
  EngineSetup setup = setup_for(bench, workers);
  for (int i = 0; i < workers; ++i) setup.devices.push_back(make_device("cpu:1"));
  Engine engine(std::move(setup));
  bench.give_start([&](int v, FloatBuffer values) { engine.models().give(v, std::move(values)); });

  Position position;
  std::vector<double> alone, together;
  double merges = 0;
  for (int round = 0; round <= kRounds; ++round) {
    const double a = direct.epoch(static_cast<std::uint64_t>(round));
    double b = scheduled(engine, position) + merges;
    merges = merge_seconds(engine.timeline());
    if (round == 0) continue;  // warm-up
    alone.push_back(a);
    together.push_back(b);
  }
  std::sort(alone.begin(), alone.end());
  std::sort(together.begin(), together.end());
  const double steps = static_cast<double>(kRows) / static_cast<double>(batch) / workers;
  const double a = alone[kRounds / 2] / steps, b = together[kRounds / 2] / steps;
  std::printf(
      "%d worker%s, batch %zu: %.3f ms per step directly, %.3f ms scheduled: %+.2f %% (median of "
      "%d "
      "rounds; fastest %+.2f %%)\n",
      workers, workers == 1 ? "" : "s", batch, a * 1e3, b * 1e3, 100 * (b / a - 1), kRounds,
      100 * (together.front() / alone.front() - 1));
  const double idle = idle_step(bench, workers);
  std::printf("  a step that computes nothing: %.1f us, %.2f %% of a real one\n", idle * 1e6,
              100 * idle / a);
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : evener::data_folder() + "eurlex4k/train.txt.xz";
  for (const int workers : {1, 2}) {
    for (const std::size_t batch : {32, 256}) evener::run(path, batch, workers);
  }
}
