// CUDA devices, in a plug-in that is loaded on first use.
#include "evener/device/cuda/cuda_kind.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/plugin.h"
#include "evener/device/cuda/names.h"
#include "evener/device/cuda/plugin.h"

namespace evener {

namespace {

constexpr const char* kFile = "libevener_cuda.so";

struct Loaded {
  cuda::Plugin* plugin = nullptr;
  std::string why_not;
};

Loaded load() {
  const std::string file = plugin_file(kFile);
  if (file.empty()) return {nullptr, "this build has no CUDA plug-in (nvcc was not there)"};
  void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return {nullptr, dlerror()};
  const auto entry = reinterpret_cast<cuda::PluginEntry>(dlsym(object, cuda::kPluginEntry));
  cuda::Plugin* plugin = entry == nullptr ? nullptr : entry(cuda::kPluginVersion);
  if (plugin == nullptr) return {nullptr, file + " is of another build"};
  return {plugin, ""};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

struct Cards {
  std::vector<cuda::Card> cards;
  std::string why_none;
};

Cards find_cards() {
  Cards found;
  found.why_none = loaded().why_not;
  if (loaded().plugin == nullptr) return found;
  try {
    found.cards = loaded().plugin->cards();
    if (found.cards.empty()) found.why_none = "there is no card";
  } catch (const std::exception& error) {
    found.why_none = error.what();
  }
  return found;
}

DeviceList list() {
  const Cards found = find_cards();
  DeviceList list;
  list.why_none = found.why_none;
  for (const auto& card : found.cards) {
    ListedDevice device;
    device.name = card.name;
    device.description = card.description;
    device.maker = "NVIDIA";
    device.facts = {{"memory_bytes", std::uint64_t{card.memory}}};
    device.lines = {fmt::format("{:.1f} GB of memory", static_cast<double>(card.memory) / 1e9)};
    list.devices.push_back(std::move(device));
  }
  return list;
}

std::unique_ptr<Device> make(const std::string& name, const DeviceOptions& options) {
  const int card = cuda::parse_card(name);
  const Cards found = find_cards();
  if (static_cast<std::size_t>(card) >= found.cards.size()) {
    throw UsageError(
        found.cards.empty()
            ? fmt::format("device '{}': CUDA is not usable here: {}", name, found.why_none)
            : fmt::format("device '{}': there are {} cards, numbered from 0", name,
                          found.cards.size()));
  }
  return loaded().plugin->open(card, options);
}

}  // namespace

DeviceKind cuda_kind() {
  DeviceKind kind = cuda::named_kind();
  kind.make = make;
  kind.list = list;
  return kind;
}

}  // namespace evener
