#include "evener/device/cuda/plugin/row_copies.h"

#include <algorithm>

namespace evener::cuda {

namespace {

constexpr std::size_t kPortion = std::size_t{4} << 20;  // floats that travel together

}  // namespace

template <class F>
void RowCopies::in_portions(const Blocks& blocks, F f) {
  if (blocks.rows.empty()) return;
  const std::size_t most = std::max<std::size_t>(1, kPortion / blocks.width);
  const std::size_t together = std::min(most, blocks.rows.size());
  rows_.grow(together);
  packed_.grow(together * blocks.width);
  staged_.grow(together * blocks.width);
  for (std::size_t at = 0; at < blocks.rows.size(); at += together) {
    const auto rows = blocks.rows.subspan(at, std::min(together, blocks.rows.size() - at));
    copy_to_card(session_.stream, rows_.data(), rows);
    f(rows);
    session_.stream.wait();
  }
}

void RowCopies::load(float* vector, const Blocks& blocks, std::span<const float> values) {
  const std::size_t width = blocks.width;
  copy_to_card(session_.stream, vector + blocks.dense, values.subspan(blocks.dense));
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values.data() + rows[i] * width, width, staged_.data() + i * width);
    }
    copy_to_card(session_.stream, packed_.data(),
                 std::span<const float>(staged_.data(), rows.size() * width));
    unpack_rows(session_.stream, vector, rows_.data(), rows.size(), width, packed_.data());
  });
  session_.stream.wait();
}

void RowCopies::store(const float* vector, const Blocks& blocks, std::span<float> values) {
  const std::size_t width = blocks.width;
  copy_to_host(session_.stream, values.subspan(blocks.dense), vector + blocks.dense);
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    pack_rows(session_.stream, vector, rows_.data(), rows.size(), width, packed_.data());
    copy_to_host(session_.stream, std::span<float>(staged_.data(), rows.size() * width),
                 packed_.data());
    session_.stream.wait();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(staged_.data() + i * width, width, values.data() + rows[i] * width);
    }
  });
  session_.stream.wait();
}

void RowCopies::pack(const float* vector, const Blocks& blocks, float* packed) {
  const std::size_t dense = session_.layout.size - blocks.dense;
  copy_on_card(session_.stream, packed, vector + blocks.dense, dense);
  rows_.grow(blocks.rows.size());
  copy_to_card(session_.stream, rows_.data(), blocks.rows);
  pack_rows(session_.stream, vector, rows_.data(), blocks.rows.size(), blocks.width,
            packed + dense);
  session_.stream.wait();
}

void RowCopies::unpack(float* vector, const Blocks& blocks, const float* packed) {
  const std::size_t dense = session_.layout.size - blocks.dense;
  copy_on_card(session_.stream, vector + blocks.dense, packed, dense);
  rows_.grow(blocks.rows.size());
  copy_to_card(session_.stream, rows_.data(), blocks.rows);
  unpack_rows(session_.stream, vector, rows_.data(), blocks.rows.size(), blocks.width,
              packed + dense);
  session_.stream.wait();
}

void RowCopies::clear(float* vector, const Blocks& blocks) {
  check(cudaMemsetAsync(vector + blocks.dense, 0,
                        (session_.layout.size - blocks.dense) * sizeof(float), session_.stream),
        "cudaMemsetAsync");
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    clear_rows(session_.stream, vector, rows_.data(), rows.size(), blocks.width);
  });
  session_.stream.wait();
}

}  // namespace evener::cuda
