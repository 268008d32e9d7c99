// Measures every operation of every device, in turns, on one core where possible. The operations
// are those of the conformance suite.
//   build/release/bench/devices [FILE...] [--devices cpu:1,opencl:0.0.0] [--benchmark_filter=step]
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/data_folder.h"
#include "tests/device/operations.h"
#include <benchmark/benchmark.h>

#include "evener/data/batches.h"
#include "evener/data/read.h"
#include "evener/device/registry.h"

namespace evener {
namespace {

struct Subject {
  std::string name;
  std::unique_ptr<Device> device;
};

void time(benchmark::State& state, const Operation& operation, const Workload& workload,
          Device& device) {
  const Timed once = operation.prepare(workload, device);
  if (!once) {
    state.SkipWithError("the device leaves it to the host");
    return;
  }
  once();  // allocates memory and compiles kernels
  for (auto _ : state) once();
  const bool of_rows = operation.name.starts_with("step") || operation.name.starts_with("predict");
  if (!of_rows) return;
  state.counters["rows/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(workload.batch),
      benchmark::Counter::kIsRate);
}

/// After the usual lines: each device's median, and its speed against the first device's.
class InTurns final : public benchmark::ConsoleReporter {
 public:
  explicit InTurns(const std::vector<Subject>& subjects)
      : ConsoleReporter(OO_None), subjects_(subjects) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> medians;
    for (const Run& run : runs) {
      if (run.error_occurred || run.aggregate_name != "median") continue;
      milliseconds_[run.run_name.function_name] = run.GetAdjustedRealTime();
      medians.push_back(run);
    }
    ConsoleReporter::ReportRuns(medians);
  }

  void print(const std::string& file, const std::vector<Operation>& table) const {
    std::printf("\n%s\nms, median: per cent is speed against the first\n%-32s", file.c_str(), "");
    for (const auto& subject : subjects_) std::printf("%22s", subject.name.c_str());
    std::printf("\n");
    for (const auto& operation : table) {
      std::string line;
      double first = 0;
      for (const auto& subject : subjects_) {
        const auto at = milliseconds_.find(name_of(file, operation, subject));
        if (at == milliseconds_.end()) {
          line += std::string(22, ' ');
          continue;
        }
        if (first == 0) first = at->second;
        char text[32];
        std::snprintf(text, sizeof text, "%13.3f (%4.0f %%)", at->second, 100 * first / at->second);
        line += text;
      }
      if (first > 0) std::printf("%-32s%s\n", operation.name.c_str(), line.c_str());
    }
  }

  static std::string name_of(const std::string& file, const Operation& operation,
                             const Subject& subject) {
    const std::string set = std::filesystem::path(file).parent_path().filename();
    return set + "/" + operation.name + "/" + subject.name;
  }

 private:
  const std::vector<Subject>& subjects_;
  std::map<std::string, double> milliseconds_;
};

std::vector<std::string> all_devices() {
  std::vector<std::string> names{"cpu:1"};
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.in_host_memory) continue;
    for (const ListedDevice& device : kind.list().devices) {
      if (!device.usable()) continue;
      names.push_back(device.parts.empty() ? device.name : device.parts.front());
    }
  }
  return names;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

void run(const std::vector<std::string>& files, const std::vector<std::string>& names) {
  std::vector<Subject> subjects;
  for (const auto& name : names) subjects.push_back({name, make_device(name)});
  const auto table = operations();
  for (const auto& file : files) {
    const Dataset data = read_dataset(file, {});
    const Workload workload{&data, shuffled_rows(data.rows(), 1, 0), {128}, 256};
    for (const auto& operation : table) {
      for (const auto& subject : subjects) {
        benchmark::RegisterBenchmark(
            InTurns::name_of(file, operation, subject).c_str(),
            [&](benchmark::State& state) { time(state, operation, workload, *subject.device); })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
      }
    }
    InTurns reporter(subjects);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    reporter.print(file, table);
    benchmark::ClearRegisteredBenchmarks();
  }
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  // The machine's speed varies: use short repetitions in random order, and their medians. The
  // user's options come later and override these.
  std::vector<char*> arguments{argv[0]};
  std::vector<std::string> usual{"--benchmark_enable_random_interleaving=true",
                                 "--benchmark_repetitions=7", "--benchmark_min_time=0.1"};
  for (auto& option : usual) arguments.push_back(option.data());
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  std::vector<std::string> files, names = evener::all_devices();
  for (int i = 1; i < count; ++i) {
    const char* argument = arguments[static_cast<std::size_t>(i)];
    if (std::strcmp(argument, "--devices") == 0 && i + 1 < count) {
      names = evener::split(arguments[static_cast<std::size_t>(++i)]);
    } else {
      files.emplace_back(argument);
    }
  }
  if (files.empty()) files.push_back(evener::data_folder() + "eurlex4k/train.txt.xz");
  evener::run(files, names);
}
