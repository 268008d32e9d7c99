#include "evener/data/data_folder.h"

#include <filesystem>

#include "evener/core/error.h"

namespace evener {

std::string data_file(const std::string& path, const std::string& part) {
  if (!std::filesystem::is_directory(path)) return path;
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    const bool names = name.rfind(part + ".names", 0) == 0;  // names of rows, next to the data
    if (name != part && (name.rfind(part + ".", 0) != 0 || names)) continue;
    if (!found.empty()) {
      throw UsageError(path + ": holds both " + found + " and " + name + "; name the file");
    }
    found = name;
  }
  return found.empty() ? "" : (std::filesystem::path(path) / found).string();
}

}  // namespace evener
