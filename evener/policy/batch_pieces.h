// A batch cut into small equal pieces. The next piece goes to the worker that is free, so that
// devices of unknown speed share a batch, and none waits long for the slowest.
#pragma once

#include <algorithm>
#include <cstddef>

namespace evener {

struct BatchPieces {
  std::size_t pieces = 0;
  std::size_t rows = 0;  // of a piece
};

/// About twenty pieces, and at least one per worker. If the rows cannot be divided evenly, as few
/// as possible are left for the next batch.
inline BatchPieces split_into_pieces(std::size_t batch, std::size_t workers) {
  constexpr std::size_t kFewest = 16, kMost = 24;
  BatchPieces best;
  for (std::size_t pieces = std::max(kFewest, workers); pieces <= std::max(kMost, workers);
       ++pieces) {
    const std::size_t rows = batch / pieces;
    if (rows * pieces > best.rows * best.pieces) best = {pieces, rows};
  }
  if (best.rows > 0) return best;
  return {std::max(batch, workers), 1};
}

}  // namespace evener
