// Arrays as numpy saves them (.npy): a small header in Python syntax, then the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "evener/data/array.h"

namespace evener {

/// A view of a saved array; `elements` is as long as type and shape say.
struct NpyArray {
  char kind = 0;                // i: signed, u: unsigned, f: floating, b: bool, S, U: text
  std::uint32_t item_size = 0;  // bytes
  std::uint64_t count = 1;      // elements of all dimensions
  int dimensions = 0;
  std::span<const std::byte> elements;
};

/// Throws Error (without a file name) for a damaged array or an unsupported type.
NpyArray parse_npy(std::span<const std::byte> bytes);

/// Element `i` of a number array; integers beyond 64 bits signed throw Error.
std::int64_t integer_at(const NpyArray& array, std::uint64_t i);
/// All elements as floats.
Array<float> floats_of(const NpyArray& array);
/// The characters of an `S` or `U` scalar.
std::string text_of(const NpyArray& array);

}  // namespace evener
