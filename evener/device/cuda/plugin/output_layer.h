// The fused output layer: a chunk of labels at a time, so that neither the labels x width gradient
// nor (beyond what is kept) the samples x labels logits exist as a whole.
//
// Softmax needs every label's logit before the first gradient, so there are two walks over the
// chunks. The first leaves exp(logit - maximum) of as many chunks as there is room for; the second
// rescales those and computes the others again. Element-wise losses need one walk.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/device/cuda/plugin/dense_layers.h"
#include "evener/device/label_results.h"

namespace evener::cuda {

class OutputLayer {
 public:
  OutputLayer(Session& session, DenseLayers& dense);

  /// For batches of session.capacity samples.
  void reserve();
  std::size_t chunk_labels() const { return chunk_; }

  /// Makes room for what the batch at hand needs beyond that.
  void begin();
  /// Puts the training of this layer on the stream; `wants_error` fills input.error.
  void train(const Activity& input, const UpdateRule& rule, bool wants_error);
  /// Puts the search for the `top` best labels on the stream.
  void search(const Activity& input, std::uint32_t top);

  // Put copies of what came out on the stream; after they have ended, the results.
  void read_losses();
  void read_best();
  /// Summed over samples.
  double total_loss() const;
  void append(Predictions& out) const;

 private:
  struct Part {
    Chunk chunk;
    Targets targets;
    bool kept;
  };
  std::size_t chunks() const { return (session_.network.labels + chunk_ - 1) / chunk_; }
  Part part(std::size_t index) const;
  void logits(const Part& part, const Activity& input);
  void gradient(const Part& part, const Activity& input);
  void normalise();
  LabelResults results() const;

  Session& session_;
  DenseLayers& dense_;
  bool softmax_;
  unsigned slices_ = 1;
  std::size_t chunk_ = 0;
  std::vector<CardArray<float>> kept_;        // exponentials of the first chunks
  CardArray<float> scratch_;                  // logits of a chunk that is not kept
  CardArray<float> slice_tops_, slice_sums_;  // per slice and sample
  CardArray<float> tops_, totals_, factors_;  // per sample
  CardArray<float> target_logits_;
  // Per slice and sample, the best labels so far; the other ones are being made from them.
  struct Lists {
    CardArray<float> logits;
    CardArray<std::uint32_t> labels;
    BestLabels view() const { return {logits.data(), labels.data()}; }
  } best_, next_best_;
  std::size_t places_ = 0;  // of the last search

  // What came back.
  HostArray<float> host_tops_, host_totals_, host_target_logits_, host_best_;
  HostArray<std::uint32_t> host_best_labels_;
};

}  // namespace evener::cuda
