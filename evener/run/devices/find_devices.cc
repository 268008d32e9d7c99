#include "evener/run/devices/find_devices.h"

#include <algorithm>
#include <map>

#include "evener/device/registry.h"

namespace evener {

FoundDevices find_devices(const std::string& cpu) {
  FoundDevices found{cpu, {}};
  std::vector<const DeviceKind*> kinds;
  for (const DeviceKind& kind : device_kinds()) {
    if (!kind.owns(cpu)) kinds.push_back(&kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const DeviceKind* a, const DeviceKind* b) {
    return a->auto_order < b->auto_order;
  });
  std::map<std::string, const DeviceKind*> driven_by;  // by the maker of the cards
  for (const DeviceKind* kind : kinds) {
    for (const ListedDevice& device : kind->list().devices) {
      const auto driver = driven_by.find(device.maker);
      if (!device.usable()) {
        found.left_out.push_back(device.name + " (" + device.why_not + ")");
      } else if (device.same_cores_as_cpu) {
        found.left_out.push_back(device.name + " (the same cores as " + cpu + ")");
      } else if (driver != driven_by.end() && driver->second != kind) {
        found.left_out.push_back(device.name + " (" + driver->second->title + " drives that card)");
      } else {
        found.list += "," + device.name;
        if (!device.maker.empty()) driven_by.emplace(device.maker, kind);
      }
    }
  }
  return found;
}

}  // namespace evener
