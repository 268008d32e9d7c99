// Networks, data and batches for tests of devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/device/device.h"

namespace evener {

struct Case {
  Network network;
  Training training;
  Dataset data;
  std::size_t batch = 1;
  int threads = 1;             // of a CPU
  std::size_t keep_bytes = 0;  // of a CPU; 1: nothing is kept, every tile is computed twice
  std::size_t memory_limit = 0;
  bool biased = false;  // biases start as random numbers, not as zeros
};

/// The parameters it starts from, as training would choose them.
std::vector<float> start_of(const Case& c);
std::vector<std::uint32_t> all_rows_of(const Case& c);
/// On one of devices_here().
std::unique_ptr<Replica> make_replica(const Case& c, const std::string& device);

/// The vectors of a case: the parameters, then the optimizer's state.
using Vectors = std::vector<std::vector<float>>;

// Inside a RapidCheck property.
//
// In a network of relu layers rounding could move a unit across relu's edge on one device and not
// on another. So the hidden units have exact sums in any order: inputs and weights are quarters,
// dropout doubles, and a unit has few inputs that are not zero. The largest sum of a third layer is
// then below 2^10 and a multiple of 2^-8: 18 bits, where a float has 24. After one step this no
// longer holds, so a case has several steps only with other activations.
Case drawn_case(Loss loss, Optimizer optimizer, Input input);
Vectors drawn_vectors(const Case& c);

/// The largest difference, relative for large numbers.
double worst_difference(std::span<const float> a, std::span<const float> b);
/// Names the first number that differs by more, or padding that is not zero; "" if there is none.
std::string first_difference(const Network& network, std::span<const float> actual,
                             std::span<const float> expected, double tolerance);

}  // namespace evener
