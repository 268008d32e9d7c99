// How far the replicas of one model are from each other.
#pragma once

#include <cstddef>
#include <span>

#include "evener/core/buffer.h"

namespace evener {

/// sqrt(mean_i |w_i - m|^2) / |m| with m the mean of all w_i; buffers without numbers are not
/// counted. Exactly 0 where all are the same.
double replica_distance(std::span<const FloatBuffer> replicas);

/// |a - b| / |(a + b) / 2|, of two replicas or of the same numbers of both.
double pair_distance(std::span<const float> a, std::span<const float> b);
/// What replica_distance of so many replicas would be, by the mean of the squares of pair_distance
/// over pairs of them; of two it is just that.
double distance_by_pairs(double mean_square, std::size_t replicas);

}  // namespace evener
