#include "tests/device/devices_here.h"

#include <cctype>

#include "tests/sanitized.h"

#include "evener/device/registry.h"
#include "evener/device/vector/vector_kernels.h"

namespace evener {

namespace {

/// Usable devices of kinds with their own memory.
template <class F>
void for_accelerators(F f) {
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.in_host_memory) continue;
    for (const ListedDevice& device : kind.list().devices) {
      if (device.usable()) f(kind, device);
    }
  }
}

}  // namespace

std::vector<std::string> devices_here() {
  std::vector<std::string> names;
  for (const auto& name : instruction_sets()) {
    // Threads are the same in all instruction sets.
    if (!kThreadSanitized || names.empty()) names.push_back("cpu/" + name);
  }
  for (const auto& name : accelerators_here()) names.push_back(name);
  return names;
}

std::vector<std::string> accelerators_here() {
  std::vector<std::string> names;
  for_accelerators([&](const DeviceKind&, const ListedDevice& device) {
    names.push_back(device.name);
    if (kSanitized) return;
    for (const auto& variant : device.variants) names.push_back(variant + "/" + device.name);
    for (std::size_t i = 0; i < 2 && i < device.parts.size(); ++i) {
      names.push_back(device.parts[i]);
    }
  });
  return names;
}

std::vector<std::pair<std::string, std::string>> pairs_here() {
  std::vector<std::pair<std::string, std::string>> pairs;
  const DeviceKind* last_kind = nullptr;
  std::string last;
  for_accelerators([&](const DeviceKind& kind, const ListedDevice& device) {
    if (device.parts.size() > 1) pairs.emplace_back(device.parts[0], device.parts[1]);
    if (kind.merges_between_devices && last_kind == &kind) pairs.emplace_back(last, device.name);
    last_kind = &kind;
    last = device.name;
  });
  return pairs;
}

std::unique_ptr<Device> open_device(const std::string& name, std::size_t memory_limit) {
  const bool library = name.starts_with("clblast/");
  return make_device(name.substr(name.find('/') + 1),
                     {.memory_limit = memory_limit,
                      .cache_directory = "",
                      .as_card = library || name.starts_with("card/"),
                      .products = library ? ProductsBy::library : ProductsBy::own,
                      .say = {}});
}

std::string test_name(std::string device) {
  for (char& c : device) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return device;
}

}  // namespace evener
