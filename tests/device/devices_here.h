// The devices of this machine to test, by names that stand for make_device() and its options.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evener/device/device.h"

namespace evener {

/// Every device that the registry lists on this machine: the CPU with each of its instruction sets
/// ("cpu/AVX2"); others as a whole, two parts of each, and its variants ("card/opencl:0.0": the
/// layouts that cards get, "clblast/opencl:0.0": CLBlast's products).
std::vector<std::string> devices_here();
/// Those with their own memory.
std::vector<std::string> accelerators_here();
/// Pairs that merge without the host.
std::vector<std::pair<std::string, std::string>> pairs_here();

/// One of the above, but not "cpu/...", because the instruction set is global.
std::unique_ptr<Device> open_device(const std::string& name, std::size_t memory_limit = 0);

/// The name as a part of a test's name.
std::string test_name(std::string device);

}  // namespace evener
