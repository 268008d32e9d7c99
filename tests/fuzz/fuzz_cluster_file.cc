// Any bytes as CLUSTER.toml: read, or refused with a UsageError. What was read and is written must
// be read again, with the same devices.
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/memory_file.h"

#include "evener/core/error.h"
#include "evener/run/devices/cluster_file.h"

namespace {

void write_again(const evener::VirtualTimeOptions& options, const evener::MemoryFile& file) {
  std::string text;
  for (const auto& device : options.devices) {
    text += evener::cluster_device_text(device);
    if (!evener::cluster_device_json(device).is_object()) std::abort();
  }
  file.put(text);
  const evener::VirtualTimeOptions again = evener::read_cluster(file.path());
  if (again.devices.size() != options.devices.size()) std::abort();
  for (std::size_t i = 0; i < again.devices.size(); ++i) {
    if (again.devices[i].name != options.devices[i].name) std::abort();
    if (again.devices[i].threads != options.devices[i].threads) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const evener::MemoryFile file, copy;
  file.put({reinterpret_cast<const char*>(data), size});
  evener::VirtualTimeOptions options;
  try {
    options = evener::read_cluster(file.path());
  } catch (const evener::UsageError&) {
    return 0;
  }
  write_again(options, copy);  // an error here is a fault
  return 0;
}
