#include "evener/device/cuda/plugin/packed_rows.h"

namespace evener::cuda {

void PackedRows::pack_blocks(const float* vector, const Blocks& blocks, float* packed) {
  const std::size_t dense = session_.layout.size - blocks.dense;
  copy_on_card(session_.stream, packed, vector + blocks.dense, dense);
  rows_.grow(blocks.rows.size());
  choose(blocks.rows);
  pack_rows(session_.stream, vector, rows_.data(), blocks.rows.size(), blocks.width,
            packed + dense);
  wait();
}

void PackedRows::unpack_blocks(float* vector, const Blocks& blocks, const float* packed) {
  const std::size_t dense = session_.layout.size - blocks.dense;
  copy_on_card(session_.stream, vector + blocks.dense, packed, dense);
  rows_.grow(blocks.rows.size());
  choose(blocks.rows);
  unpack_rows(session_.stream, vector, rows_.data(), blocks.rows.size(), blocks.width,
              packed + dense);
  wait();
}

}  // namespace evener::cuda
