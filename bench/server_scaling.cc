// From how many nodes on does a parameter server limit the throughput? Nodes that compute nothing,
// in virtual time, with the real policies and a model of the network. Prints rows per second as a
// share of the same number of nodes without a network.
//   build/release/bench/server_scaling [MB of the model = 100] [ms of a step = 200] [GB/s = 1.25]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "evener/runtime/engine.h"
#include "evener/runtime/model_kinds.h"
#include "evener/runtime/scheduler.h"
#include "evener/runtime/virtual_time.h"

namespace evener {
namespace {

constexpr std::size_t kRows = 32;   // per step
constexpr std::size_t kSteps = 20;  // per node, about
constexpr double kServerReads = 1e10;

/// Every pull and push transfers the whole model; nothing is computed.
class Timing final : public PushSharing {
 public:
  explicit Timing(std::size_t bytes) : bytes_(bytes) {}
  double compute(const Task&) override { return 0; }
  void apply_pushes(const ApplyPushes&) override {}
  void reject(int) override {}
  Evaluator evaluator() override { return {}; }
  FloatBuffer take(int) override { return FloatBuffer(0); }
  void give(int, FloatBuffer) override {}
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
};

struct Question {
  std::string strategy = "asp";
  std::size_t nodes = 2;
  int servers = 1;
  double bytes = 1e8, step = 0.2, bandwidth = 1.25e9;
};

double rows_per_second(const Question& q) {
  Dataset data;
  std::vector<std::uint64_t> offsets(q.nodes * kRows * kSteps + 1);
  data.features.offsets = offsets;
  EpochPlan plan;
  plan.data = &data;
  VirtualTimeOptions time;
  time.servers = q.servers;
  time.server_bandwidth = q.bandwidth;
  time.merge_bandwidth = kServerReads;
  std::vector<WorkerTraits> traits(q.nodes);
  for (std::size_t i = 0; i < q.nodes; ++i) {
    DeviceModel node;
    node.name = traits[i].name = fmt::format("node {}", i);
    node.fixed = 0;
    node.per_row = q.step / kRows;
    node.jitter = 0.05;
    node.latency = 1e-4;
    node.bandwidth = q.bandwidth;
    time.devices.push_back(node);
  }
  Timing models(static_cast<std::size_t>(q.bytes));
  const auto executor = make_virtual_time(models, data, time);
  PolicyConfig config;
  config.workers = static_cast<int>(q.nodes);
  config.batch_per_device = kRows;
  config.batch = kRows * q.nodes;
  const StrategyChoice choice = parse_strategy(q.strategy);
  config.values = choice.values;
  const auto policy = choice.strategy->make(config);
  std::vector<std::string> names;
  for (const auto& node : traits) names.push_back(node.name);
  Timeline timeline(names);
  Scheduler scheduler(plan, *policy, models, *executor, traits, timeline);
  Position position;
  scheduler.run_epoch(position, [](const StepReport&) { return true; });
  return static_cast<double>(offsets.size() - 1) / executor->now();
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  using namespace evener;
  Question q;
  if (argc > 1) q.bytes = std::atof(argv[1]) * 1e6;
  if (argc > 2) q.step = std::atof(argv[2]) / 1e3;
  if (argc > 3) q.bandwidth = std::atof(argv[3]) * 1e9;
  fmt::print("{:.0f} MB, {:.0f} ms a step, {:.3g} GB/s; share of the rows/s without a network\n\n",
             q.bytes / 1e6, q.step * 1e3, q.bandwidth / 1e9);
  fmt::print("| nodes |");
  for (const char* strategy : {"bsp", "asp", "dasp"}) {
    for (const int servers : {1, 4, 16}) fmt::print(" {}, {} |", strategy, servers);
  }
  fmt::print("\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (q.nodes = 2; q.nodes <= 1024; q.nodes *= 2) {
    fmt::print("| {} |", q.nodes);
    for (const char* strategy : {"bsp", "asp", "dasp"}) {
      for (const int servers : {1, 4, 16}) {
        q.strategy = strategy;
        q.servers = servers;
        const double ideal = static_cast<double>(q.nodes * kRows) / q.step;
        fmt::print(" {:.0f} % |", 100 * rows_per_second(q) / ideal);
      }
    }
    fmt::print("\n");
  }
  return 0;
}
