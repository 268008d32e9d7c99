// Bounds of the uniform start weights (a uniform number in [-b, b] has variance b^2/3), with n
// inputs and m units of the layer:
//   sparse input   sqrt(3/m)      The rows of a sparse set have length 1 and few non-zeros, so n
//   says
//                                 nothing about how many weights a unit sums: its pre-activation
//                                 has the variance of one weight. 1/m makes the vector of all m of
//                                 length 1, as if the layer only rotated its input.
//   hidden, relu   sqrt(6/n)      He et al. 2015: keeps that length through relu layers.
//   hidden, other  sqrt(6/(n+m))  Glorot & Bengio 2010.
//   output         sqrt(1/n)      Small logits: the first loss is near that of guessing evenly.
#include "evener/nn/initialise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "evener/core/random.h"

namespace evener {

namespace {

constexpr std::uint32_t kPurpose = 0x696E6974;  // "init": apart from every other stream of the seed

/// Row `row` takes the numbers of its own counters, so rows could be filled in any order.
void fill_row(std::span<float> row, std::uint64_t first_block, std::uint32_t layer,
              std::uint64_t seed, float bound) {
  const float scale = bound * 0x1p-31F;
  for (std::size_t begin = 0; begin < row.size(); begin += 4) {
    const std::uint64_t block = first_block + begin / 4;
    const auto numbers = philox({static_cast<std::uint32_t>(block),
                                 static_cast<std::uint32_t>(block >> 32), layer, kPurpose},
                                seed);
    const std::size_t count = std::min<std::size_t>(4, row.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      row[begin + i] = static_cast<float>(static_cast<std::int32_t>(numbers[i])) * scale;
    }
  }
}

}  // namespace

float start_bound(const Network& network, std::size_t layer) {
  const bool output = layer == network.hidden.size();
  const double inputs = layer == 0 ? network.features : network.hidden[layer - 1];
  const double units = output ? network.labels : network.hidden[layer];
  double square = 1 / inputs;
  if (!output) {
    if (layer == 0 && network.sparse_input()) {
      square = 3 / units;
    } else {
      square = network.activation == Activation::relu ? 6 / inputs : 6 / (inputs + units);
    }
  }
  return static_cast<float>(std::sqrt(square));
}

void initialise(const Network& network, std::uint64_t seed, std::span<float> parameters) {
  const Layout layout = layout_of(network);
  assert(parameters.size() == layout.size);
  std::fill(parameters.begin(), parameters.end(), 0.0F);
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const Segment& weight = layout.layers[i].weight;
    const float bound = start_bound(network, i);
    const std::uint64_t blocks = (weight.cols + 3) / 4;
    for (std::size_t row = 0; row < weight.rows; ++row) {
      fill_row(parameters.subspan(weight.offset + row * weight.stride, weight.cols), row * blocks,
               static_cast<std::uint32_t>(i), seed, bound);
    }
  }
}

}  // namespace evener
