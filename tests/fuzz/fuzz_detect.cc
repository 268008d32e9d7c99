#include <memory>

#include "tests/fuzz/dataset_checks.h"

#include "evener/data/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto copy = std::make_unique<char[]>(size);
  std::copy(data, data + size, copy.get());
  evener::detect_format({copy.get(), size});
  return 0;
}
