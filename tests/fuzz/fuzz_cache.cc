#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/dataset_checks.h"
#include <xxhash.h>

#include "evener/data/cache_file.h"
#include "evener/data/parse.h"

// The input as it is, and with corrected checksums, as in a file made by an attacker.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace evener;
  auto memory = std::make_shared<std::vector<std::uint64_t>>((size + 7) / 8);
  if (size > 0) std::memcpy(memory->data(), data, size);
  const auto bytes = std::as_bytes(std::span(*memory)).first(size);
  accepted([&] { check_dataset(parse_cache(bytes, "f", memory)); });
  if (size < sizeof(CacheHeader)) return 0;
  CacheHeader header{};
  std::memcpy(&header, data, sizeof header);
  const auto payload = bytes.subspan(sizeof header);
  header.payload_checksum = XXH3_64bits(payload.data(), payload.size());
  if (header.names_size <= payload.size()) {
    const auto names = payload.last(header.names_size);
    header.names_checksum = XXH3_64bits(names.data(), names.size());
  }
  header.header_checksum = XXH3_64bits(&header, offsetof(CacheHeader, header_checksum));
  std::memcpy(memory->data(), &header, sizeof header);
  accepted([&] { check_dataset(parse_cache(bytes, "f", memory)); });
  return 0;
}
