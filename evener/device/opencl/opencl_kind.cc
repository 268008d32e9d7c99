#include "evener/device/opencl/opencl_kind.h"

#include <fmt/format.h>

#include "evener/device/opencl/clblast.h"
#include "evener/device/opencl/list.h"
#include "evener/device/opencl/names.h"
#include "evener/device/opencl/opencl_device.h"

namespace evener {

namespace {

std::unique_ptr<Device> make(const std::string& name, const DeviceOptions& options) {
  return opencl::make_opencl_device(opencl::parse_device_id(name), options);
}

unsigned cores(const std::string& name) {
  const opencl::DeviceId id = opencl::parse_device_id(name);
  for (const auto& found : opencl::list()) {
    if (found.id.platform != id.platform || found.id.device != id.device) continue;
    if (!found.processor) return 0;
    return id.part >= 0 ? 1 : found.compute_units;
  }
  return 0;
}

ListedDevice listed(const opencl::Found& found) {
  ListedDevice device;
  device.name = opencl::to_string(found.id);
  device.description = found.description;
  device.why_not = found.why_not;
  device.same_cores_as_cpu = found.processor;
  if (found.description.find("NVIDIA") != std::string::npos) device.maker = "NVIDIA";
  device.facts = {{"compute_units", std::uint64_t{found.compute_units}},
                  {"memory_bytes", std::uint64_t{found.memory}},
                  {"same_cores_as_cpu", found.processor}};
  device.lines = {fmt::format("{} compute units, {:.1f} GB of memory{}", found.compute_units,
                              static_cast<double>(found.memory) / 1e9,
                              found.processor ? "; the same cores as cpu" : "")};
  // Only processors can be split.
  if (!device.usable() || !found.processor || found.compute_units < 2) return device;
  for (int part = 0; part < static_cast<int>(found.compute_units); ++part) {
    device.parts.push_back(opencl::to_string({found.id.platform, found.id.device, part}));
  }
  device.facts.push_back({"parts", device.parts});
  device.lines.push_back(
      fmt::format("parts of one unit each: {} to {}", device.parts.front(), device.parts.back()));
  // Without a card, its layouts and CLBlast's products are tested on a processor.
  device.variants = {"card"};
  if (!opencl::clblast_file().empty()) device.variants.emplace_back("clblast");
  return device;
}

DeviceList list() {
  DeviceList list;
  for (const auto& found : opencl::list()) list.devices.push_back(listed(found));
  list.why_none =
      "no OpenCL runtime is installed, or it has no device; cards need the runtime "
      "of their maker, processors pocl-opencl-icd (Debian's name)";
  return list;
}

}  // namespace

DeviceKind opencl_kind() {
  DeviceKind kind = opencl::named_kind();
  kind.make = make;
  kind.list = list;
  kind.cores = cores;
  return kind;
}

}  // namespace evener
