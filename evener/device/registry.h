// The kinds of devices. Each folder of device/ that computes exports one row, and registry.cc lists
// the rows: the rest of the program asks here and knows no kind by name.
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

/// Something known about a device, under a name that programs read (`evener devices --json`).
struct DeviceFact {
  using Value = std::variant<bool, std::uint64_t, double, std::vector<std::string>>;
  std::string name;
  Value value;
};

/// One device of this machine.
struct ListedDevice {
  std::string name;         // as --devices takes it
  std::string description;  // human-readable
  std::string why_not;      // empty: it can be used
  std::vector<DeviceFact> facts;
  std::vector<std::string> lines;  // the same for users, below the description

  /// Parts that can be named on their own; each name is this device's name, a dot and a number.
  std::vector<std::string> parts;
  bool same_cores_as_cpu = false;
  /// The maker of a card that more than one kind of device can use ("NVIDIA"); empty: no such card.
  std::string maker;
  /// For the conformance suite: other ways of computing on it, which DeviceOptions selects.
  std::vector<std::string> variants;

  bool usable() const { return why_not.empty(); }
};

struct DeviceList {
  std::vector<ListedDevice> devices;
  std::string why_none;  // where there are none
};

/// A kind of device: how its names are read, what there is of it here, what it can do, how one is
/// made.
struct DeviceKind {
  std::string name;   // "opencl"
  std::string title;  // human-readable: "OpenCL"
  std::string names;  // the names that --devices takes, for errors: "cuda:N"
  std::string help;   // what `evener devices --help` says about these names; may be empty

  /// Whether a name is of this kind, be it well formed or not.
  bool (*owns)(const std::string& name);
  /// UsageError if the name is not well formed or there is no such device.
  std::unique_ptr<Device> (*make)(const std::string& name, const DeviceOptions& options);
  /// What this machine has. May take a tenth of a second.
  DeviceList (*list)();
  /// Cores of this machine that the device of this name keeps busy; 0: none.
  unsigned (*cores)(const std::string& name);

  /// It works in the host's memory: --memory-limit does not apply, and workers may share its cores.
  bool in_host_memory = false;
  /// Devices of this kind, and not only parts of one, merge replicas without the host.
  bool merges_between_devices = false;
  /// Where several kinds can use one card, --devices auto takes the kind with the lowest number.
  int auto_order = 0;
};

/// All of them, in the order in which `evener devices` shows them.
std::span<const DeviceKind> device_kinds();

/// The kind that a name is of; null: none.
const DeviceKind* find_device_kind(const std::string& name);

}  // namespace evener
