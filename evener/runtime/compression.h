// Lossy compression of pushes, in fewer bits or fewer numbers. The residual, which was not sent, is
// added to the next push (error feedback).
#pragma once

#include <cstdint>
#include <span>

#include "evener/policy/compression.h"

namespace evener {

/// On entry `values` is what is to be sent, on return what is sent; `residual` is the rest. The sum
/// of both is bit for bit what was to be sent, as long as that is below 2^29.
void compress(const Compression& compression, std::span<float> values, std::span<float> residual);

/// The nearest number of half precision, the largest finite one where there is none.
float nearest_half(float value);
// Its sixteen bits, and back.
std::uint16_t half_bits(float half);
float from_half(std::uint16_t bits);

}  // namespace evener
