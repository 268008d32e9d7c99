#include <memory>
#include <string>

#include "tests/fuzz/dataset_checks.h"

#include "evener/data/parse.h"

// Parses the input in one piece and in small pieces, sometimes on several threads: the result must
// be the same.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace evener;
  // On the heap with the exact size, so that the sanitizer detects reads beyond the end.
  const auto copy = std::make_unique<char[]>(size);
  std::copy(data, data + size, copy.get());
  const std::string_view text(copy.get(), size);
  Dataset whole;
  Dataset pieces;
  std::string errors[2];
  ReadOptions options;
  try {
    whole = parse_libsvm(*windows_of(text, 1 << 20), "f", options);
    check_dataset(whole);
  } catch (const Error& error) {
    errors[0] = error.what();
  }
  options.threads = size % 16 == 0 ? 3 : 1;  // starting threads is slow
  try {
    pieces = parse_libsvm(*windows_of(open_stream(bytes_of(text)), "f", 16), "f", options);
    check_dataset(pieces);
  } catch (const Error& error) {
    errors[1] = error.what();
  }
  if (compression_of(bytes_of(text)) != FileCompression::none) return 0;
  require(errors[0] == errors[1]);
  require(whole.rows() == pieces.rows() && whole.features.nonzeros() == pieces.features.nonzeros());
  require(whole.feature_count == pieces.feature_count && whole.label_names == pieces.label_names);
  return 0;
}
