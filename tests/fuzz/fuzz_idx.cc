#include <algorithm>

#include "tests/fuzz/dataset_checks.h"

#include "evener/data/parse.h"

// The first byte is the size of the labels file, which follows; 0: none.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace evener;
  if (size == 0) return 0;
  const std::string_view all = text_of(data + 1, size - 1);
  const std::size_t label_size = std::min<std::size_t>(data[0], all.size());
  accepted([&] {
    const auto labels = open_stream(bytes_of(all.substr(0, label_size)));
    const auto images = open_stream(bytes_of(all.substr(label_size)));
    check_dataset(parse_idx(*images, "images", label_size > 0 ? labels.get() : nullptr, "labels"));
  });
  return 0;
}
