// A Debian package index (the format of `Packages` files) as far as data sets need it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evener {

struct Package {
  std::string name;
  std::string version;
  std::string synopsis;               // the description's first line
  std::vector<std::string> tags;      // debtags, as `facet::tag`
  std::vector<std::string> installs;  // what Pre-Depends, Depends and Recommends name, repeats kept
};

struct PackageIndex {
  std::vector<Package> packages;  // by name, each once
  std::string source;             // a file's path or the command that gave it
  std::string date;               // YYYY-MM-DD: when the index was last changed
};

/// Reads a Packages file (plain or .gz) or, with an empty path, apt's index. If there is no index,
/// throws an Error that describes what to do.
PackageIndex read_package_index(const std::string& path);

/// Packages of the index's text, by name; the highest of several versions.
/// Throws DataError (`source:line: what is wrong`).
std::vector<Package> parse_package_index(std::string_view text, const std::string& source);

/// Orders versions as dpkg does (Debian policy 5.6.12): < 0, 0 or > 0.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace evener
