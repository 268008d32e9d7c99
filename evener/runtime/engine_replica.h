// Several devices with a strategy of their own, as one replica: a worker of a cluster or a gossip
// peer can be a whole machine. A step trains the batch's rows with that strategy, shared between
// the devices, and starts from the parameters that were given last.
#pragma once

#include <memory>

#include "evener/device/device.h"
#include "evener/runtime/engine.h"

namespace evener {

/// `setup` has everything except the rows; its batch size is that of the steps. UsageError where
/// its strategy is not one for devices inside a node (catalogue.h).
std::unique_ptr<Replica> make_engine_replica(EngineSetup setup);

}  // namespace evener
