#include "evener/device/device.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace evener {

void Replica::load(int vector, std::span<const float> values) {
  FloatBuffer buffer = take(vector);
  assert(values.size() == buffer.size());
  std::copy(values.begin(), values.end(), buffer.data());
  give(vector, std::move(buffer));
}

void Replica::store(int vector, std::span<float> values) {
  FloatBuffer buffer = take(vector);
  assert(values.size() == buffer.size());
  std::copy(buffer.data(), buffer.data() + buffer.size(), values.begin());
  give(vector, std::move(buffer));
}

Blocks blocks_of(const Network& network, const Layout& layout,
                 std::span<const std::uint32_t> rows) {
  if (!network.sparse_input()) return {};
  const std::size_t width = layout.layers.front().weight.stride;
  return {rows, width, sparse_rows(network) * width};
}

void Replica::load_blocks(int vector, const Blocks& blocks, std::span<const float> values) {
  FloatBuffer buffer = take(vector);
  for_blocks(blocks, buffer.size(), [&](std::size_t at, std::size_t n) {
    std::copy_n(values.data() + at, n, buffer.data() + at);
  });
  give(vector, std::move(buffer));
}

void Replica::store_blocks(int vector, const Blocks& blocks, std::span<float> values) {
  FloatBuffer buffer = take(vector);
  for_blocks(blocks, buffer.size(), [&](std::size_t at, std::size_t n) {
    std::copy_n(buffer.data() + at, n, values.data() + at);
  });
  give(vector, std::move(buffer));
}

void Replica::clear_blocks(int vector, const Blocks& blocks) {
  FloatBuffer buffer = take(vector);
  for_blocks(blocks, buffer.size(),
             [&](std::size_t at, std::size_t n) { std::fill_n(buffer.data() + at, n, 0.0F); });
  give(vector, std::move(buffer));
}

}  // namespace evener
