// Every operation of every device, in turns, on one core where that can be had: a step, a
// prediction, a copy of the model and of the rows that a batch changes.
//   build/release/bench/devices FILE... [--devices cpu:1,opencl:0.0.0]
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evener/core/time.h"
#include "evener/data/batches.h"
#include "evener/data/read.h"
#include "evener/device/device.h"
#include "evener/device/opencl/list.h"
#include "evener/nn/initialise.h"

namespace evener {
namespace {

constexpr int kRounds = 7;
constexpr std::size_t kBatch = 256, kSteps = 10;

struct Subject {
  std::unique_ptr<Device> device;
  std::unique_ptr<Replica> replica;
  std::uint64_t step = 0;
  std::map<std::string, std::vector<double>> seconds;
};

struct Work {
  Dataset data;
  Network network;
  Layout layout;
  std::vector<std::uint32_t> rows;
  std::vector<float> values;

  Batch batch(std::size_t index) const {
    const std::size_t at = index * kBatch % (rows.size() - kBatch);
    return {&data, std::span(rows).subspan(at, kBatch)};
  }
};

void time(Subject& subject, const std::string& what, const std::function<void()>& work) {
  const Stopwatch watch;
  work();
  subject.seconds[what].push_back(watch.elapsed());
}

void round(Work& work, Subject& subject) {
  Replica& replica = *subject.replica;
  time(subject, "step", [&] {
    for (std::size_t i = 0; i < kSteps; ++i) {
      const NextStep next{work.batch(subject.step + 1), {subject.step + 2, 1e-3F}};
      replica.step(work.batch(subject.step), {subject.step + 1, 1e-3F}, &next);
      ++subject.step;
    }
  });
  time(subject, "predict", [&] {
    for (std::size_t i = 0; i < kSteps; ++i) {
      Predictions out;
      out.k = 5;
      replica.predict(work.batch(i), out);
    }
  });
  std::vector<std::uint32_t> touched;
  for (const std::uint32_t row : work.batch(0).rows) {
    const auto features = work.data.features.row(row).indices;
    touched.insert(touched.end(), features.begin(), features.end());
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  const Blocks blocks = blocks_of(work.network, work.layout, touched);
  const auto copies = [&](const std::string& what, const std::function<void()>& copy) {
    time(subject, what, [&] {
      for (std::size_t i = 0; i < kSteps; ++i) copy();
    });
  };
  copies("store", [&] { replica.store(0, work.values); });
  copies("load", [&] { replica.load(0, work.values); });
  copies("store blocks", [&] { replica.store_blocks(0, blocks, work.values); });
  copies("load blocks", [&] { replica.load_blocks(0, blocks, work.values); });
}

void run(const std::string& file, const std::vector<std::string>& names) {
  Work work;
  work.data = read_dataset(file, {});
  work.network.features = work.data.feature_count;
  work.network.labels = work.data.label_count;
  work.network.hidden = {128};
  work.layout = layout_of(work.network);
  work.values.resize(work.layout.size);
  initialise(work.network, 1, work.values);
  work.rows = shuffled_rows(work.data.rows(), 1, 0);
  std::vector<Subject> subjects(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    subjects[i].device = make_device(names[i]);
    subjects[i].replica = subjects[i].device->make_replica(work.network, {});
    subjects[i].replica->load(0, work.values);
    round(work, subjects[i]);  // warms up
    subjects[i].seconds.clear();
  }
  for (int r = 0; r < kRounds; ++r) {
    for (auto& subject : subjects) round(work, subject);
  }
  std::printf("%s\n%-14s", file.c_str(), "ms, median");
  for (const auto& name : names) std::printf("%22s", name.c_str());
  std::printf("\n");
  for (const char* what : {"step", "predict", "store", "load", "store blocks", "load blocks"}) {
    std::printf("%-14s", what);
    double first = 0;
    for (auto& subject : subjects) {
      auto& seconds = subject.seconds[what];
      std::sort(seconds.begin(), seconds.end());
      const double median = seconds[kRounds / 2] / kSteps * 1e3;
      if (first == 0) first = median;
      std::printf("%13.3f (%4.0f %%)", median, 100 * first / median);
    }
    std::printf("\n");
  }
}

std::vector<std::string> all_devices() {
  std::vector<std::string> names{"cpu:1"};
  for (const auto& device : opencl::list()) {
    if (!device.usable) continue;
    const std::string name = opencl::to_string(device.place);
    names.push_back(device.processor && device.compute_units > 1 ? name + ".0" : name);
  }
  return names;
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  std::vector<std::string> files, names = evener::all_devices();
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--devices") == 0 && i + 1 < argc) {
      names.clear();
      std::string list = argv[++i];
      for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        names.push_back(list.substr(at, comma - at));
        at = comma + 1;
      }
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (files.empty()) files.emplace_back(EVENER_SOURCE_DIR "/../shared/data/eurlex4k/train.txt.xz");
  std::printf("per cent: speed against the first\n");
  for (const auto& file : files) evener::run(file, names);
}
