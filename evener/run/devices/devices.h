// The devices of a run: those of --devices and --emulate, or of a cluster file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/device/device.h"
#include "evener/run/devices/find_devices.h"
#include "evener/run/options/options.h"
#include "evener/runtime/virtual_time.h"

namespace evener {

struct RunDevices {
  std::vector<std::unique_ptr<Device>> devices;
  std::string found;  // the devices that auto found, with threads; empty: auto was not given
  std::vector<double> speeds;  // emulated, one per device; empty: none
  std::vector<std::string>
      notes;  // for the user: devices that auto left out, workers that share cores
  std::optional<VirtualTimeOptions> virtual_time;

  std::size_t count() const { return virtual_time ? virtual_time->devices.size() : devices.size(); }
};

using MakeDevice = std::function<std::unique_ptr<Device>(const std::string&, const DeviceOptions&)>;

/// The context for opening devices, other than the user's options.
struct DeviceContext {
  /// Finds the devices of --devices auto; called only if needed, since it takes time.
  std::function<FoundDevices()> automatic = [] { return FoundDevices{"cpu", {}}; };
  std::string cache_directory;  // for compiled kernels; empty: none
  MakeDevice make = make_device;
  std::function<void(const std::string&)> say;  // see DeviceOptions
};

/// --devices, --emulate and --memory-limit: "cpu:1,cpu:1". UsageError if the list is empty or names
/// a device twice; `cpu:T` may occur several times, each with its own threads. UsageError for a
/// memory limit if no device has its own memory.
RunDevices open_devices(const TrainOptions& options, const DeviceContext& context);

/// Opens the device of a command that uses only one; `option` names it in messages. The memory
/// limit is "512", or empty. UsageError for a list of devices, and for a limit on a processor.
std::unique_ptr<Device> open_one_device(const std::string& option, const std::string& name,
                                        const std::string& memory_limit,
                                        const DeviceContext& context);

/// The speeds that "1=x0.25, cpu:2=x0.5" gives to devices by index or name; empty for "".
std::vector<double> parse_emulation(const std::string& text, const std::vector<std::string>& names);

/// Bytes for each device from "512" or "512, opencl:0.0=256", in megabytes; 0: no limit. UsageError
/// if one limit would replace another, or if it is for a processor.
std::vector<std::size_t> parse_memory_limits(const std::string& text,
                                             const std::vector<std::string>& names);

/// Reduces --devices, --emulate and --memory-limit to these devices of the run, for a resumed run.
void keep_devices(TrainOptions& options, const std::vector<std::string>& names,
                  const std::vector<std::size_t>& kept);

}  // namespace evener
