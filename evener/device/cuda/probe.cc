#include "evener/device/cuda/probe.h"

#include <charconv>

#include <dlfcn.h>
#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/plugin.h"

namespace evener::cuda {

namespace {

constexpr const char* kFile = "libevener_cuda.so";

struct Loaded {
  Plugin* plugin = nullptr;
  std::string why_not;
};

Loaded load() {
  const std::string file = plugin_file(kFile);
  if (file.empty()) return {nullptr, "this build has no CUDA plug-in (nvcc was not there)"};
  void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return {nullptr, dlerror()};
  const auto entry = reinterpret_cast<PluginEntry>(dlsym(object, kPluginEntry));
  Plugin* plugin = entry == nullptr ? nullptr : entry(kPluginVersion);
  if (plugin == nullptr) return {nullptr, file + " is of another build"};
  return {plugin, ""};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

Probe probe() {
  Probe probe;
  probe.why_not = loaded().why_not;
  if (loaded().plugin == nullptr) return probe;
  try {
    probe.cards = loaded().plugin->cards();
    if (probe.cards.empty()) probe.why_not = "there is no card";
  } catch (const std::exception& error) {
    probe.why_not = error.what();
  }
  return probe;
}

std::unique_ptr<Device> make_cuda_device(const std::string& name, const DeviceOptions& options) {
  constexpr std::string_view kPrefix = "cuda:";
  int card = -1;
  const char* end = name.data() + name.size();
  const char* begin = name.data() + std::min(name.size(), kPrefix.size());
  const auto [stop, error] = std::from_chars(begin, end, card);
  if (!name.starts_with(kPrefix) || error != std::errc{} || stop != end || card < 0) {
    throw UsageError("device '" + name + "': CUDA devices are cuda:N, as in cuda:0");
  }
  const Probe found = probe();
  if (static_cast<std::size_t>(card) >= found.cards.size()) {
    throw UsageError(
        found.cards.empty()
            ? fmt::format("device '{}': CUDA is not usable here: {}", name, found.why_not)
            : fmt::format("device '{}': there are {} cards, numbered from 0", name,
                          found.cards.size()));
  }
  return loaded().plugin->open(card, options);
}

}  // namespace evener::cuda
