#include <charconv>

#include "evener/core/error.h"
#include "evener/device/cpu/cpu_device.h"
#include "evener/device/cuda/probe.h"
#include "evener/device/device.h"
#include "evener/device/opencl/list.h"
#include "evener/device/opencl/opencl_device.h"

namespace evener {

std::unique_ptr<Device> make_device(const std::string& name, const DeviceOptions& options) {
  constexpr int kMostThreads = 1024;
  if (name == "cpu") return cpu::make_cpu_device({});
  if (name.starts_with("cpu:")) {
    int threads = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 4, end, threads);
    if (error == std::errc{} && stop == end && threads >= 1 && threads <= kMostThreads) {
      return cpu::make_cpu_device({.threads = threads});
    }
    throw UsageError("device '" + name + "': cpu:T takes a number of threads from 1 to " +
                     std::to_string(kMostThreads));
  }
  if (name.starts_with("opencl")) {
    return opencl::make_opencl_device(opencl::parse_place(name), options);
  }
  if (name.starts_with("cuda")) return cuda::make_cuda_device(name, options);
  throw UsageError("unknown device '" + name +
                   "'; valid: cpu, cpu:T (T threads), opencl:P.D (platform, device), opencl:P.D.S "
                   "(one compute unit of it), cuda:N; `evener devices` shows what is here");
}

}  // namespace evener
