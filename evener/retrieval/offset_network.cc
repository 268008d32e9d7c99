#include "evener/retrieval/offset_network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "evener/core/random.h"
#include "evener/nn/logistic.h"

namespace evener {

namespace {

constexpr std::size_t kF = kPairFeatures, kH = kOffsetHidden;
// The parameters as one array, for Adam: hidden, hidden bias, out, skip, bias.
constexpr std::size_t kBias = kF * kH, kOut = kBias + kH, kSkip = kOut + kH, kLast = kSkip + kF,
                      kSize = kLast + 1;
using Parameters = std::array<float, kSize>;

PairFeatures standardised(const PairFeatures& features, const PairFeatures& mean,
                          const PairFeatures& scale) {
  PairFeatures z;
  for (std::size_t f = 0; f < kF; ++f) z[f] = (features[f] - mean[f]) * scale[f];
  return z;
}

// Sums are kept in local arrays, which cannot overlap the parameters, so that loops over units
// become vectors.
float forward(const Parameters& w, const PairFeatures& z, std::array<float, kH>& h) {
  std::array<float, kH> sum;
  for (std::size_t u = 0; u < kH; ++u) sum[u] = w[kBias + u];
  for (std::size_t f = 0; f < kF; ++f) {
    const float value = z[f];
    for (std::size_t u = 0; u < kH; ++u) sum[u] += value * w[f * kH + u];
  }
  float score = w[kLast];
  for (std::size_t u = 0; u < kH; ++u) {
    sum[u] = std::max(0.0F, sum[u]);
    score += w[kOut + u] * sum[u];
  }
  for (std::size_t f = 0; f < kF; ++f) score += w[kSkip + f] * z[f];
  h = sum;
  return score;
}

/// Adds the gradient of the logistic loss.
void backward(const Parameters& w, const PairFeatures& z, const std::array<float, kH>& h,
              float error, Parameters& g) {
  std::array<float, kH> e;
  for (std::size_t u = 0; u < kH; ++u) e[u] = h[u] > 0 ? error * w[kOut + u] : 0.0F;
  float* __restrict to = g.data();
  for (std::size_t u = 0; u < kH; ++u) to[kOut + u] += error * h[u];
  for (std::size_t u = 0; u < kH; ++u) to[kBias + u] += e[u];
  for (std::size_t f = 0; f < kF; ++f) {
    const float value = z[f];
    to[kSkip + f] += error * value;
    for (std::size_t u = 0; u < kH; ++u) to[f * kH + u] += value * e[u];
  }
  to[kLast] += error;
}

struct Moments {
  PairFeatures mean{}, scale{};
};

Moments moments_of(std::span<const PairFeatures> pairs) {
  Moments moments;
  for (std::size_t f = 0; f < kF; ++f) {
    double sum = 0, squares = 0;
    for (const PairFeatures& pair : pairs) {
      const auto value = static_cast<double>(pair[f]);
      sum += value;
      squares += value * value;
    }
    const double n = std::max<double>(1, static_cast<double>(pairs.size()));
    const double mean = sum / n;
    const double variance = squares / n - mean * mean;
    moments.mean[f] = static_cast<float>(mean);
    moments.scale[f] = variance > 1e-8 ? static_cast<float>(1 / std::sqrt(variance)) : 0.0F;
  }
  return moments;
}

Parameters initial(std::span<const std::uint8_t> positive, std::uint64_t seed) {
  Parameters w{};
  Random random(seed, 0x6F6666);
  const double scale = std::sqrt(2.0 / static_cast<double>(kF));
  for (std::size_t i = 0; i < kBias; ++i) w[i] = static_cast<float>(scale * random.normal());
  for (std::size_t u = 0; u < kH; ++u) w[kOut + u] = static_cast<float>(0.1 * random.normal());
  const auto count = static_cast<double>(std::accumulate(positive.begin(), positive.end(), 0U));
  w[kLast] = static_cast<float>(
      std::log((count + 1) / (static_cast<double>(positive.size()) - count + 1)));
  return w;
}

}  // namespace

std::optional<OffsetNetwork> train_offset(std::span<const PairFeatures> pairs,
                                          std::span<const std::uint8_t> positive,
                                          const OffsetOptions& options, const Stop& stop) {
  const Moments moments = moments_of(pairs);
  std::vector<PairFeatures> inputs(pairs.begin(), pairs.end());
  for (PairFeatures& input : inputs) input = standardised(input, moments.mean, moments.scale);
  Parameters w = initial(positive, options.seed), m{}, v{};
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t batches = (order.size() + options.batch - 1) / options.batch;
  const auto steps = static_cast<float>(batches * options.epochs);
  constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F;
  constexpr std::size_t kStopEvery = 500;  // batches
  float power1 = 1, power2 = 1, done = 0;
  std::array<float, kH> h;
  for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
    Random random(options.seed, 0x70616972 + epoch);
    random.shuffle(std::span(order));
    for (std::size_t begin = 0; begin < order.size(); begin += options.batch) {
      if (begin % (options.batch * kStopEvery) == 0 && stop && stop()) return std::nullopt;
      const std::size_t end = std::min<std::size_t>(order.size(), begin + options.batch);
      Parameters g{};
      for (std::size_t i = begin; i < end; ++i) {
        const PairFeatures& z = inputs[order[i]];
        const float p = sigmoid(forward(w, z, h));
        const float target = positive[order[i]] != 0 ? 1.0F : 0.0F;
        backward(w, z, h, (p - target) / static_cast<float>(end - begin), g);
      }
      power1 *= kBeta1;
      power2 *= kBeta2;
      const float rate = options.learning_rate * (1 - done / steps) / (1 - power1);
      const float root = 1 / std::sqrt(1 - power2);
      for (std::size_t i = 0; i < kSize; ++i) {
        m[i] = kBeta1 * m[i] + (1 - kBeta1) * g[i];
        v[i] = kBeta2 * v[i] + (1 - kBeta2) * g[i] * g[i];
        w[i] -= rate * m[i] / (std::sqrt(v[i]) * root + 1e-8F);
      }
      done += 1;
    }
  }
  OffsetNetwork network;
  network.mean = moments.mean;
  network.scale = moments.scale;
  std::copy_n(w.begin(), kBias, network.hidden.begin());
  std::copy_n(w.begin() + kBias, kH, network.hidden_bias.begin());
  std::copy_n(w.begin() + kOut, kH, network.out.begin());
  std::copy_n(w.begin() + kSkip, kF, network.skip.begin());
  network.bias = w[kLast];
  return network;
}

float offset_of(const OffsetNetwork& network, const PairFeatures& features) {
  const PairFeatures z = standardised(features, network.mean, network.scale);
  std::array<float, kH> h = network.hidden_bias;
  for (std::size_t f = 0; f < kF; ++f) {
    for (std::size_t u = 0; u < kH; ++u) h[u] += z[f] * network.hidden[f * kH + u];
  }
  float score = network.bias;
  for (std::size_t u = 0; u < kH; ++u) score += network.out[u] * std::max(0.0F, h[u]);
  for (std::size_t f = 0; f < kF; ++f) score += network.skip[f] * z[f];
  return score;
}

}  // namespace evener
