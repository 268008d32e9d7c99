// Measures the inner loops of the CPU device, one by one and as the whole output layer, on one
// core and on random data. The processor's peak is measured between them, so that both see the same
// clock; per cent of the median peak is the figure to compare.
//   build/release/bench/kernels [--labels=4000] [--sets=AVX3,AVX2] [--benchmark_filter=head]
#include "evener/device/cpu/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/device/random_data.h"
#include <benchmark/benchmark.h>

#include "evener/core/buffer.h"
#include "evener/core/random.h"
#include "evener/device/cpu/batch_state.h"
#include "evener/device/cpu/flush_denormals.h"
#include "evener/device/cpu/output_layer.h"
#include "evener/nn/network.h"

namespace evener {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::uint32_t kWidth = 128;

FloatBuffer random_floats(std::size_t size, float scale) {
  Random random(size);
  FloatBuffer buffer(size);
  for (std::size_t i = 0; i < size; ++i) {
    buffer[i] = scale * static_cast<float>(2 * random.uniform() - 1);
  }
  return buffer;
}

/// One piece of work, and how many multiply-adds' operations count for it.
struct Work {
  std::string name;
  double operations;
  std::function<void()> run;
};

/// The operands of one tile, which stay in the caches.
struct TileRig {
  cpu::Samples samples = cpu::Samples::of(kBatch);
  std::size_t units = cpu::kernels().tile;
  FloatBuffer weights = random_floats(units * kWidth, 0.1F);
  FloatBuffer first = random_floats(units * kWidth, 0.0F), second{units * kWidth};
  FloatBuffer bias = random_floats(units + kVectorMultiple, 0.1F);
  FloatBuffer input = random_floats(samples.padded * kWidth, 1.0F);
  FloatBuffer rows = random_floats(samples.padded * kWidth, 1.0F);
  FloatBuffer error = random_floats(samples.padded * kWidth, 1.0F);
  FloatBuffer tile = random_floats(samples.padded * units, 1.0F);
  FloatBuffer gradient = random_floats(units * kWidth, 0.1F);
  FloatBuffer maximum{samples.padded}, sum{samples.padded}, shift{samples.padded};
  FloatBuffer references{cpu::kernels().blocks * samples.padded}, ones{samples.padded};

  TileRig() { std::fill_n(ones.data(), samples.padded, 1.0F); }

  cpu::Weights matrix() const { return {weights.data(), kWidth, units, kWidth}; }
  cpu::Columns columns(FloatBuffer& of, std::size_t rows_of) const {
    return {of.data(), rows_of * cpu::kernels().panel};
  }
};

std::vector<Work> tile_works() {
  auto rig = std::make_shared<TileRig>();
  const double product = 2.0 * kBatch * kWidth * static_cast<double>(rig->units);
  const std::size_t panels = rig->samples.panels;
  const UpdateRule adam = update_rule(Training{}, {.number = 100, .learning_rate = 1e-6F});
  return {
      {"forward", product,
       [=] {
         cpu::kernels().forward(rig->matrix(), rig->bias.data(), rig->columns(rig->input, kWidth),
                                panels, rig->columns(rig->tile, rig->units), {});
       }},
      {"exponentiate", 0,
       [=] {
         cpu::kernels().exponentiate(rig->columns(rig->tile, rig->units), rig->units, panels,
                                     rig->maximum.data(), rig->sum.data());
       }},
      {"forward_exponentiate", product,
       [=] {
         cpu::kernels().forward_exponentiate(
             rig->matrix(), rig->bias.data(), rig->columns(rig->input, kWidth), panels,
             rig->columns(rig->tile, rig->units), {},
             {rig->maximum.data(), rig->sum.data(), rig->references.data()});
       }},
      {"rescale", 0,
       [=] {
         std::fill_n(rig->references.data(), rig->references.size(), 0.0F);
         cpu::kernels().rescale(rig->columns(rig->tile, rig->units), rig->units, panels,
                                rig->references.data(), rig->shift.data(), rig->ones.data());
       }},
      {"backward", product,
       [=] {
         cpu::kernels().backward(rig->matrix(), rig->columns(rig->tile, rig->units), panels,
                                 rig->columns(rig->error, kWidth), {});
       }},
      {"gradient", product,
       [=] {
         cpu::kernels().gradient(rig->columns(rig->tile, rig->units), rig->units, panels,
                                 rig->rows.data(), kWidth,
                                 {rig->weights.data(), rig->first.data(), rig->second.data()},
                                 rig->gradient.data(), rig->bias.data());
       }},
      {"update", 0,
       [=] {
         vector_kernels().update(adam, {rig->weights.data(), rig->first.data(), rig->second.data()},
                                 rig->gradient.data(), rig->units * kWidth, 0);
       }},
  };
}

/// The output layer of a network with one hidden layer.
struct HeadRig {
  Network network;
  Layout layout;
  Dataset data;
  std::vector<std::uint32_t> rows;
  FloatBuffer weight, first, second;
  cpu::Activity input{kWidth, 1};
  std::unique_ptr<cpu::OutputLayer> head;
  UpdateRule rule = update_rule(Training{}, {.number = 100, .learning_rate = 1e-6F});

