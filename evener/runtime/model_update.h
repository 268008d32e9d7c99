// A message with numbers of a model: which numbers it has, and their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/nn/network.h"
#include "evener/runtime/shard.h"

namespace evener {

struct ModelUpdate {
  enum class Places {
    all,      // every number of the model
    listed,   // the rows and labels below, and everything that belongs to no row or label
    offered,  // the numbers of the offer that this update answers
  };
  Places places = Places::all;
  std::vector<std::uint32_t> rows;    // sparse rows (nn/network.h), ascending
  std::vector<std::uint32_t> labels;  // rows of the output layer's weights, ascending
  bool some = false;                  // only some of these numbers are sent:
  std::vector<std::uint32_t> picked;  // their positions among these numbers, ascending
  std::vector<float> values;
  bool half = false;  // the values have half precision and are sent in 16 bits each
  double weight = 0;  // of push-sum

  std::size_t ids() const { return rows.size() + labels.size() + picked.size(); }
  std::size_t bytes() const {
    return ids() * sizeof(std::uint32_t) +
           values.size() * (half ? sizeof(std::uint16_t) : sizeof(float));
  }
};

/// Maps the numbers of an update to positions in a parameter vector. Sparse rows, and rows of the
/// output layer's weights (one per label), are sent only where they are listed; everything else is
/// always sent. Numbers are in the order of the vector.
class ModelUpdateLayout {
 public:
  struct Stretch {
    std::size_t at = 0, floats = 0;
  };

  /// A whole model, whose rows and labels can be listed.
  explicit ModelUpdateLayout(const Network& network) {
    const Layout layout = layout_of(network);
    if (network.sparse_input()) {
      rows_ = {0, sparse_rows(network), layout.layers.front().weight.stride};
    }
    // With a listed output, labels are among the sparse rows.
    const Segment& output = layout.layers.back().weight;
    labels_ = network.listed_output() ? Rows{layout.size, 0, output.stride}
                                      : Rows{output.offset, output.rows, output.stride};
    middle_ = {rows_.end(), labels_.at - rows_.end()};
    tail_ = {labels_.end(), layout.size - labels_.end()};
  }
  /// A shard of a model, whose rows can be listed. Rows are counted from the shard's first.
  explicit ModelUpdateLayout(const Shard& shard)
      : rows_{shard.row * shard.width, shard.rows, shard.width},
        middle_{shard.dense, shard.floats} {}

  std::size_t size() const { return rows_.size() + middle_.floats + labels_.size() + tail_.floats; }
  std::size_t rows() const { return rows_.count; }
  std::size_t labels() const { return labels_.count; }
  /// The count of numbers in so many listed rows and labels and the rest.
  std::size_t numbers(std::size_t rows, std::size_t labels) const {
    return rows * rows_.width + middle_.floats + labels * labels_.width + tail_.floats;
  }
  /// The count of numbers that an offer covers.
  std::size_t numbers(const ModelUpdate& offer) const {
    if (offer.places == ModelUpdate::Places::all) return size();
    return numbers(offer.rows.size(), offer.labels.size());
  }
  Stretch row(std::size_t row) const { return rows_.row(row); }
  Stretch label(std::size_t label) const { return labels_.row(label); }

  /// Calls f(at, floats) for all ranges of the vector, or for the listed ones, in the order in
  /// which numbers are sent.
  template <class F>
  void for_places(bool all, std::span<const std::uint32_t> rows,
                  std::span<const std::uint32_t> labels, F f) const {
    const auto call = [&](const Stretch& stretch) {
      if (stretch.floats > 0) f(stretch.at, stretch.floats);
    };
    const auto block = [&](const Rows& of, std::span<const std::uint32_t> listed) {
      if (all) return call({of.at, of.size()});
      for (const std::uint32_t one : listed) call(of.row(one));
    };
    block(rows_, rows);
    call(middle_);
    block(labels_, labels);
    call(tail_);
  }
  template <class F>
  void for_places(const ModelUpdate& offer, F f) const {
    for_places(offer.places == ModelUpdate::Places::all, offer.rows, offer.labels, f);
  }
  /// Calls f(at, i) for each number of an offer: its position in the model, and its index in the
  /// values.
  template <class F>
  void for_numbers(const ModelUpdate& offer, F f) const {
    std::size_t before = 0, i = 0;
    for_places(offer, [&](std::size_t at, std::size_t n) {
      if (!offer.some) {
        for (std::size_t j = 0; j < n; ++j) f(at + j, before + j);
      }
      for (; i < offer.picked.size() && offer.picked[i] < before + n; ++i) {
        f(at + offer.picked[i] - before, i);
      }
      before += n;
    });
  }

 private:
  struct Rows {
    std::size_t at = 0, count = 0, width = 0;

    std::size_t size() const { return count * width; }
    std::size_t end() const { return at + size(); }
    Stretch row(std::size_t row) const { return {at + row * width, width}; }
  };

  Rows rows_, labels_;
  Stretch middle_, tail_;  // between them and after them
};

}  // namespace evener
