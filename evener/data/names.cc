#include "evener/data/names.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "evener/core/error.h"
#include "evener/core/file.h"

namespace evener {

namespace {

std::string beside(const std::string& data_path, const std::string& name) {
  return (std::filesystem::path(data_path).parent_path() / name).string();
}

}  // namespace

std::string row_names_path(const std::string& data_path) {
  std::filesystem::path name = std::filesystem::path(data_path).filename();
  for (const std::string_view ending : {".gz", ".xz"}) {
    if (name.extension() == ending) name = name.stem();
  }
  return beside(data_path, name.stem().string() + ".names.txt");
}

std::string label_names_path(const std::string& data_path) {
  return beside(data_path, "labels.txt");
}

std::string read_names_file(const std::string& path) {
  constexpr std::size_t kLimit = std::size_t{1} << 32;
  // A pipe could be read only once, and its names would be missing the next time.
  if (!std::filesystem::is_regular_file(path)) throw Error(path + ": is not a regular file");
  return read_whole_file(path, kLimit);
}

std::vector<std::string> read_names(const std::string& path) {
  const std::string text = read_names_file(path);
  std::string_view rest = text;
  std::vector<std::string> names;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    names.emplace_back(line);
  }
  return names;
}

void write_names(const std::vector<std::string>& names, const std::string& path) {
  AtomicFile file(path);
  std::string buffer;
  for (const std::string& name : names) {
    if (name.find_first_of("\r\n") != std::string::npos) {
      throw Error(path + ": a name holds a line break: '" + name + "'");
    }
    buffer += name;
    buffer += '\n';
    if (buffer.size() >= std::size_t{1} << 20) {
      file.write(buffer.data(), buffer.size());
      buffer.clear();
    }
  }
  file.write(buffer.data(), buffer.size());
  file.commit();
}

std::vector<std::string> find_names(const std::string& path, std::size_t count,
                                    std::string* warning) {
  if (is_missing(path)) return {};
  std::vector<std::string> names = read_names(path);
  if (names.size() == count) return names;
  if (warning != nullptr) {
    *warning = path + ": has " + std::to_string(names.size()) + " names where the data has " +
               std::to_string(count) + ": not used";
  }
  return {};
}

}  // namespace evener
