// The inner loops of the CPU device, one version for each instruction set, chosen at run time.
//
// A batch of n samples is cut into panels of `panel` samples (the last one padded with zeros), and
// two layouts of a matrix "width x samples" are used throughout, both read in order by the kernels:
//   columns  [sample panel][unit][panel samples]     vectors run over samples
//   rows     [unit panel][sample][panel units]       vectors run over units
// Weights stay in the model's own row-major layout: one row of `width` floats per unit, never
// packed.
//
// With X the input, W the weights, G the gradient at the layer's units, the three products are
//   forward   Z = W X        broadcast W[unit][k],   vectors of X columns, k over inputs
//   backward  E += W' G      broadcast W[unit][k],   vectors of G columns, k over units
//   gradient  D = G X'       broadcast G[unit][s],   vectors of X rows,    s over samples
// so all three are one micro-kernel, and the update follows while D is in the first-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "evener/device/vector/vector_kernels.h"
#include "evener/nn/network.h"
#include "evener/nn/training.h"

namespace evener::cpu {

/// The widest panel of any instruction set; buffers are sized for it.
inline constexpr std::size_t kMaxPanel = kVectorMultiple;

/// Rows [0, units) of a weight matrix.
struct Weights {
  const float* data;
  std::size_t stride;
  std::size_t units;
  std::size_t width;  // a multiple of kMaxPanel
};

/// A matrix in columns layout: the panel p starts at data + p * stride.
struct Columns {
  float* data;
  std::size_t stride;
};

/// Memory that is needed soon. A product that is limited by arithmetic prefetches it meanwhile.
struct Upcoming {
  struct Part {
    const float* data = nullptr;
    std::size_t size = 0;
  };
  Part parts[2];
};

/// A softmax over units that arrive in blocks, per sample.
struct RunningSoftmax {
  float* maximum;     // of all units so far
  float* sum;         // of exp(logit - maximum)
  float* references;  // per block of units: the maximum at that time
};

struct Kernels {
  const char* name;    // of the instruction set
  std::size_t panel;   // samples or units side by side: two vectors
  std::size_t tile;    // units of a layer that are processed together
  std::size_t blocks;  // of a tile: units whose sums are in registers at a time

  /// out[p][unit] = bias[unit] + sum_k weights[unit][k] * input[p][k].
  void (*forward)(const Weights& weights, const float* bias, const Columns& input,
                  std::size_t panels, const Columns& out, const Upcoming& next);
  /// The same, then `exponentiate` while the logits are in registers. Also stores the maxima that
  /// each block of units was taken relative to.
  void (*forward_exponentiate)(const Weights& weights, const float* bias, const Columns& input,
                               std::size_t panels, const Columns& out, const Upcoming& next,
                               const RunningSoftmax& softmax);
  /// One logit: bias + sum_k weights[k] * input[sample][k], `rows` in rows layout of `samples`.
  float (*dot)(const float* weights, float bias, const float* rows, std::size_t sample,
               std::size_t samples, std::size_t width);
  /// error[p][k] += sum_unit weights[unit][k] * gradient[p][unit].
  void (*backward)(const Weights& weights, const Columns& gradient, std::size_t panels,
                   const Columns& error, const Upcoming& next);
  /// out[unit][k] = sum_s gradient[unit][s] * input[s][k]; `rows` is in rows layout, `out` has
  /// `width` floats per row. bias_out[unit] = sum_s gradient[unit][s]. Also prefetches the state of
  /// these units for the update.
  void (*gradient)(const Columns& gradient, std::size_t units, std::size_t panels,
                   const float* rows, std::size_t width, const RowState& state, float* out,
                   float* bias_out);

  /// In place: values = activation(values), then dropout if the mask is active. Sample 0 of the
  /// columns is number `first` of the batch.
  void (*activate)(Activation activation, const DropoutMask& mask, const Columns& values,
                   std::size_t units, std::size_t panels, std::size_t first);
  /// error *= derivative of activation and dropout at `output` (what activate produced).
  void (*derive)(Activation activation, const DropoutMask& mask, const Columns& output,
                 const Columns& error, std::size_t units, std::size_t panels, std::size_t first);
  /// A square of panel x panel: out[j][i] = in[i][j].
  void (*transpose)(const float* in, std::size_t in_row, float* out, std::size_t out_row);

  /// Softmax over tiles of units. Replaces logits by exp(logit - maximum), and updates `maximum`
  /// and `sum` (one per sample): running values over all tiles.
  void (*exponentiate)(const Columns& logits, std::size_t units, std::size_t panels, float* maximum,
                       float* sum);
  /// values = exp(values - maximum) * factor, per sample.
  void (*normalise)(const Columns& values, std::size_t units, std::size_t panels,
                    const float* maximum, const float* factor);
  /// values *= exp(reference - shift) * factor, per sample: the references of forward_exponentiate.
  void (*rescale)(const Columns& values, std::size_t units, std::size_t panels,
                  const float* references, const float* shift, const float* factor);
  /// Element-wise losses: adds each sample's loss with all targets 0 to `loss`, and replaces the
  /// logits by factor * d loss / d logit. `loss` kind is sigmoid or squared.
  void (*pointwise)(Loss kind, const Columns& logits, std::size_t units, std::size_t panels,
                    const float* factor, float* loss);

  /// out[0, width) = bias + sum_i values[i] * rows[indices[i]]; no bias: null. The sparse input
  /// layer going forward (rows are features) and its gradient (rows are samples).
  void (*gather)(const float* rows, std::size_t stride, std::size_t width, const float* bias,
                 const std::uint32_t* indices, const float* values, std::size_t count, float* out);

  /// Bits of samples of one panel whose value in `logits` exceeds `threshold`.
  std::uint32_t (*above)(const float* logits, const float* threshold);

  /// Repeats multiply-adds without memory and returns their number of operations.
  double (*multiply_adds)(std::size_t rounds);
};

/// The version for this processor.
const Kernels& kernels();

/// For tests: switches to another instruction set, here and in vector_kernels(). No replica may be
/// alive across a switch.
void use_instruction_set(const std::string& name);

}  // namespace evener::cpu
