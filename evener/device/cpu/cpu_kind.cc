#include "evener/device/cpu/cpu_kind.h"

#include <charconv>

#include <fmt/format.h>

#include "evener/core/cores.h"
#include "evener/core/error.h"
#include "evener/device/cpu/cpu_device.h"

namespace evener {

namespace {

constexpr int kMostThreads = 1024;

bool owns(const std::string& name) {
  return name == "cpu" || name.starts_with("cpu:");
}

/// 0: one for each core.
int threads_of(const std::string& name) {
  if (name == "cpu") return 0;
  int threads = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 4, end, threads);
  if (error == std::errc{} && stop == end && threads >= 1 && threads <= kMostThreads) {
    return threads;
  }
  throw UsageError(
      fmt::format("device '{}': cpu:T takes a number of threads from 1 to {}", name, kMostThreads));
}

std::unique_ptr<Device> make(const std::string& name, const DeviceOptions& /*options*/) {
  return cpu::make_cpu_device({.threads = threads_of(name)});
}

unsigned cores(const std::string& name) {
  const int threads = threads_of(name);
  return static_cast<unsigned>(threads == 0 ? available_cores() : threads);
}

/// Highway's names AVX3, AVX3_DL, ... are shown as AVX-512.
std::string description() {
  const std::string text = cpu::cpu_description();
  const std::size_t comma = text.rfind(", AVX3");
  return comma == std::string::npos ? text : text.substr(0, comma) + ", AVX-512";
}

DeviceList list() {
  const int cores = available_cores();
  const double one = cpu::measure_peak(1) / 1e9;
  const double all = cores == 1 ? one : cpu::measure_peak(cores) / 1e9;
  ListedDevice device;
  device.name = "cpu";
  device.description = description();
  device.facts = {
      {"cores", static_cast<std::uint64_t>(cores)}, {"gflops", all}, {"gflops_one_core", one}};
  device.lines = {fmt::format("{} {}, {:.0f} GFLOP/s measured ({:.0f} on one core)", cores,
                              cores == 1 ? "core" : "cores", all, one)};
  device.same_cores_as_cpu = true;
  return {{std::move(device)}, ""};
}

}  // namespace

DeviceKind cpu_kind() {
  DeviceKind kind;
  kind.name = "cpu";
  kind.title = "the processor";
  kind.names = "cpu, cpu:T (T threads)";
  kind.help = "cpu:T is T threads";
  kind.owns = owns;
  kind.make = make;
  kind.list = list;
  kind.cores = cores;
  kind.in_host_memory = true;
  return kind;
}

}  // namespace evener
