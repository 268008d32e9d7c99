// Cuts an epoch into batches: every row exactly once, in an order determined by (seed, epoch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

/// The rows 0..n-1 shuffled; the same for the same arguments on every machine.
std::vector<std::uint32_t> shuffled_rows(std::size_t rows, std::uint64_t seed, std::uint64_t epoch);

enum class Balance { rows, nonzeros };

/// How many of `order`'s rows from `begin` make the next batch: `size` rows, or, balanced by
/// non-zeros, as many (at least one) as hold about `size` times the data set's mean non-zeros.
std::size_t next_batch(const Dataset& data, std::span<const std::uint32_t> order, std::size_t begin,
                       std::size_t size, Balance balance);

}  // namespace evener
