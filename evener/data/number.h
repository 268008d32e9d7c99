// Parses numbers in text: always exact, and fast for short ones.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace evener {

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') <= 9;
}

/// Reads decimal digits from `p` up to the first other character, which must exist (a line end).
/// More than 19 digits do not fit: then the result is 2^64 - 1.
inline const char* parse_unsigned(const char* p, std::uint64_t& value) {
  const char* begin = p;
  std::uint64_t sum = 0;
  while (is_digit(*p)) sum = sum * 10 + static_cast<std::uint64_t>(*p++ - '0');
  value = p - begin <= 19 ? sum : ~std::uint64_t{0};
  return p;
}

/// Parses any decimal number between `begin` and `end`, rounded as strtof and strtod do; null if
/// there is none. "nan" and "inf" are numbers here, and an overflow gives infinity.
const char* parse_any_float(const char* begin, const char* end, float& value);
const char* parse_any_double(const char* begin, const char* end, double& value);

inline constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/// Reads a decimal of at most 15 digits without exponent; null if parse_any_float is needed. A
/// character that is not part of the number must follow, as in parse_unsigned.
///
/// Digits w and 10^k are exact doubles, so w / 10^k is the double nearest to the number. Rounding
/// it again, to float, is right unless that double is exactly half-way between two floats (the 29
/// dropped bits are 100...0): only then could the number itself be on either side.
inline const char* parse_short_float(const char* p, float& value) {
  const bool negative = *p == '-';
  p += negative;
  const char* digits = p;
  std::uint64_t sum = 0;
  while (is_digit(*p)) sum = sum * 10 + static_cast<std::uint64_t>(*p++ - '0');
  std::ptrdiff_t count = p - digits;
  std::ptrdiff_t after_point = 0;
  if (*p == '.') {
    const char* point = p++;
    while (is_digit(*p)) sum = sum * 10 + static_cast<std::uint64_t>(*p++ - '0');
    after_point = p - point - 1;
    count += after_point;
  }
  if (count == 0 || count > 15 || (*p | 0x20) == 'e') return nullptr;
  const double nearest = static_cast<double>(static_cast<std::int64_t>(sum)) /
                         kPowersOfTen[static_cast<std::size_t>(after_point)];
  constexpr std::uint64_t kLost = (std::uint64_t{1} << 29) - 1;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 28;
  if ((std::bit_cast<std::uint64_t>(nearest) & kLost) == kHalf) return nullptr;
  const auto rounded = static_cast<float>(nearest);
  value = negative ? -rounded : rounded;
  return p;
}

}  // namespace evener
