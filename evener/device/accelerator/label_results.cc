#include "evener/device/accelerator/label_results.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace evener {

// Softmax: log of the normaliser less the targets' weighted logits. Others: the loss with all
// targets 0, and the change by a target at logit z: sigmoid -z, squared (z - 1)^2 / 2 - z^2 / 2.
std::vector<double> sample_losses(Loss loss, const BatchImage& image, const LabelResults& results) {
  std::vector<double> losses(image.count, 0);
  for (std::uint32_t s = 0; s < image.count; ++s) {
    if (loss != Loss::softmax) {
      losses[s] = results.totals[s];
    } else if (image.words[image.shares + s] != 0) {
      losses[s] = results.tops[s] + std::log(static_cast<double>(results.totals[s]));
    }
  }
  const double constant = loss == Loss::squared ? 0.5 : 0.0;
  for (std::uint32_t i = 0; i < image.targets; ++i) {
    const auto weight = std::bit_cast<float>(image.words[image.target_weights + i]);
    losses[image.words[image.target_samples + i]] +=
        constant - static_cast<double>(weight) * image.count * results.target_logits[i];
  }
  return losses;
}

void append_predictions(Loss loss, const BatchImage& image, const LabelResults& results,
                        Predictions& out) {
  const auto losses = sample_losses(loss, image, results);
  std::vector<std::size_t> order;
  for (std::uint32_t s = 0; s < image.count; ++s) {
    order.clear();
    for (std::size_t list = 0; list < results.lists; ++list) {
      const std::size_t first = (list * results.stride + s) * out.k;
      for (std::size_t i = 0; i < out.k; ++i) order.push_back(first + i);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (results.best[a] != results.best[b]) return results.best[a] > results.best[b];
      return results.best_labels[a] < results.best_labels[b];
    });
    for (std::size_t i = 0; i < out.k; ++i) {
      const double z = results.best[order[i]];
      double score = z;
      if (loss == Loss::softmax) score = std::exp(z - results.tops[s]) / results.totals[s];
      if (loss == Loss::sigmoid) score = 1.0 / (1.0 + std::exp(-z));
      out.labels.push_back(results.best_labels[order[i]]);
      out.scores.push_back(static_cast<float>(score));
    }
    out.losses.push_back(static_cast<float>(losses[s]));
  }
}

}  // namespace evener
