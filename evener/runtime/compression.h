// Lossy compression of pushes, in fewer bits or fewer numbers. What was not sent is added to the
// next push.
#pragma once

#include <cstdint>
#include <span>

#include "evener/policy/compression.h"

namespace evener {

/// On entry `values` is what is to be sent, on return what is sent; `owed` is the rest. To the bit,
/// sent + owed is what was to be sent, as long as that is below 2^29.
void compress(const Compression& compression, std::span<float> values, std::span<float> owed);

/// The nearest number of half precision, the largest finite one where there is none.
float nearest_half(float value);
// Its sixteen bits, and back.
std::uint16_t half_bits(float half);
float from_half(std::uint16_t bits);

}  // namespace evener
