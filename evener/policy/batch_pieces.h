// A batch dealt out in small equal pieces to whoever is free: how devices of unknown speed share
// one without anybody waiting long for the slowest.
#pragma once

#include <algorithm>
#include <cstddef>

namespace evener {

struct BatchPieces {
  std::size_t pieces = 0;
  std::size_t rows = 0;  // of a piece
};

/// About twenty pieces, and at least one for each worker. Of a batch that cannot be cut so, as few
/// rows as can be are left for the next one.
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
