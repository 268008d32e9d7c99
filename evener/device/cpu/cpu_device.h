// The CPU as a device: `cpu:T`, a team of T threads that train one replica together.
#pragma once

#include <memory>
#include <string>

#include "evener/device/device.h"

namespace evener::cpu {

struct CpuOptions {
  int threads = 0;  // 0: one for each core
  /// Memory for logits that the output layer keeps instead of computing them again. 0: 8 % of the
  /// model with its optimizer state, at least 64 MiB.
  std::size_t keep_bytes = 0;
};
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options);

/// The processor's name and the instruction set in use, human-readable.
std::string cpu_description();

/// Single-precision operations per second that `threads` threads reach with multiply-adds alone:
/// the peak that measured speeds are relative to. Takes about a tenth of a second.
double measure_peak(int threads);

}  // namespace evener::cpu
