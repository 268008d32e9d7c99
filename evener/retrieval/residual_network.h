// The network part: v_l . relu(U x + b) added to the margin of a candidate label, trained on
// shortlists.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/retrieval/parallel.h"
#include "evener/retrieval/shortlist.h"

namespace evener {

struct ResidualOptions {
  float learning_rate = 0.05F;  // of AdaGrad with one scale for each row of a matrix
  float first_square = 1e-4F;   // the sums of squares start here
  float input_dropout = 0.2F;
  std::uint32_t batch = 32;
  std::uint64_t seed = 1;
};

/// The start: random rows of U, zero elsewhere.
void initialise_residual(const Network& network, std::uint64_t seed, std::span<float> parameters);

struct ResidualStep {
  std::size_t rows = 0;
  double loss = 0;  // sum over the rows, before their updates
  float learning_rate = 0;
};

/// Trains parameters in layout_of(network), which has one hidden layer and a sparse input. The
/// result does not depend on the number of threads: a batch's rows are computed from the parameters
/// before the batch, and each row of a matrix is updated by one thread, in the order of the batch.
class ResidualTrainer {
 public:
  ResidualTrainer(const Network& network, const Dataset& data, const Shortlist& shortlist,
                  const ResidualOptions& options);

  /// The rows of an epoch in their order, by seed and epoch.
  std::vector<std::uint32_t> order_of(std::uint64_t epoch) const;
  /// The place of a step in the run.
  struct Place {
    std::uint64_t epoch;
    std::span<const std::uint32_t> order;  // of this epoch
    std::size_t begin;
    double left;  // share of the run after it: the learning rate falls with it to 0
  };
  /// Trains options.batch rows of the order from `begin` on, or those that are left.
  ResidualStep step(const Place& place, std::span<float> parameters, Team& team);

  /// The sums of squares in layout_of(network): that of a row of a matrix is the row's first float.
  void store_squares(std::span<float> state) const;
  void load_squares(std::span<const float> state);

 private:
  struct Slot {  // one row of a batch
    std::vector<std::uint32_t> features;
    std::vector<float> values;
    std::vector<float> gradients;  // by candidate
    FloatBuffer hidden, error;
    double loss = 0;
  };
  void compute(std::uint32_t row, std::uint64_t number, std::span<const float> parameters,
               Slot& slot) const;
  void update_output(std::span<const std::uint32_t> batch, int members, int member, float rate,
                     std::span<float> parameters);
  void update_input(std::size_t count, int members, int member, float rate,
                    std::span<float> parameters);

  const Dataset& data_;
  const Shortlist& shortlist_;
  ResidualOptions options_;
  Segment input_, bias_, output_;
  std::size_t width_;
  std::vector<float> input_squares_, output_squares_;
  float bias_square_;
  std::vector<Slot> slots_;
};

/// out[i] = v_l . relu(U x + b) for candidate labels. `hidden` has room for the layer.
void residual_scores(const Network& network, std::span<const float> parameters, const RowView& row,
                     std::span<const std::uint32_t> labels, FloatBuffer& hidden, float* out);

}  // namespace evener
