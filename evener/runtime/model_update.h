// What gossiping nodes send each other: numbers of a model, and which they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evener/nn/network.h"

namespace evener {

struct ModelUpdate {
  enum class Places {
    all,      // of the model
    listed,   // of the rows and labels below, and what belongs to no row
    offered,  // those of the offer that this answers, which knows them
  };
  Places places = Places::all;
  std::vector<std::uint32_t> rows;    // of a sparse input layer, ascending
  std::vector<std::uint32_t> labels;  // whose weights in the output layer are meant, ascending
  bool some = false;                  // only some numbers of these places travel:
  std::vector<std::uint32_t> picked;  // their numbers in the order of places, ascending
  std::vector<float> values;
  bool half = false;  // the values are of half precision, and travel so
  double weight = 0;  // of push-sum

  std::size_t ids() const { return rows.size() + labels.size() + picked.size(); }
  std::size_t bytes() const {
    return ids() * sizeof(std::uint32_t) +
           values.size() * (half ? sizeof(std::uint16_t) : sizeof(float));
  }
};

/// Where in a model's vector the numbers of updates belong. A row of a sparse input layer belongs
/// to a feature, a row of the output layer's weights to a label; all else always travels.
class ModelUpdateLayout {
 public:
  explicit ModelUpdateLayout(const Network& network) {
    const Layout layout = layout_of(network);
    size_ = layout.size;
    output_ = layout.layers.back().weight;
    if (!network.sparse_input()) return;
    const Segment& input = layout.layers.front().weight;
    rows_ = input.rows;
    width_ = input.stride;
  }

  std::size_t size() const { return size_; }
  std::size_t rows() const { return rows_; }
  std::size_t labels() const { return output_.rows; }
  /// Of so many rows and labels.
  std::size_t numbers(std::size_t rows, std::size_t labels) const {
    return rows * width_ + labels * output_.stride + size_ - rows_ * width_ - output_.size();
  }
  /// At an offer's places.
  std::size_t numbers(const ModelUpdate& offer) const {
    if (offer.places == ModelUpdate::Places::all) return size_;
    return numbers(offer.rows.size(), offer.labels.size());
  }
  struct Stretch {
    std::size_t at, floats;
  };
  Stretch row(std::size_t row) const { return {row * width_, width_}; }
  Stretch label(std::size_t label) const {
    return {output_.offset + label * output_.stride, output_.stride};
  }

  /// Calls f(at, floats) for the places of an offer, in the order of their numbers.
  template <class F>
  void for_places(const ModelUpdate& offer, F f) const {
    if (offer.places == ModelUpdate::Places::all) return f(0, size_);
    for (const std::uint32_t one : offer.rows) f(row(one).at, width_);
    const std::size_t middle = rows_ * width_, tail = output_.offset + output_.size();
    if (output_.offset > middle) f(middle, output_.offset - middle);
    for (const std::uint32_t one : offer.labels) f(label(one).at, output_.stride);
    f(tail, size_ - tail);
  }
  /// Calls f(at, i) for each number of an offer: its place in the model, and in the values.
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
  std::size_t size_ = 0, rows_ = 0, width_ = 0;
  Segment output_;
};

}  // namespace evener
