#include "evener/device/cuda/names.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "evener/core/error.h"

namespace evener::cuda {

int parse_card(const std::string& name) {
  constexpr std::string_view kPrefix = "cuda:";
  int card = -1;
  const char* end = name.data() + name.size();
  const char* begin = name.data() + std::min(name.size(), kPrefix.size());
  const auto [stop, error] = std::from_chars(begin, end, card);
  if (!name.starts_with(kPrefix) || error != std::errc{} || stop != end || card < 0) {
    throw UsageError("device '" + name + "': CUDA devices are cuda:N, as in cuda:0");
  }
  return card;
}

DeviceKind named_kind() {
  DeviceKind kind;
  kind.name = "cuda";
  kind.title = "CUDA";
  kind.names = "cuda:N";
  kind.owns = [](const std::string& name) { return name.starts_with("cuda"); };
  kind.cores = [](const std::string&) { return 0U; };
  kind.merges_between_devices = true;
  kind.auto_order = 1;
  return kind;
}

}  // namespace evener::cuda
