#include "evener/device/opencl/row_copies.h"

#include <algorithm>

namespace evener::opencl {

namespace {

constexpr std::size_t kPortion = std::size_t{4} << 20;  // floats that travel together

}  // namespace

template <class F>
void RowCopies::in_portions(const Blocks& blocks, F f) {
  if (blocks.rows.empty()) return;
  const std::size_t most = std::max<std::size_t>(1, kPortion / blocks.width);
  const std::size_t wanted = std::min(most, blocks.rows.size());
  if (wanted > capacity_) {
    capacity_ = std::min(most, wanted * 5 / 4);
    rows_ = make_buffer(*session_.context, capacity_);
    packed_ = make_buffer(*session_.context, capacity_ * blocks.width);
    host_.resize(capacity_ * blocks.width);
  }
  for (std::size_t at = 0; at < blocks.rows.size(); at += capacity_) {
    const auto rows = blocks.rows.subspan(at, std::min(capacity_, blocks.rows.size() - at));
    write(*session_.context, rows_, rows);
    f(rows);
    finish(*session_.context);
  }
}

void RowCopies::load(const cl::Buffer& vector, const Blocks& blocks,
                     std::span<const float> values) {
  const std::size_t width = blocks.width;
  write(*session_.context, vector, values.subspan(blocks.dense), blocks.dense);
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values.data() + rows[i] * width, width, host_.data() + i * width);
    }
    write(*session_.context, packed_, std::span<const float>(host_.data(), rows.size() * width));
    session_.program.run("unpack_rows", width / session_.program.tiling().vec, rows.size(), vector,
                         rows_, word(rows.size()), word(width), packed_);
  });
  finish(*session_.context);
}

void RowCopies::store(const cl::Buffer& vector, const Blocks& blocks, std::span<float> values) {
  const std::size_t width = blocks.width;
  read(*session_.context, vector, values.subspan(blocks.dense), blocks.dense);
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    session_.program.run("pack_rows", width / session_.program.tiling().vec, rows.size(), vector,
                         rows_, word(rows.size()), word(width), packed_);
    read(*session_.context, packed_, std::span(host_.data(), rows.size() * width));
    finish(*session_.context);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(host_.data() + i * width, width, values.data() + rows[i] * width);
    }
  });
  finish(*session_.context);
}

void RowCopies::clear(const cl::Buffer& vector, const Blocks& blocks) {
  before_call("clearing memory");
  session_.context->queue.enqueueFillBuffer(vector, cl_uint{0}, blocks.dense * sizeof(float),
                                            (session_.layout.size - blocks.dense) * sizeof(float));
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    session_.program.run("clear_rows", blocks.width / session_.program.tiling().vec, rows.size(),
                         vector, rows_, word(rows.size()), word(blocks.width));
  });
  finish(*session_.context);
}

void RowCopies::merge(const cl::Buffer& into, const cl::Buffer& from, const Blocks& blocks,
                      float keep, float add) {
  const std::size_t vec = session_.program.tiling().vec;
  const std::size_t vectors = (session_.layout.size - blocks.dense) / vec;
  session_.program.run("merge_range", vectors, 1, into, from, offset64(blocks.dense), word(vectors),
                       keep, add);
  in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
    session_.program.run("merge_rows", blocks.width / vec, rows.size(), into, from, rows_,
                         word(rows.size()), word(blocks.width), keep, add);
  });
  finish(*session_.context);
}

}  // namespace evener::opencl
