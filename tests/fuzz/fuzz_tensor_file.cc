// Any bytes as a tensor file and as a model must be read or refused with an Error.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.h"

#include "evener/core/error.h"
#include "evener/run/artifacts/model.h"
#include "evener/run/artifacts/model_file.h"
#include "evener/run/artifacts/tensor_header.h"

namespace {

void read_everything(const std::string& path) {
  const evener::TensorFile file(path);
  for (const auto& [name, entry] : file.entries()) {
    try {
      unsigned sum = 0;
      for (const std::byte b : file.bytes(name, entry.dtype, entry.shape)) {
        sum += std::to_integer<unsigned>(b);
      }
      [[maybe_unused]] volatile unsigned sink = sum;  // or the loop could be left out
    } catch (const evener::Error&) {  // a wrong checksum; the next tensor may be right
    }
  }
}

/// An accepted file, written and read again, must give the same contents.
void write_again(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  evener::TensorHeader header = evener::parse_tensor_header(bytes, "first");
  header.metadata.erase("xxh3");
  std::string text = evener::format_tensor_header(header);
  text.append(reinterpret_cast<const char*>(data) + header.data_begin, size - header.data_begin);
  evener::TensorHeader again =
      evener::parse_tensor_header(std::as_bytes(std::span(text)), "second");
  again.metadata.erase("xxh3");
  if (again.metadata != header.metadata || again.entries.size() != header.entries.size()) {
    std::abort();
  }
}

template <class Action>
void try_to(Action action) {
  try {
    action();
  } catch (const evener::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const evener::MemoryFile file;
  file.put({reinterpret_cast<const char*>(data), size});
  try_to([&] { read_everything(file.path()); });
  try_to([&] { evener::load_model(file.path()); });
  bool accepted = true;
  try {
    evener::parse_tensor_header(std::as_bytes(std::span(data, size)), "first");
  } catch (const evener::Error&) {
    accepted = false;
  }
  if (accepted) write_again(data, size);
  return 0;
}
