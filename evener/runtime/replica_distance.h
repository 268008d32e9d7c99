// How far the replicas of one model are from each other.
#pragma once

#include <span>

#include "evener/core/buffer.h"

namespace evener {

/// sqrt(mean_i |w_i - m|^2) / |m| with m the mean of all w_i; buffers without numbers are not
/// counted. Exactly 0 where all are the same.
double replica_distance(std::span<const FloatBuffer> replicas);

}  // namespace evener
