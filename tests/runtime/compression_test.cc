// Compression of a push loses nothing: what is not sent stays in the residual.
#include "evener/runtime/compression.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace evener {
namespace {

/// Numbers of all sizes that a push may have.
std::vector<float> random_values() {
  const auto bits = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
  std::vector<float> values;
  for (const std::uint32_t b : bits) {
    const auto value = std::bit_cast<float>(b);
    if (std::isfinite(value) && std::abs(value) < 0x1p29F) values.push_back(value);
  }
  return values;
}

RC_GTEST_PROP(Compress, SentPlusResidualEqualsTheInputToTheBit, ()) {
  const std::vector<float> before = random_values();
  for (const Compression& compression :
       {Compression{}, Compression{Compression::Kind::fp16},
        Compression{Compression::Kind::top_k, 0.1}, Compression{Compression::Kind::top_k, 1}}) {
    std::vector<float> values = before, residual(before.size(), 1e9F);
    compress(compression, values, residual);
    for (std::size_t i = 0; i < before.size(); ++i) RC_ASSERT(values[i] + residual[i] == before[i]);
  }
}

TEST(Compress, TopKSendsTheLargestWhole) {
  std::vector<float> values{1, -5, 2, 5, 0, -3}, residual(6);
  compress({Compression::Kind::top_k, 0.5}, values, residual);
  EXPECT_EQ(values, (std::vector<float>{0, -5, 0, 5, 0, -3}));
  EXPECT_EQ(residual, (std::vector<float>{1, 0, 2, 0, 0, 0}));
}

TEST(Compress, TopKSendsTheFirstOfEqualNumbers) {
  std::vector<float> values(5, 2.0F), residual(5);
  compress({Compression::Kind::top_k, 0.4}, values, residual);
  EXPECT_EQ(values, (std::vector<float>{2, 2, 0, 0, 0}));
}

TEST(Compress, CountsBytes) {
  EXPECT_EQ(Compression{}.bytes(100), 400U);
  EXPECT_EQ((Compression{Compression::Kind::fp16}.bytes(100)), 200U);
  EXPECT_EQ((Compression{Compression::Kind::top_k, 0.05}.bytes(100)), 40U);
  EXPECT_EQ((Compression{Compression::Kind::top_k, 0.0001}.bytes(100)), 8U);
}

/// Every number of half precision, from its bits.
float half_from_bits(unsigned bits) {
  const auto exponent = static_cast<int>(bits >> 10U & 31U);
  const auto fraction = static_cast<float>(bits & 1023U);
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

TEST(NearestHalf, KeepsEveryHalfAndRoundsBetweenThem) {
  for (unsigned bits = 0; bits < 0x7BFF; ++bits) {  // up to the last finite one but one
    const float low = half_from_bits(bits), high = half_from_bits(bits + 1);
    ASSERT_EQ(nearest_half(low), low) << bits;
    ASSERT_EQ(nearest_half(-low), -low) << bits;
    ASSERT_EQ(nearest_half(low + 0.25F * (high - low)), low) << bits;
    ASSERT_EQ(nearest_half(low + 0.75F * (high - low)), high) << bits;
  }
  EXPECT_EQ(nearest_half(1e6F), 65504);
  EXPECT_EQ(nearest_half(-65519.0F), -65504);
}

}  // namespace
}  // namespace evener
