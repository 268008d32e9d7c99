// A replica of a network with a listed output (nn/network.h): a step costs what its rows' features
// and candidates cost, however many labels there are.
#pragma once

#include <memory>

#include "evener/device/device.h"

namespace evener::cpu {

/// Steps by a team of threads. The result does not depend on their number: a batch's rows are
/// computed from the parameters before it, and each row of the parameters is updated by one thread.
std::unique_ptr<Replica> make_listed_replica(const Network& network, const Training& training,
                                             int threads);

}  // namespace evener::cpu
