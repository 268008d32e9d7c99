// The processor's name and its peak speed of multiply-adds.
#include <algorithm>
#include <fstream>
#include <numeric>
#include <vector>

#include "evener/core/team.h"
#include "evener/core/time.h"
#include "evener/device/cpu/cpu_device.h"
#include "evener/device/cpu/kernels.h"

namespace evener::cpu {

std::string cpu_description() {
  std::ifstream info("/proc/cpuinfo");
  std::string name = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const auto colon = line.find(": ");
      if (colon != std::string::npos) name = line.substr(colon + 2);
      break;
    }
  }
  return name + ", " + kernels().name;
}

double measure_peak(int threads) {
  constexpr std::size_t kRounds = 4'000'000;
  Team team(threads);
  std::vector<double> operations(static_cast<std::size_t>(threads));
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Stopwatch watch;
    team.run([&](int member) {
      operations[static_cast<std::size_t>(member)] = kernels().multiply_adds(kRounds);
    });
    best = std::max(best,
                    std::accumulate(operations.begin(), operations.end(), 0.0) / watch.elapsed());
  }
  return best;
}

}  // namespace evener::cpu
