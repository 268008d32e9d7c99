// The host's part of an accelerator's output layer: losses and the best labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/device/accelerator/batch_image.h"
#include "evener/nn/predictions.h"

namespace evener {

struct LabelResults {
  // Per sample. Softmax: the largest logit, and the sum of exp(logit - largest). Other losses:
  // `totals` is the loss with all targets 0.
  std::span<const float> tops, totals;
  std::span<const float> target_logits;  // in the order of the image's targets

  // After a search: several lists of a sample's best labels, each in descending order, at
  // [(list * stride + sample) * k].
  std::span<const float> best;
  std::span<const std::uint32_t> best_labels;
  std::size_t lists = 0, stride = 0;
};

std::vector<double> sample_losses(Loss loss, const BatchImage& image, const LabelResults& results);

/// Appends the batch's rows to `out`, whose k is that of the lists.
void append_predictions(Loss loss, const BatchImage& image, const LabelResults& results,
                        Predictions& out);

}  // namespace evener
