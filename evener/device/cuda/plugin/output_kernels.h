// The kernels of the output layer, and their memory; accelerator/output_layer.h has their order.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/device/accelerator/output_layer.h"
#include "evener/device/cuda/plugin/dense_layers.h"

namespace evener::cuda {

class OutputKernels {
 public:
  using LabelChunk = accelerator::LabelChunk;

  OutputKernels(Session& session, DenseLayers& dense) : session_(session), dense_(dense) {}

  void reserve(const accelerator::ChunkPlan& plan);
  void begin();

  void logits(const LabelChunk& labels, const Activity& input);
  void target_logits(const LabelChunk& labels);
  void exponentiate(const LabelChunk& labels);
  void normalise();
  void rescale(const LabelChunk& labels);
  void softmax_again(const LabelChunk& labels);
  void pointwise(const LabelChunk& labels);
  void sum_losses();
  void subtract_targets(const LabelChunk& labels);
  void backward(const LabelChunk& labels, const Activity& input, bool overwrite);
  void update(const LabelChunk& labels, const Activity& input, const UpdateRule& rule);

  void clear_best(std::uint32_t top);
  void offer(const LabelChunk& labels, std::uint32_t top);

  void read_losses();
  void read_best();
  LabelResults results() const;

 private:
  /// The chunk as the kernels' argument.
  Chunk chunk(const LabelChunk& labels) const;
  Targets targets(const LabelChunk& labels) const;
  std::size_t all_slices() const { return plan_.count * slices_; }
  const LayerSegments& layer() const { return session_.layout.layers.back(); }

  Session& session_;
  DenseLayers& dense_;
  unsigned slices_ = 1;
  accelerator::ChunkPlan plan_;
  std::vector<CardArray<float>> kept_;        // exponentials of the first chunks
  CardArray<float> scratch_;                  // logits of a chunk that is not kept
  CardArray<float> slice_tops_, slice_sums_;  // per slice and sample
  CardArray<float> tops_, totals_, factors_;  // per sample
  CardArray<float> target_logits_;
  // Per slice and sample, the best labels so far; double-buffered.
  struct Lists {
    CardArray<float> logits;
    CardArray<std::uint32_t> labels;
    BestLabels view() const { return {logits.data(), labels.data()}; }
  } best_, next_best_;
  std::size_t list_size_ = 0;  // entries in the lists of best labels

  // Results on the host.
  HostArray<float> host_tops_, host_totals_, host_target_logits_, host_best_;
  HostArray<std::uint32_t> host_best_labels_;
};

}  // namespace evener::cuda
