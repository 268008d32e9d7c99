// Bounds of the uniform initial weights (a uniform number in [-b, b] has variance b^2/3), with n
// inputs and m units of the layer:
//   sparse input   sqrt(3/m)      The rows of a sparse set have length 1 and few non-zeros. So n
//                                 does not tell how many weights a unit sums: its pre-activation
//                                 has the variance of one weight. 1/m makes the vector of all m of
//                                 length 1, as if the layer only rotated its input.
//   hidden, relu   sqrt(6/n)      He et al. 2015: keeps that length through relu layers.
//   hidden, other  sqrt(6/(n+m))  Glorot & Bengio 2010.
//   output         sqrt(1/n)      Small logits: the first loss is near that of guessing evenly.
// A listed output starts at 0, so that scores start as the candidates' fixed parts; the layer
// before it starts within 1, which suits AdaGrad's steps (docs/many_labels.md).
#include "evener/nn/initialise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <vector>

#include "evener/core/random.h"

namespace evener {

namespace {

constexpr std::uint32_t kPurpose = 0x696E6974;  // "init": apart from every other stream of the seed

/// Uniform in [-bound, bound]. Each row takes the numbers of its own counters, so rows could be
/// filled in any order; the last block's spare numbers are not used.
void fill_row(std::span<float> row, std::uint64_t first_block, std::uint32_t layer,
              std::uint64_t seed, float bound) {
  const float scale = bound * 0x1p-31F;
  const auto fill_block = [=](std::size_t begin, std::size_t count) {
    const std::uint64_t block = first_block + begin / 4;
    const auto numbers = philox({static_cast<std::uint32_t>(block),
                                 static_cast<std::uint32_t>(block >> 32), layer, kPurpose},
                                seed);
    for (std::size_t i = 0; i < count; ++i) {
      row[begin + i] = static_cast<float>(static_cast<std::int32_t>(numbers[i])) * scale;
    }
  };
  const std::size_t whole = row.size() / 4 * 4;
  for (std::size_t begin = 0; begin < whole; begin += 4) fill_block(begin, 4);
  if (whole < row.size()) fill_block(whole, row.size() - whole);
}

}  // namespace

float start_bound(const Network& network, std::size_t layer) {
  const bool output = layer == network.hidden.size();
  if (network.listed_output()) return output ? 0.0F : 1.0F;
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

void start_from_frequencies(const Network& network, const CsrView& labels,
                            std::span<const std::uint32_t> rows, std::span<float> parameters) {
  if (network.listed_output()) return;
  const Layout layout = layout_of(network);
  const bool shared = network.loss == Loss::softmax;  // a row's labels share one unit
  std::vector<double> count(network.labels, 0.5);
  const std::size_t row_count = rows.empty() ? labels.rows() : rows.size();
  for (std::size_t i = 0; i < row_count; ++i) {
    const auto set = labels.row(rows.empty() ? i : rows[i]).indices;
    for (const std::uint32_t label : set) {
      count[label] += shared ? 1.0 / static_cast<double>(set.size()) : 1.0;
    }
  }
  const double total = static_cast<double>(row_count) + 1.0;
  for (std::size_t label = 0; label < count.size(); ++label) {
    const double p = count[label] / total;
    double bias = p;
    if (network.loss == Loss::softmax) bias = std::log(p);
    if (network.loss == Loss::sigmoid) bias = std::log(p / (1.0 - p));
    parameters[layout.layers.back().bias.offset + label] = static_cast<float>(bias);
  }
}

}  // namespace evener
