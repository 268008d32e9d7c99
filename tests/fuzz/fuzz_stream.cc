#include <array>

#include "tests/fuzz/dataset_checks.h"

#include "evener/data/stream.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace evener;
  accepted([&] {
    const auto stream = open_stream(bytes_of(text_of(data, size)));
    std::array<char, 4096> buffer;
    // A small file can unpack to a very large one; the first part is enough.
    constexpr int kEnough = 1000;
    for (int i = 0; i < kEnough && stream->read(buffer) > 0; ++i) {
    }
  });
  return 0;
}
