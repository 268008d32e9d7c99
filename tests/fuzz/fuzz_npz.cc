#include <algorithm>
#include <string>

#include "tests/data/npz_maker.h"
#include "tests/fuzz/dataset_checks.h"

#include "evener/data/parse.h"

namespace {

// Checksums would stop the fuzzer before it reaches the arrays, so this target builds the archive
// from members in the input: each is a length of two bytes and its content.
std::string archive_of(std::string_view parts) {
  evener::ZipMaker zip(false);
  for (const char* name : {"shape", "indptr", "indices", "data", "format", "y_shape", "y_indptr",
                           "y_indices", "y_data"}) {
    if (parts.size() < 2) break;
    const std::size_t size = static_cast<unsigned char>(parts[0]) |
                             static_cast<std::size_t>(static_cast<unsigned char>(parts[1])) << 8;
    parts.remove_prefix(2);
    const std::string_view content = parts.substr(0, size);
    zip.add(std::string(name) + ".npy", std::string(content));
    parts.remove_prefix(content.size());
  }
  return zip.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace evener;
  const std::string_view text = text_of(data, size);
  accepted([&] { check_dataset(parse_npz(bytes_of(text), "f", {}, "")); });
  if (text.starts_with("PK")) return 0;
  const std::string archive = archive_of(text);
  accepted([&] { check_dataset(parse_npz(bytes_of(archive), "f", {}, "")); });
  return 0;
}
