#include "evener/cluster/transport/mpi/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/plugin.h"

namespace evener::mpi {

std::shared_ptr<World> start_world(const std::string& family, const WorldOptions& options) {
  const std::string file = plugin_file(fmt::format("libevener_mpi_{}.so", family));
  if (file.empty()) {
    throw UsageError(
        fmt::format("mpi:{}: this build has no plug-in for it (EVENER_MPI was off, or the library "
                    "was not found)",
                    family));
  }
  // The libraries load modules of their own, which need their symbols to be global.
  void* object = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (object == nullptr) {
    throw UsageError(fmt::format("mpi:{}: cannot be used here: {}", family, dlerror()));
  }
  const auto entry = reinterpret_cast<PluginEntry>(dlsym(object, kPluginEntry));
  std::shared_ptr<World> world(entry == nullptr ? nullptr : entry(kPluginVersion, options));
  if (!world) throw UsageError(file + " is of another build");
  return world;
}

}  // namespace evener::mpi
