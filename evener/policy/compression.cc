#include "evener/policy/compression.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace evener {

std::size_t Compression::picked(std::size_t numbers) const {
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(numbers)));
  return std::clamp<std::size_t>(wanted, numbers > 0 ? 1 : 0, numbers);
}

std::size_t Compression::bytes(std::size_t numbers) const {
  constexpr std::size_t kHalf = 2;
  switch (kind) {
    case Kind::none:
      return numbers * sizeof(float);
    case Kind::fp16:
      return numbers * kHalf;
    case Kind::top_k:
      return picked(numbers) * (sizeof(float) + sizeof(std::uint32_t));
  }
  return 0;
}

std::vector<StrategyOption> compression_options(std::string compress_help, std::string top_k_help) {
  return {word_option("compress", {"none", "fp16", "top-k"}, std::move(compress_help)),
          number_option("top-k", "0.01", 1e-6, 1, std::move(top_k_help))};
}

Compression compression_from(const StrategyValues& values) {
  const auto kind = values.is("compress", "fp16")    ? Compression::Kind::fp16
                    : values.is("compress", "top-k") ? Compression::Kind::top_k
                                                     : Compression::Kind::none;
  return {kind, values.number("top-k")};
}

}  // namespace evener
