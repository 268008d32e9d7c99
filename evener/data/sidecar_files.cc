#include "evener/data/sidecar_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "evener/core/file.h"
#include "evener/data/names.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

bool replace_last(std::string& text, std::string_view old, std::string_view with) {
  const std::size_t at = text.rfind(old);
  if (at == std::string::npos) return false;
  text.replace(at, old.size(), with);
  return true;
}

void remove_suffix(std::string& text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
}

}  // namespace

std::vector<std::string> idx_label_files(const std::string& images) {
  const fs::path path(images);
  std::string name = path.filename();
  if (!replace_last(name, "images", "labels")) return {};
  replace_last(name, "idx3", "idx1");
  std::string plain = name;
  remove_suffix(plain, ".gz");
  remove_suffix(plain, ".xz");
  std::vector<std::string> files{path.parent_path() / name};
  for (const char* suffix : {"", ".gz", ".xz"}) {
    const std::string file = path.parent_path() / (plain + suffix);
    if (file != files.front()) files.push_back(file);
  }
  return files;
}

std::string npz_label_file(const std::string& path) {
  std::string base = path;
  remove_suffix(base, ".npz");
  return base + ".labels.npz";
}

std::string label_name_file(const std::string& path) {
  return fs::path(path).parent_path() / "labels.txt";
}

std::vector<std::string> companions_of(const std::string& path) {
  std::vector<std::string> files = idx_label_files(path);
  files.push_back(npz_label_file(path));
  files.push_back(label_name_file(path));
  return files;
}

std::vector<std::string> read_label_names(const std::string& path, std::size_t count) {
  const std::string file_name = label_name_file(path);
  if (count == 0 || is_missing(file_name)) return {};
  const std::string content = read_names_file(file_name);
  std::string_view text = content;
  const auto line_ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (line_ends + (text.empty() || text.back() == '\n' ? 0 : 1) != count) return {};
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    names.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

}  // namespace evener
