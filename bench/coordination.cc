// What the coordinator and its messages cost: the same small steps on a replica directly and
// through the wall-clock runtime, in turns. Merges are not counted.
//   build/release/bench/coordination [FILE]
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "evener/core/team.h"
#include "evener/core/time.h"
#include "evener/data/read.h"
#include "evener/device/device.h"
#include "evener/nn/initialise.h"
#include "evener/runtime/engine.h"

namespace evener {
namespace {

constexpr int kRounds = 11;
constexpr std::size_t kRows = 4096;  // of a round

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

/// `workers` threads, each with a replica, that share out the batches beforehand.
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

double coordinated(Engine& engine, Position& position) {
  const Stopwatch watch;
  engine.run_epoch(position, [](const StepReport&) { return true; });
  const double seconds = watch.elapsed() - engine.timeline().merge_seconds();
  position = {position.step, position.epoch + 1, 0, 0};
  return seconds;
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
  EngineSetup setup;
  setup.network = bench.network;
  setup.training = bench.training;
  setup.plan = bench.plan;
  setup.strategy =
      parse_strategy(workers == 1 ? "sequential" : "adaptive-sgd:scaler=off:mega-batch=1000000");
  setup.batch = batch;
  for (int i = 0; i < workers; ++i) setup.devices.push_back(make_device("cpu:1"));
  Engine engine(std::move(setup));
  bench.give_start([&](int v, FloatBuffer values) { engine.models().give(v, std::move(values)); });

  Position position;
  std::vector<double> alone, together;
  double merges = 0;
  for (int round = 0; round <= kRounds; ++round) {
    const double a = direct.epoch(static_cast<std::uint64_t>(round));
    double b = coordinated(engine, position) + merges;
    merges = engine.timeline().merge_seconds();
    if (round == 0) continue;  // warms up
    alone.push_back(a);
    together.push_back(b);
  }
  std::sort(alone.begin(), alone.end());
  std::sort(together.begin(), together.end());
  const double steps = static_cast<double>(kRows) / static_cast<double>(batch) / workers;
  const double a = alone[kRounds / 2] / steps, b = together[kRounds / 2] / steps;
  std::printf(
      "%d worker%s, batch %zu: %.3f ms a step directly, %.3f ms coordinated: %+.2f %% (median of "
      "%d "
      "rounds; fastest %+.2f %%)\n",
      workers, workers == 1 ? "" : "s", batch, a * 1e3, b * 1e3, 100 * (b / a - 1), kRounds,
      100 * (together.front() / alone.front() - 1));
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  const std::string path =
      argc > 1 ? argv[1] : EVENER_SOURCE_DIR "/../shared/data/eurlex4k/train.txt.xz";
  for (const int workers : {1, 2}) {
    for (const std::size_t batch : {32, 256}) evener::run(path, batch, workers);
  }
}
