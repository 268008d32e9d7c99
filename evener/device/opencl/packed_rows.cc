#include "evener/device/opencl/packed_rows.h"

namespace evener::opencl {

void PackedRows::zero(Vector vector, std::size_t offset) const {
  before_call("clearing memory");
  session_.context->queue.enqueueFillBuffer(vector, cl_uint{0}, offset * sizeof(float),
                                            (session_.layout.size - offset) * sizeof(float));
}

void PackedRows::reserve(std::size_t rows, std::size_t width) {
  if (rows <= capacity_) return;
  const std::size_t wanted = rows * 5 / 4;  // some more, so that it is rarely reallocated
  capacity_ = 0;                            // until everything is allocated
  rows_ = make_buffer(*session_.context, wanted);
  packed_ = make_buffer(*session_.context, wanted * width);
  host_.resize(wanted * width);
  capacity_ = wanted;
}

void PackedRows::pack(Vector vector, std::size_t count, std::size_t width) const {
  session_.program.run("pack_rows", width / session_.program.tiling().vec, count, vector, rows_,
                       word(count), word(width), packed_);
}

void PackedRows::unpack(Vector vector, std::size_t count, std::size_t width) const {
  session_.program.run("unpack_rows", width / session_.program.tiling().vec, count, vector, rows_,
                       word(count), word(width), packed_);
}

void PackedRows::clear(Vector vector, std::size_t count, std::size_t width) const {
  session_.program.run("clear_rows", width / session_.program.tiling().vec, count, vector, rows_,
                       word(count), word(width));
}

void PackedRows::merge_rows(Vector into, Vector from, std::size_t count, std::size_t width,
                            float keep, float add) const {
  session_.program.run("merge_rows", width / session_.program.tiling().vec, count, into, from,
                       rows_, word(count), word(width), keep, add);
}

void PackedRows::merge_range(Vector into, Vector from, std::size_t offset, float keep,
                             float add) const {
  const std::size_t vectors = (session_.layout.size - offset) / session_.program.tiling().vec;
  session_.program.run("merge_range", vectors, 1, into, from, offset64(offset), word(vectors), keep,
                       add);
}

}  // namespace evener::opencl
