// The fused output layer: a chunk of labels at a time, so that neither the labels x width gradient
// nor (except for kept chunks) the samples x labels logits exist as a whole.
//
// Softmax needs every label's logit before the first gradient, so there are two passes over the
// chunks. The first keeps exp(logit - maximum) of as many chunks as fit into memory; the second
// rescales those and computes the others again. Element-wise losses need one pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "evener/device/accelerator/footprint.h"
#include "evener/device/accelerator/label_results.h"

namespace evener::accelerator {

/// The division of the labels into chunks.
struct ChunkPlan {
  std::size_t labels = 0;  // per chunk; the last may have fewer
  std::size_t count = 0;   // chunks
  std::size_t kept = 0;    // first chunks that keep their logits between the passes
};

/// Labels [first, first + labels).
struct LabelChunk {
  std::size_t index = 0, first = 0, labels = 0;
  bool kept = false;
};

/// Runs the kernels in order. Kernels puts these operations on the device's queue, for the current
/// batch:
///   reserve(plan)                     memory for batches of up to session.capacity samples
///   begin()                           further memory for the current batch
///   logits(chunk, input)              logits of the chunk's labels
///   target_logits(chunk)              copies the logits of the batch's labels
///   exponentiate(chunk), normalise()  softmax, first pass: each chunk, then over all of them
///   rescale(chunk)                    second pass: gradient of a kept chunk, without the targets
///   softmax_again(chunk)              second pass: the same from logits computed again
///   pointwise(chunk), sum_losses()    other losses: gradient without the targets; losses
///   subtract_targets(chunk)           completes the gradient
///   backward(chunk, input, overwrite)      the input's error: replaced if `overwrite`, else added
///   update(chunk, input, rule)        the chunk's weights
///   clear_best(top), offer(chunk, top)   the `top` best labels of each sample so far
///   read_losses(), read_best()        copies to the host; then results() has them
template <class Kernels>
class OutputLayer {
 public:
  template <class Session, class DenseLayers>
  OutputLayer(Session& session, DenseLayers& dense)
      : kernels_(session, dense),
        network_(session.network),
        footprint_(session.footprint),
        softmax_(session.network.loss == Loss::softmax) {}

  /// For batches of up to this many samples.
  void reserve(std::size_t samples) {
    plan_.labels = footprint_.chunk_labels(samples);
    plan_.count = (network_.labels + plan_.labels - 1) / plan_.labels;
    plan_.kept = footprint_.kept_chunks(samples);
    kernels_.reserve(plan_);
  }
  std::size_t chunk_labels() const { return plan_.labels; }

  void begin() { kernels_.begin(); }

  /// Trains this layer; `wants_error` fills input.error.
  template <class Activity, class Rule>
  void train(Activity& input, const Rule& rule, bool wants_error) {
    if (softmax_) {
      for_chunks([&](const LabelChunk& chunk) {
        kernels_.logits(chunk, input);
        kernels_.target_logits(chunk);
        kernels_.exponentiate(chunk);
      });
      kernels_.normalise();
    }
    for_chunks([&](const LabelChunk& chunk) {
      gradient(chunk, input);
      if (wants_error) kernels_.backward(chunk, input, chunk.index == 0);
      kernels_.update(chunk, input, rule);
    });
    if (!softmax_) kernels_.sum_losses();
  }

  /// Finds the `top` best labels.
  template <class Activity>
  void search(const Activity& input, std::uint32_t top) {
    kernels_.clear_best(top);
    for_chunks([&](const LabelChunk& chunk) {
      kernels_.logits(chunk, input);
      kernels_.target_logits(chunk);
      kernels_.offer(chunk, top);
      softmax_ ? kernels_.exponentiate(chunk) : kernels_.pointwise(chunk);
    });
    softmax_ ? kernels_.normalise() : kernels_.sum_losses();
  }

  // Start copies of the results to the host; they are valid after wait().
  void read_losses() { kernels_.read_losses(); }
  void read_best() { kernels_.read_best(); }

  /// Summed over the samples of the batch.
  double total_loss(const BatchImage& image) const {
    const auto losses = sample_losses(network_.loss, image, kernels_.results());
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }
  void append(const BatchImage& image, Predictions& out) const {
    append_predictions(network_.loss, image, kernels_.results(), out);
  }

 private:
  template <class F>
  void for_chunks(F f) const {
    for (std::size_t i = 0; i < plan_.count; ++i) {
      const std::size_t first = i * plan_.labels;
      f(LabelChunk{i, first, std::min<std::size_t>(plan_.labels, network_.labels - first),
                   i < plan_.kept});
    }
  }

  /// The loss's gradient at a chunk's logits, in their place.
  template <class Activity>
  void gradient(const LabelChunk& chunk, const Activity& input) {
    if (softmax_ && chunk.kept) {
      kernels_.rescale(chunk);
    } else {
      kernels_.logits(chunk, input);
      if (softmax_) {
        kernels_.softmax_again(chunk);
      } else {
        kernels_.target_logits(chunk);
        kernels_.pointwise(chunk);
      }
    }
    kernels_.subtract_targets(chunk);
  }

  Kernels kernels_;
  const Network& network_;
  const Footprint& footprint_;
  bool softmax_;
  ChunkPlan plan_;
};

}  // namespace evener::accelerator
