// The kernels of the output layer, and their memory; accelerator/output_layer.h has their order.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/device/accelerator/output_layer.h"
#include "evener/device/opencl/dense_layers.h"
#include "evener/device/opencl/session.h"

namespace evener::opencl {

class OutputKernels {
 public:
  using LabelChunk = accelerator::LabelChunk;

  OutputKernels(Session& session, DenseLayers& dense);

  void reserve(const accelerator::ChunkPlan& plan);
  void begin();

  void logits(const LabelChunk& chunk, const Activity& input);
  void target_logits(const LabelChunk& chunk);
  void exponentiate(const LabelChunk& chunk);
  void normalise();
  void rescale(const LabelChunk& chunk);
  void softmax_again(const LabelChunk& chunk);
  void pointwise(const LabelChunk& chunk);
  void sum_losses();
  void subtract_targets(const LabelChunk& chunk);
  void backward(const LabelChunk& chunk, Activity& input, bool overwrite);
  void update(const LabelChunk& chunk, const Activity& input, const Rule& rule);

  void clear_best(std::uint32_t top);
  void offer(const LabelChunk& chunk, std::uint32_t top);

  void read_losses();
  void read_best();
  LabelResults results() const;

 private:
  const cl::Buffer& logits_of(const LabelChunk& chunk) const {
    return chunk.kept ? kept_[chunk.index] : scratch_;
  }
  cl_uint2 columns() const { return session_.columns_of(plan_.labels); }
  /// Slices of earlier chunks.
  cl_uint before(const LabelChunk& chunk) const { return word(chunk.index * slices_); }
  cl_uint all_slices() const { return word(plan_.count * slices_); }
  const LayerSegments& layer() const { return session_.layout.layers.back(); }

  Session& session_;
  DenseLayers& dense_;
  unsigned slices_;  // slices of a chunk's labels
  accelerator::ChunkPlan plan_;
  std::vector<cl::Buffer> kept_;        // exponentials of the first chunks
  cl::Buffer scratch_;                  // logits of a chunk that is not kept
  cl::Buffer maxima_, sums_;            // per slice and sample
  cl::Buffer tops_, totals_, factors_;  // per sample
  cl::Buffer target_logits_;
  std::size_t targets_ = 0;        // capacity
  cl::Buffer best_, best_labels_;  // per slice and sample, the `best_kept_` best
  std::uint32_t best_kept_ = 0;

  // Results on the host.
  std::vector<float> host_target_logits_, host_tops_, host_totals_, host_best_;
  std::vector<std::uint32_t> host_best_labels_;
};

}  // namespace evener::opencl
