// How far the replicas of one model are from each other.
#pragma once

#include <cstddef>
#include <span>

#include "evener/core/buffer.h"

namespace evener {

/// sqrt(mean_i |w_i - m|^2) / |m|, where m is the mean of all w_i. Empty buffers are left out.
/// Exactly 0 where all replicas are equal.
double replica_distance(std::span<const FloatBuffer> replicas);

/// |a - b| / |(a + b) / 2| of two replicas, or of the same part of both.
double pair_distance(std::span<const float> a, std::span<const float> b);
/// An estimate of replica_distance of so many replicas, from the mean square of pair_distance over
/// pairs of them. For two replicas it is exact.
double distance_by_pairs(double mean_square, std::size_t replicas);

}  // namespace evener
