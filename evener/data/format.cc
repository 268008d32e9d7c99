// The names of data formats.
#include <array>
#include <string>
#include <utility>

#include "evener/core/error.h"
#include "evener/data/read.h"

namespace evener {

namespace {

constexpr std::array<std::pair<Format, const char*>, 5> kFormats{
    {{Format::automatic, "auto"},
     {Format::multilabel, "multilabel"},
     {Format::libsvm, "libsvm"},
     {Format::idx, "idx"},
     {Format::npz, "npz"}}};

}  // namespace

std::string to_string(Format format) {
  for (const auto& [value, name] : kFormats) {
    if (value == format) return name;
  }
  return "unknown";
}

Format parse_format(const std::string& name) {
  std::string all;
  for (const auto& [value, known] : kFormats) {
    if (name == known) return value;
    all += all.empty() ? known : std::string(", ") + known;
  }
  throw UsageError("'" + name + "' is not a data format; there are: " + all);
}

}  // namespace evener
