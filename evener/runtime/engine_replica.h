// Several devices under a strategy of their own, as one replica: so a node of a cluster can be a
// whole machine. A step is what the strategy makes of the batch's rows, which the devices share;
// each begins with the parameters that were last given.
#pragma once

#include <memory>

#include "evener/device/device.h"
#include "evener/runtime/engine.h"

namespace evener {

/// `setup` has everything but the rows; its batch size is that of the steps to come. UsageError
/// where its strategy is not one of a node's devices (catalogue.h).
std::unique_ptr<Replica> make_engine_replica(EngineSetup setup);

}  // namespace evener
