// The node's part of a cluster run: checking the data, opening devices, and building a replica.
#pragma once

#include <string>

#include "evener/cluster/parameter_server/worker.h"
#include "evener/run/devices/devices.h"
#include "evener/run/session/data.h"
#include "evener/runtime/engine.h"

namespace evener {

DataFingerprint fingerprint_of(const TrainingData& data);

/// Rows in a step of one node.
std::size_t batch_of_node(const EngineSetup& setup);

struct NodeContext {
  std::string data;                            // this node's copy; empty: the coordinator's path
  std::string devices = "cpu";                 // as in --devices
  std::string strategy;                        // for several devices; empty: --strategy auto
  std::string strategy_option = "--strategy";  // the option that selects it
  std::string memory_limit;                    // as in --memory-limit; empty: none
  CacheOptions cache;                          // for data
  DeviceContext opening;
};

/// UsageError or DeviceError if the context names devices that this machine does not have, or a
/// strategy that does not fit them. Called before connecting to a coordinator or a peer.
void check_devices(const NodeContext& context);

/// One device, or several that train as one replica by the node's own strategy.
struct NodeDevices {
  std::unique_ptr<Device> one;  // outlives the replica
  std::unique_ptr<Replica> replica;
  std::size_t most_rows = 0;  // rows of a batch, by the device's memory; 0: no limit
  std::string names;
};
/// Call check_devices first. A step has `batch` rows. `data` must outlive the result.
NodeDevices open_node(const NodeContext& context, std::size_t batch, const Network& network,
                      const Training& training, const Dataset& data);

/// Opens the data and the devices, and builds a replica on them. UsageError if they do not fit.
NodeWork make_node_work(const Job& job, int place, const NodeContext& context, const Warn& warn);

}  // namespace evener
