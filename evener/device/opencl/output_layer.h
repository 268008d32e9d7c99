// The fused output layer: a chunk of labels at a time, so that neither the labels x width gradient
// nor (beyond what is kept) the samples x labels logits exist as a whole.
//
// Softmax needs every label's logit before the first gradient, so there are two walks over the
// chunks. The first leaves exp(logit - maximum) of as many chunks as there is room for; the second
// rescales those and computes the others again. Element-wise losses need one walk.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/device/label_results.h"
#include "evener/device/opencl/dense_layers.h"
#include "evener/device/opencl/session.h"
#include "evener/nn/predictions.h"

namespace evener::opencl {

class OutputLayer {
 public:
  OutputLayer(Session& session, DenseLayers& dense);

  /// For batches of session.capacity samples.
  void reserve();
  std::size_t chunk_labels() const { return chunk_; }

  /// Puts the training of this layer on the queue; `wants_error` fills input.error.
  void train(Activity& input, const Rule& rule, bool wants_error);
  /// Puts the search for the `top` best labels on the queue.
  void search(Activity& input, std::uint32_t top);

  /// Puts what came out on the queue; after it has ended, the batch's loss summed over samples.
  void read_losses();
  double total_loss() const;
  void read_best();
  void append(Predictions& out) const;

 private:
  struct Chunk {
    std::size_t first, labels;
    cl_uint before;  // slices of earlier chunks
    cl::Buffer logits;
    bool kept;
  };
  std::size_t chunks() const { return (session_.network.labels + chunk_ - 1) / chunk_; }
  Chunk chunk(std::size_t index) const;
  void logits(const Chunk& chunk, const Activity& input);
  void target_logits(const Chunk& chunk);
  void subtract_targets(const Chunk& chunk);
  void exponentiate(const Chunk& chunk);
  void pointwise(const Chunk& chunk);
  void gradient(const Chunk& chunk, const Activity& input);
  void normalise();
  LabelResults results() const;

  Session& session_;
  DenseLayers& dense_;
  bool softmax_;
  unsigned slices_;
  std::size_t chunk_ = 0;
  std::vector<cl::Buffer> kept_;        // exponentials of the first chunks
  cl::Buffer scratch_;                  // logits of a chunk that is not kept
  cl::Buffer maxima_, sums_;            // per slice and sample
  cl::Buffer tops_, totals_, factors_;  // per sample
  cl::Buffer target_logits_;
  std::size_t targets_ = 0;        // that it holds
  cl::Buffer best_, best_labels_;  // per slice and sample, the `best_kept_` best
  std::uint32_t best_kept_ = 0;

  // What came back.
  std::vector<float> host_target_logits_, host_tops_, host_totals_, host_best_;
  std::vector<std::uint32_t> host_best_labels_;
};

}  // namespace evener::opencl
