#include "evener/device/opencl/faults.h"

#include <atomic>
#include <string>

#include "evener/device/device.h"

namespace evener::opencl {

namespace {

std::atomic<long>& calls() {
  static std::atomic<long> count{0};
  return count;
}
std::atomic<long>& first_failure() {
  static std::atomic<long> call{-1};
  return call;
}

}  // namespace

long fail_from_call(long n) {
  first_failure() = n;
  return calls().exchange(0);
}

void before_call(const char* what) {
  const long call = calls()++;
  const long from = first_failure();
  if (from >= 0 && call >= from) {
    throw DeviceError(std::string("injected failure at ") + what);
  }
}

}  // namespace evener::opencl