  HeadRig(std::uint32_t labels, Loss loss) {
    network.features = 8;
    network.hidden = {kWidth};
    network.labels = labels;
    network.loss = loss;
    layout = layout_of(network);
    Random random(7);
    data = random_data(random, kBatch, network.features, labels);
    for (std::uint32_t i = 0; i < kBatch; ++i) rows.push_back(i);
    weight = random_floats(layout.size, 0.1F);
    first = FloatBuffer(layout.size);
    second = FloatBuffer(layout.size);
    head =
        std::make_unique<cpu::OutputLayer>(network, layout.layers.back(), std::size_t{64} << 20, 1);
    const cpu::Samples samples = cpu::Samples::of(kBatch);
    input.resize(samples);
    const FloatBuffer values = random_floats(samples.padded * kWidth, 1.0F);
    std::copy_n(values.data(), samples.padded * kWidth, input.columns().data);
    input.fill_rows(0, samples.panels);
  }
  ModelVectors vectors() { return {weight.data(), first.data(), second.data()}; }
  void forward() {
    head->begin({&data, rows}, cpu::Samples::of(kBatch), 0);
    head->walk_forward(vectors(), input, 0, 0);
  }
  void backward() { head->walk_backward(vectors(), rule, input, 0, true); }
};

std::vector<Work> head_works(std::uint32_t labels) {
  std::vector<Work> works;
  const double product = 2.0 * kBatch * kWidth * labels;
  for (const Loss loss : {Loss::softmax, Loss::sigmoid}) {
    auto rig = std::make_shared<HeadRig>(labels, loss);
    works.push_back({"head/" + to_string(loss), 3 * product, [=] {
                       rig->forward();
                       rig->backward();
                     }});
    if (loss == Loss::softmax) {
      works.push_back({"head/softmax/forward", product, [=] { rig->forward(); }});
    }
  }
  return works;
}

/// Collects the processor time of every repetition.
class Times final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      microseconds_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
    }
  }
  /// Sorted.
  std::vector<double> of(const std::string& name) {
    std::vector<double>& times = microseconds_[name];
    std::sort(times.begin(), times.end());
    return times;
  }

 private:
  std::map<std::string, std::vector<double>> microseconds_;
};

void measure(const std::string& set, std::uint32_t labels) {
  const cpu::FlushDenormals flush;
  cpu::use_instruction_set(set);
  constexpr std::size_t kRounds = 20'000;
  const double peak_operations = cpu::kernels().multiply_adds(kRounds);
  std::vector<Work> works = tile_works();
  for (Work& work : head_works(labels)) works.push_back(std::move(work));
  works.push_back({"peak", peak_operations,
                   [] { benchmark::DoNotOptimize(cpu::kernels().multiply_adds(kRounds)); }});
  for (const Work& work : works) {
    work.run();
    benchmark::RegisterBenchmark(work.name.c_str(), [&](benchmark::State& state) {
      for (auto _ : state) work.run();
    })->Unit(benchmark::kMicrosecond);
  }
  Times times;
  benchmark::RunSpecifiedBenchmarks(&times);
  benchmark::ClearRegisteredBenchmarks();
  const std::vector<double> peak_times = times.of("peak");
  if (peak_times.empty()) return;
  std::printf("%s, %u labels, tile %zu, peak %.0f GFLOP/s (median %.0f)\n", set.c_str(), labels,
              cpu::kernels().tile, peak_operations / peak_times.front() / 1e3,
              peak_operations / peak_times[peak_times.size() / 2] / 1e3);
  for (const Work& work : works) {
    const std::vector<double> found = times.of(work.name);
    if (found.empty()) continue;
    const double least = found.front(), median = found[found.size() / 2];
    std::printf(
        "  %-24s least %9.1f us %6.1f %%   median %9.1f us %6.1f %%\n", work.name.c_str(), least,
        100 * work.operations / least * peak_times.front() / peak_operations, median,
        100 * work.operations / median * peak_times[peak_times.size() / 2] / peak_operations);
  }
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  // The machine's speed varies: short repetitions in random order, and medians of processor time.
  std::vector<char*> arguments{argv[0]};
  std::vector<std::string> usual{"--benchmark_enable_random_interleaving=true",
                                 "--benchmark_repetitions=15", "--benchmark_min_time=0.01"};
  for (auto& option : usual) arguments.push_back(option.data());
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  std::vector<std::string> sets{evener::instruction_sets().front()};
  std::uint32_t labels = 4000;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[static_cast<std::size_t>(i)];
    if (argument.starts_with("--labels=")) {
      labels = static_cast<std::uint32_t>(std::stoul(argument.substr(9)));
    } else if (argument.starts_with("--sets=")) {
      sets.clear();
      for (std::size_t at = 7; at <= argument.size();) {
        const std::size_t comma = std::min(argument.find(',', at), argument.size());
        sets.push_back(argument.substr(at, comma - at));
        at = comma + 1;
      }
    } else {
      std::fprintf(stderr, "unknown argument '%s'\n", argument.c_str());
      return 2;
    }
  }
  for (const auto& set : sets) evener::measure(set, labels);
}
