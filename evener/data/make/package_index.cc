#include "evener/data/make/package_index.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "evener/core/error.h"
#include "evener/core/file.h"

namespace evener {

namespace {

constexpr const char* kCommand = "apt-cache dumpavail";
constexpr const char* kLists = "/var/lib/apt/lists";  // where apt keeps what it has fetched
constexpr std::string_view kBlank = " \t\r\n";

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

template <class Use>
void for_each_item(std::string_view list, Use&& use) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string_view item = trim(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    if (!item.empty()) use(item);
  }
}

// `default-mta (>= 1) | mail-transport-agent` -> `default-mta`: the first of the alternatives,
// which apt installs unless another package asks for a different one.
std::string_view first_alternative(std::string_view group) {
  return group.substr(0, group.find_first_of(" \t\n(:[|<"));
}

void take_field(Package& package, std::string_view field, std::string_view value) {
  if (field == "Package") {
    package.name = value;
  } else if (field == "Version") {
    package.version = value;
  } else if (field == "Description" || field == "Description-en") {
    package.synopsis = trim(value.substr(0, value.find('\n')));
  } else if (field == "Tag") {
    for_each_item(value, [&](std::string_view tag) { package.tags.emplace_back(tag); });
  } else if (field == "Depends" || field == "Pre-Depends" || field == "Recommends") {
    for_each_item(value, [&](std::string_view group) {
      package.installs.emplace_back(first_alternative(group));
    });
  }
}

// A line and those after it that begin with a blank, which continue it.
struct Field {
  std::string_view text;
  std::size_t lines = 0;
};

Field next_field(std::string_view text) {
  std::size_t end = 0;
  Field field;
  do {
    end = text.find('\n', end);
    ++field.lines;
    if (end == std::string_view::npos) break;
    ++end;
  } while (end < text.size() && (text[end] == ' ' || text[end] == '\t'));
  field.text = text.substr(0, end);
  return field;
}

void keep_highest(std::vector<Package>& packages) {
  std::stable_sort(packages.begin(), packages.end(), [](const Package& a, const Package& b) {
    const int names = a.name.compare(b.name);
    return names != 0 ? names < 0 : compare_versions(a.version, b.version) > 0;
  });
  const auto same = [](const Package& a, const Package& b) { return a.name == b.name; };
  packages.erase(std::unique(packages.begin(), packages.end(), same), packages.end());
}

std::string read_command() {
  struct Close {
    void operator()(FILE* pipe) const { pclose(pipe); }
  };
  std::unique_ptr<FILE, Close> pipe(popen((std::string(kCommand) + " 2>/dev/null").c_str(), "re"));
  if (!pipe) throw Error(std::string("cannot run ") + kCommand + ": " + std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> block;
  std::size_t size = 0;
  while ((size = fread(block.data(), 1, block.size(), pipe.get())) > 0) {
    text.append(block.data(), size);
  }
  const int status = pclose(pipe.release());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    throw Error(
        "there is no apt-cache here: this data set is made from Debian's package index; "
        "give a Packages file instead (--index FILE)");
  }
  if (status != 0) throw Error(std::string(kCommand) + " failed; run it by hand to see why");
  return text;
}

// zlib passes uncompressed files through.
std::string read_file(const std::string& path) {
  if (is_missing(path)) throw UsageError(path + ": there is no such file");
  if (std::filesystem::is_directory(path)) throw Error(path + ": is a directory, not an index");
  if (!std::filesystem::is_regular_file(path)) throw Error(path + ": is not a regular file");
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (!file) throw Error(path + ": cannot open: " + std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> block;
  int size = 0;
  while ((size = gzread(file.get(), block.data(), block.size())) > 0) {
    text.append(block.data(), static_cast<std::size_t>(size));
  }
  int code = Z_OK;
  const char* reason = gzerror(file.get(), &code);
  if (size < 0 || code == Z_BUF_ERROR) throw DataError(path, 0, reason);
  return text;
}

std::time_t changed(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mtime : 0;
}

// apt sets the modification time of a list to the archive's last change.
std::time_t lists_changed() {
  std::time_t newest = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kLists, ignored)) {
    if (entry.path().filename().string().find("_Packages") == std::string::npos) continue;
    newest = std::max(newest, changed(entry.path().string()));
  }
  return newest;
}

std::string date_of(std::time_t when) {
  if (when == 0) return "unknown";
  std::tm parts{};
  gmtime_r(&when, &parts);
  std::array<char, 16> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

}  // namespace

std::vector<Package> parse_package_index(std::string_view text, const std::string& source) {
  std::vector<Package> packages;
  Package package;
  const auto finish = [&](std::size_t line, bool any) {
    if (!any) return;
    if (package.name.empty()) throw DataError(source, line, "a record without Package: ends here");
    packages.push_back(std::exchange(package, {}));
  };
  std::size_t line = 1;
  bool any = false;  // the current record has a field
  while (!text.empty()) {
    const Field field = next_field(text);
    text.remove_prefix(field.text.size());
    if (trim(field.text).empty()) {
      finish(line, std::exchange(any, false));
    } else {
      const auto colon = field.text.find(':');
      if (colon == std::string_view::npos || field.text.find('\n') < colon) {
        throw DataError(source, line, "not `Field: value`; is this a Packages file?");
      }
      take_field(package, field.text.substr(0, colon), trim(field.text.substr(colon + 1)));
      any = true;
    }
    line += field.lines;
  }
  finish(line, any);
  keep_highest(packages);
  return packages;
}

PackageIndex read_package_index(const std::string& path) {
  PackageIndex index;
  if (path.empty()) {
    index.source = kCommand;
    index.packages = parse_package_index(read_command(), index.source);
    index.date = date_of(lists_changed());
    if (index.packages.empty()) {
      throw Error("this machine has no package index yet: run `apt-get update` first");
    }
  } else {
    index.source = path;
    index.packages = parse_package_index(read_file(path), path);
    index.date = date_of(changed(path));
    if (index.packages.empty()) throw DataError(path, 0, "holds no package");
  }
  return index;
}

}  // namespace evener
