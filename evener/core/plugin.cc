#include "evener/core/plugin.h"

#include <filesystem>

namespace evener {

std::string plugin_file(const std::string& name) {
  std::error_code ignored;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& folder : {own, own.parent_path(), own.parent_path() / "lib/evener"}) {
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  return "";
}

}  // namespace evener
