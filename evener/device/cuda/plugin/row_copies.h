// Blocks of a vector between host and card: scattered rows travel packed, in one copy.
#pragma once

#include "evener/device/cuda/plugin/session.h"

namespace evener::cuda {

class RowCopies {
 public:
  explicit RowCopies(Session& session) : session_(session) {}

  // All end before they return.
  void load(float* vector, const Blocks& blocks, std::span<const float> values);
  void store(const float* vector, const Blocks& blocks, std::span<float> values);
  void clear(float* vector, const Blocks& blocks);

  // All blocks side by side on the card, the dense layers first.
  std::size_t packed_size(const Blocks& blocks) const {
    return session_.layout.size - blocks.dense + blocks.rows.size() * blocks.width;
  }
  void pack(const float* vector, const Blocks& blocks, float* packed);
  void unpack(float* vector, const Blocks& blocks, const float* packed);

 private:
  /// Calls f(rows) for as many rows at a time as travel together, their numbers on the card.
  template <class F>
  void in_portions(const Blocks& blocks, F f);

  Session& session_;
  CardArray<std::uint32_t> rows_;
  CardArray<float> packed_;
  HostArray<float> staged_;
};

}  // namespace evener::cuda
