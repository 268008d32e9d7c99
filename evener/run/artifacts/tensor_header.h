// The header of a tensor file: reading one that may be damaged or hostile, and making one.
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

/// Bytes an element takes; 0 for a dtype that the format does not know.
std::size_t element_size(const std::string& dtype);

/// rows x cols x ... x `size`; false if that is beyond 64 bits.
bool byte_count(const std::vector<std::size_t>& shape, std::size_t size, std::size_t& bytes);

/// XXH3, 64 bits, as 16 hexadecimal digits.
std::string checksum_text(std::uint64_t hash);

/// Checks everything but the tensors' own checksums: the entries lie within the file, fill it
/// without overlap or gap, and have the length that dtype and shape say. Needs memory in
/// proportion to the header alone. `path` is for messages.
TensorHeader parse_tensor_header(std::span<const std::byte> file, const std::string& path);

/// The bytes before the data, length included; `header.data_begin` is not used.
std::string format_tensor_header(const TensorHeader& header);

}  // namespace evener
