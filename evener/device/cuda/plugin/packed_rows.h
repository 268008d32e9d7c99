// Packed rows of a vector on the card, and copies of them; accelerator/row_copies.h has their
// order.
#pragma once

#include <cstdint>
#include <span>

#include "evener/device/cuda/plugin/session.h"

namespace evener::cuda {

class PackedRows {
 public:
  using Vector = float*;

  explicit PackedRows(Session& session) : session_(session) {}

  void write(Vector vector, std::size_t offset, std::span<const float> values) const {
    copy_to_card(session_.stream, vector + offset, values);
  }
  void read(const float* vector, std::size_t offset, std::span<float> values) const {
    copy_to_host(session_.stream, values, vector + offset);
  }
  void zero(Vector vector, std::size_t offset) const {
    check(cudaMemsetAsync(vector + offset, 0, (session_.layout.size - offset) * sizeof(float),
                          session_.stream),
          "cudaMemsetAsync");
  }
  void reserve(std::size_t rows, std::size_t width) {
    rows_.grow(rows);
    packed_.grow(rows * width);
    staged_.grow(rows * width);
  }
  void choose(std::span<const std::uint32_t> rows) const {
    copy_to_card(session_.stream, rows_.data(), rows);
  }
  void pack(Vector vector, std::size_t count, std::size_t width) const {
    pack_rows(session_.stream, vector, rows_.data(), count, width, packed_.data());
  }
  void unpack(Vector vector, std::size_t count, std::size_t width) const {
    unpack_rows(session_.stream, vector, rows_.data(), count, width, packed_.data());
  }
  void clear(Vector vector, std::size_t count, std::size_t width) const {
    clear_rows(session_.stream, vector, rows_.data(), count, width);
  }
  float* staged() const { return staged_.data(); }
  void send(std::size_t floats) const {
    copy_to_card(session_.stream, packed_.data(), std::span<const float>(staged_.data(), floats));
  }
  void fetch(std::size_t floats) const {
    copy_to_host(session_.stream, std::span<float>(staged_.data(), floats), packed_.data());
  }
  void wait() const { session_.wait(); }

  // All blocks packed on the card, the dense layers first, for merges between cards. These
  // functions are synchronous.
  std::size_t packed_size(const Blocks& blocks) const {
    return session_.layout.size - blocks.dense + blocks.rows.size() * blocks.width;
  }
  void pack_blocks(const float* vector, const Blocks& blocks, float* packed);
  void unpack_blocks(float* vector, const Blocks& blocks, const float* packed);

 private:
  Session& session_;
  CardArray<std::uint32_t> rows_;
  CardArray<float> packed_;
  HostArray<float> staged_;
};

}  // namespace evener::cuda
