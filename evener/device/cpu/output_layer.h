// The fused output layer: logits of a tile of labels, loss, error and update while the tile is in
// the cache. The labels x width gradient never exists as a whole.
//
// Softmax needs every label's logit before the first gradient, so there are two passes over the
// tiles. The first keeps exp(logit - running maximum) of as many tiles as fit the budget. The
// second goes backwards, so that it starts with cached tiles; it rescales the kept tiles and
// computes the others again. Element-wise losses need one pass and keep nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/core/team.h"
#include "evener/data/dataset.h"
#include "evener/device/cpu/batch_state.h"
#include "evener/device/cpu/layer_update.h"
#include "evener/device/cpu/top_labels.h"
#include "evener/nn/network.h"
#include "evener/nn/predictions.h"

namespace evener::cpu {

class OutputLayer {
 public:
  /// `keep_bytes`: memory limit for kept tiles, over all members.
  OutputLayer(const Network& network, const LayerSegments& segments, std::size_t keep_bytes,
              int members);

  // Each is called by every member of the team, in this order, with a barrier after each.
  void begin(const Batch& batch, const Samples& samples, int member);
  void walk_forward(const ModelVectors& vectors, Activity& input, int member, std::uint32_t top);
  void walk_backward(const ModelVectors& vectors, const UpdateRule& rule, Activity& input,
                     int member, bool want_error);

  /// Called by one thread afterwards. Returns the sum of the samples' losses; appends top labels to
  /// `out`.
  double total_loss() const;
  void append_predictions(Predictions& out) const;

 private:
  struct Target {
    std::uint32_t label;
    std::uint32_t sample;
    float weight;
  };
  /// A member's state for its range of labels.
  struct Part {
    std::size_t begin = 0, end = 0;  // labels
    std::vector<Target> targets;     // of this range, by label
    FloatBuffer kept;                // the last `kept_tiles` tiles
    FloatBuffer references;          // the maxima that their blocks were taken relative to
    std::size_t kept_tiles = 0;
    FloatBuffer tile;                         // a tile that is not kept
    FloatBuffer maximum, sum, factor, shift;  // per sample
    std::vector<double> loss;                 // per sample
    TopLabels top;
    TileUpdate update;
  };
  struct Tile {
    std::size_t first, units, index;
    Columns columns;
    bool kept;
  };

  Part& part(int member) { return parts_[static_cast<std::size_t>(member)]; }
  std::size_t tiles(const Part& part) const;
  Tile tile(Part& part, std::size_t index);
  Weights weights(const ModelVectors& vectors, const Tile& tile) const;
  void logits(const ModelVectors& vectors, Activity& input, const Tile& tile, const Upcoming& next);
  Upcoming::Part weights_part(const ModelVectors& vectors, const Tile& tile) const;
  void add_target_logits(Part& mine, const ModelVectors& vectors, Activity& input,
                         const Tile& tile);
  float* references(Part& part, const Tile& tile) const;
  void subtract_targets(Part& mine, const Tile& tile);
  void add_target_losses(Part& mine, const Tile& tile);
  void join_parts(Part& mine) const;
  double sample_loss(std::size_t sample) const;
  template <class F>
  void for_targets(const Part& mine, const Tile& tile, F f);

  Network network_;
  LayerSegments segments_;
  std::size_t keep_bytes_;
  Samples samples_;
  std::vector<bool> labelled_;  // per sample: whether it has labels
  std::vector<Part> parts_;
};

}  // namespace evener::cpu
