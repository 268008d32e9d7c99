// How fast is data read? Prints MB/s of text for a generated file, plain and on more threads, and
// for eurlex4k if present. Usage: read_bench [FILE...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/data_folder.h"
#include <fmt/format.h>

#include "evener/core/file.h"
#include "evener/core/random.h"
#include "evener/core/time.h"
#include "evener/data/cache.h"
#include "evener/data/read.h"
#include "evener/data/stream.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

// Rows like those of eurlex4k: 237 features of 5000, values of six decimals, five labels of 4000.
std::string generated_text(std::size_t size) {
  Random random(1);
  std::string text;
  std::size_t rows = 0;
  while (text.size() < size) {
    for (int i = 0; i < 5; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ",", random.below(800) + 800 * i);
    }
    for (std::uint64_t index = random.below(40); index < 5000; index += 1 + random.below(41)) {
      text += fmt::format(" {}:{:.6f}", index, random.uniform() * 3);
    }
    text += '\n';
    ++rows;
  }
  return fmt::format("{} 5000 4000\n", rows) + text;
}

Seconds cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The best of several runs shows the speed on an idle machine. Processor time shows the cost of the
// work on a machine that is shared.
void measure(const std::string& what, double megabytes, auto&& action) {
  constexpr int kRepetitions = 7;
  Seconds best = 1e30;
  Seconds best_cpu = 1e30;
  for (int i = 0; i < kRepetitions; ++i) {
    const Stopwatch watch;
    const Seconds cpu = cpu_seconds();
    action();
    best = std::min(best, watch.elapsed());
    best_cpu = std::min(best_cpu, cpu_seconds() - cpu);
  }
  fmt::print("{:44} {:9.0f} MB/s   {:.4f} s, {:.4f} s of processor time\n", what, megabytes / best,
             best, best_cpu);
}

double text_megabytes(const std::string& path) {
  const MappedFile file(path);
  const auto stream = open_stream(file.bytes());
  std::vector<char> buffer(1 << 20);
  double bytes = 0;
  for (std::size_t count = 1; count > 0;)
    bytes += static_cast<double>(count = stream->read(buffer));
  return bytes / 1e6;
}

void measure_file(const std::string& path, const std::string& cache_file) {
  const double megabytes = text_megabytes(path);
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int t = 1; t <= std::max(threads, 1); t *= 2) {
    ReadOptions options;
    options.threads = t;
    measure(
        fmt::format("{} {:.0f} MB, {} threads", fs::path(path).filename().string(), megabytes, t),
        megabytes, [&] { read_dataset(path, options); });
  }
  write_cache(read_dataset(path, {}), cache_file);
  measure("  its cache, mapped and verified", megabytes, [&] { open_cache(cache_file); });
}

int run(const std::vector<std::string>& files) {
  std::string pattern = fs::temp_directory_path() / "read_bench.XXXXXX";
  const fs::path folder = mkdtemp(pattern.data());
  const std::string cache_file = folder / "cache";
  for (const auto& file : files) measure_file(file, cache_file);
  if (files.empty()) {
    const std::string text = generated_text(100'000'000);
    const std::string generated = folder / "generated.txt";
    write_atomically(generated, std::as_bytes(std::span(text)));
    measure_file(generated, cache_file);
    const std::string eurlex = data_folder() + "eurlex4k/train.txt.xz";
    if (fs::exists(eurlex)) {
      const Dataset data = read_dataset(eurlex, {});
      write_multilabel(data, folder / "eurlex4k.txt");
      measure_file(folder / "eurlex4k.txt", cache_file);
      measure_file(eurlex, cache_file);
    } else {
      fmt::print("eurlex4k: not measured, there is no {}\n", eurlex);
    }
  }
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  try {
    return evener::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
