// The header of a tensor file: parses headers that may be damaged or hostile, and writes them.
#pragma once

#include <map>
#include <span>
#include <string>

#include "evener/run/artifacts/model_file.h"

namespace evener {

struct TensorHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorFile::Entry> entries;
  std::size_t data_begin = 0;  // bytes from the start of the file
};

/// Bytes per element; 0 for an unknown dtype.
std::size_t element_size(const std::string& dtype);

/// rows x cols x ... x `size`; false on overflow of 64 bits.
bool byte_count(const std::vector<std::size_t>& shape, std::size_t size, std::size_t& bytes);

/// XXH3, 64 bits, as 16 hexadecimal digits.
std::string checksum_text(std::uint64_t hash);

/// Checks everything except the tensors' checksums: the entries lie within the file, fill it
/// without overlap or gap, and have the length given by dtype and shape. Uses memory in proportion
/// to the header only. `path` is for messages.
TensorHeader parse_tensor_header(std::span<const std::byte> file, const std::string& path);

/// The bytes before the data, length included; `header.data_begin` is not used.
std::string format_tensor_header(const TensorHeader& header);

}  // namespace evener
