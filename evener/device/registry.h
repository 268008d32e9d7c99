// The registry of device kinds. Each backend folder of device/ exports one row, and registry.cc
// lists the rows. The rest of the program does not name a kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "evener/device/device.h"

namespace evener {

/// A property of a device, with its name in `evener devices --json`.
struct DeviceFact {
  using Value = std::variant<bool, std::uint64_t, double, std::vector<std::string>>;
  std::string name;
  Value value;
};

/// One device of this machine.
struct ListedDevice {
  std::string name;         // in the format of --devices
  std::string description;  // human-readable
  std::string why_not;      // empty: it can be used
  std::vector<DeviceFact> facts;
  std::vector<std::string> lines;  // the same as text, below the description

  /// Parts that are devices of their own; each name is this device's name, a dot and a number.
  std::vector<std::string> parts;
  bool same_cores_as_cpu = false;
  /// The maker of a card that more than one kind of device can use ("NVIDIA"); empty: no such card.
  std::string maker;
  /// For the conformance suite: variants of the device, selected by DeviceOptions.
  std::vector<std::string> variants;

  bool usable() const { return why_not.empty(); }
};

struct DeviceList {
  std::vector<ListedDevice> devices;
  std::string why_none;  // why the list is empty
};

/// A kind of device: parses names, lists the devices of this machine, describes them and makes
/// them.
struct DeviceKind {
  std::string name;   // "opencl"
  std::string title;  // human-readable: "OpenCL"
  std::string names;  // the names that --devices takes, for errors: "cuda:N"
  std::string help;   // what `evener devices --help` says about these names; may be empty

  /// Whether a name is of this kind, well formed or not.
  bool (*owns)(const std::string& name);
  /// UsageError if the name is not well formed or there is no such device.
  std::unique_ptr<Device> (*make)(const std::string& name, const DeviceOptions& options);
  /// Lists the devices of this machine. May take a tenth of a second.
  DeviceList (*list)();
  /// Cores of this machine that the named device uses; 0: none.
  unsigned (*cores)(const std::string& name);

  /// The device works in host memory: --memory-limit does not apply, and workers may share its
  /// cores.
  bool in_host_memory = false;
  /// Several devices of this kind, not only parts of one device, can merge replicas without the
  /// host.
  bool merges_between_devices = false;
  /// If several kinds can use one card, --devices auto takes the kind with the lowest number.
  int auto_order = 0;
};

/// All kinds, in the order of `evener devices`.
std::span<const DeviceKind> device_kinds();

/// The kind of a device name; null: unknown.
const DeviceKind* find_device_kind(const std::string& name);

}  // namespace evener
