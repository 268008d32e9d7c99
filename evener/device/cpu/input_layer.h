// The first layer for sparse rows: reads and writes only the weights of features that occur.
#pragma once

#include <cstdint>
#include <vector>

#include "evener/core/team.h"
#include "evener/data/dataset.h"
#include "evener/device/cpu/batch_state.h"
#include "evener/device/cpu/row_groups.h"
#include "evener/nn/network.h"

namespace evener::cpu {

/// The batch's rows in contiguous memory, with dropout applied to the values.
class SparseBatch {
 public:
  /// Called by one thread: computes the offset of each row.
  void plan(const Batch& batch);
  /// Copies rows [begin, end). Called by any thread.
  void fill(const Batch& batch, const DropoutMask& mask, std::size_t begin, std::size_t end);

  std::size_t rows() const { return offsets_.size() - 1; }
  RowView row(std::size_t r) const {
    const std::size_t count = offsets_[r + 1] - offsets_[r];
    return {{indices_.data() + offsets_[r], count}, {values_.data() + offsets_[r], count}};
  }
  /// Calls use(parameter row, r, value) for the features of row r, and for the bias: it follows the
  /// weights as one more row, that of a feature which is 1 in every row.
  template <class Use>
  void for_inputs(std::size_t r, std::uint32_t bias, Use use) const {
    const RowView features = row(r);
    const auto source = static_cast<std::uint32_t>(r);
    for (std::size_t i = 0; i < features.indices.size(); ++i) {
      use(features.indices[i], source, features.values[i]);
    }
    use(bias, source, 1.0F);
  }

 private:
  std::vector<std::size_t> offsets_{0};
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
};

class InputLayer {
 public:
  InputLayer(const Network& network, const LayerSegments& segments, int members);

  /// Samples of panels [begin, end): the layer's columns before activation.
  void forward(const SparseBatch& batch, const ModelVectors& vectors, Activity& out, int member,
               std::size_t begin, std::size_t end);

  /// Before `update`, panels [begin, end): the error of `out` as rows.
  void take_error(Activity& out, std::size_t begin, std::size_t end);
  /// Updates the features of `member` (each feature belongs to exactly one member).
  void update(const SparseBatch& batch, const ModelVectors& vectors, const UpdateRule& rule,
              int member);

  void resize(const Samples& samples);

 private:
  LayerSegments segments_;
  std::size_t width_;
  RowGroups groups_;                  // of features and the bias
  std::vector<FloatBuffer> scratch_;  // by member; forward: a panel of rows; update: one gradient
  FloatBuffer error_rows_;
};

}  // namespace evener::cpu
