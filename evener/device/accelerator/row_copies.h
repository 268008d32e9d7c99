// Copies blocks of a vector between host and device: scattered rows are packed into one copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "evener/device/device.h"

namespace evener::accelerator {

/// Rows is a device's staging memory for packed rows. Its functions put work on the device's queue:
///   Vector                                a whole vector on the device
///   write(vector, offset, values)         from host memory, which must stay until wait()
///   read(vector, offset, values)
///   zero(vector, offset)                  from the offset to the vector's end
///   reserve(rows, width)                  memory for the indices and values of rows
///   choose(rows)                          the row indices for the next three calls
///   pack(vector, n, width), unpack(...)   between the vector and the packed values on the device
///   clear(vector, n, width)               sets them to zero
///   staged()                              packed values on the host
///   send(floats), fetch(floats)           packed values from and to the host
///   wait()                                waits until all of it has ended
template <class Rows>
class RowCopies {
 public:
  template <class Session>
  explicit RowCopies(Session& session) : rows_(session) {}

  using Vector = typename Rows::Vector;

  // These functions are synchronous.
  void load(Vector vector, const Blocks& blocks, std::span<const float> values) {
    const std::size_t width = blocks.width;
    rows_.write(vector, blocks.dense, values.subspan(blocks.dense));
    in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(values.data() + rows[i] * width, width, rows_.staged() + i * width);
      }
      rows_.send(rows.size() * width);
      rows_.unpack(vector, rows.size(), width);
    });
    rows_.wait();
  }

  void store(Vector vector, const Blocks& blocks, std::span<float> values) {
    const std::size_t width = blocks.width;
    rows_.read(vector, blocks.dense, values.subspan(blocks.dense));
    in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
      rows_.pack(vector, rows.size(), width);
      rows_.fetch(rows.size() * width);
      rows_.wait();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(rows_.staged() + i * width, width, values.data() + rows[i] * width);
      }
    });
    rows_.wait();
  }

  void clear(Vector vector, const Blocks& blocks) {
    rows_.zero(vector, blocks.dense);
    in_portions(blocks, [&](std::span<const std::uint32_t> rows) {
      rows_.clear(vector, rows.size(), blocks.width);
    });
    rows_.wait();
  }

  /// Calls choose(rows), then f(rows), for each portion of rows.
  template <class F>
  void in_portions(const Blocks& blocks, F f) {
    constexpr std::size_t kPortion = std::size_t{4} << 20;  // floats per copy
    if (blocks.rows.empty()) return;
    const std::size_t most = std::max<std::size_t>(1, kPortion / blocks.width);
    const std::size_t together = std::min(most, blocks.rows.size());
    rows_.reserve(together, blocks.width);
    for (std::size_t at = 0; at < blocks.rows.size(); at += together) {
      const auto rows = blocks.rows.subspan(at, std::min(together, blocks.rows.size() - at));
      rows_.choose(rows);
      f(rows);
      rows_.wait();
    }
  }

  Rows& rows() { return rows_; }

 private:
  Rows rows_;
};

}  // namespace evener::accelerator
