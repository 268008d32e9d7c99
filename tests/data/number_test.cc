#include "evener/data/number.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "evener/core/random.h"

namespace evener {
namespace {

std::uint64_t unsigned_of(const std::string& text) {
  std::uint64_t value = 0;
  EXPECT_EQ(parse_unsigned(text.c_str(), value), text.c_str() + text.size());
  return value;
}

TEST(Number, UnsignedIntegers) {
  EXPECT_EQ(unsigned_of("0"), 0U);
  EXPECT_EQ(unsigned_of("4294967296"), 4294967296U);
  EXPECT_EQ(unsigned_of("9223372036854775808"), std::uint64_t{1} << 63);
  EXPECT_EQ(unsigned_of("9999999999999999999"), 9999999999999999999U);
  EXPECT_EQ(unsigned_of("18446744073709551617"), ~std::uint64_t{0});
}

// Both ways of reading must agree with the C library to the bit.
void expect_exact(const std::string& text) {
  const float expected = std::strtof(text.c_str(), nullptr);
  float value = 0;
  const char* end = text.c_str() + text.size();
  ASSERT_EQ(parse_any_float(text.c_str(), end, value), end) << text;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected)) << text;
  if (parse_short_float(text.c_str(), value) != nullptr) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected)) << text;
  }
}

TEST(Number, FloatsAreThoseOfTheCLibrary) {
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "1",
                           "1.",
                           ".5",
                           "-.25",
                           "0.1",
                           "16777217",
                           "16777219",
                           "33554435",
                           "1e-45",
                           "3.4028235e38",
                           "1e-999",
                           "0.000000000000001",
                           "999999999999999",
                           "1.00000005960464477539",
                           "1.0000000596046",
                           "8388609.5",
                           "8388608.5",
                           "4194304.25",
                           "123456.789e-3"}) {
    expect_exact(text);
  }
}

RC_GTEST_PROP(NumberProperty, DecimalsAreThoseOfTheCLibrary, ()) {
  const auto digits = *rc::gen::inRange<int>(1, 17);
  std::string text = *rc::gen::arbitrary<bool>() ? "-" : "";
  const auto point = *rc::gen::inRange<int>(0, digits + 1);
  for (int i = 0; i < digits; ++i) {
    if (i == point) text += '.';
    text += static_cast<char>('0' + *rc::gen::inRange<int>(0, 10));
  }
  expect_exact(text);
}

// Rounding twice would fail for decimals next to the middle between two floats. (Not a RapidCheck
// property: its numbers are mostly small, and their middles are short decimals.)
TEST(Number, NumbersHalfWayBetweenFloatsRoundOnce) {
  Random random(1);
  int short_ones = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t exponent = 120 + static_cast<std::uint32_t>(random.below(24));
    const float low = std::bit_cast<float>((random.next() & 0x007FFFFFU) | exponent << 23);
    const double middle = (static_cast<double>(low) + std::nextafter(low, 1e30F)) / 2;
    const int before_point = static_cast<int>(std::max(1.0, std::floor(std::log10(middle)) + 1));
    const std::string text = fmt::format("{:.{}f}", middle, 15 - before_point);
    expect_exact(text);
    float value = 0;
    short_ones += parse_short_float(text.c_str(), value) != nullptr ? 1 : 0;
  }
  EXPECT_GT(short_ones, 1000);
}

TEST(Number, LongNumbersAndExponentsAreLeftToTheSlowWay) {
  float value = 0;
  for (const char* text : {"1e5", "1E-3", "1234567890123456", "-", ".", "", "nan", "+1"}) {
    EXPECT_EQ(parse_short_float(text, value), nullptr) << text;
  }
}

TEST(Number, WhatIsNoNumberIsRefused) {
  float value = 0;
  for (const std::string text : {"", "-", "+", "+-1", "++1", "x", ".", "e5"}) {
    EXPECT_EQ(parse_any_float(text.data(), text.data() + text.size(), value), nullptr) << text;
  }
  const std::string huge = "1e999";
  EXPECT_EQ(parse_any_float(huge.data(), huge.data() + huge.size(), value),
            huge.data() + huge.size());
  EXPECT_TRUE(std::isinf(value));
}

}  // namespace
}  // namespace evener
