// A run as the nodes of a cluster see it: the fingerprint of its data, and what a node makes of its
// job.
#pragma once

#include <string>

#include "evener/cluster/parameter_server/worker.h"
#include "evener/run/devices/devices.h"
#include "evener/run/session/data.h"
#include "evener/runtime/engine.h"

namespace evener {

DataFingerprint fingerprint_of(const TrainingData& data);

/// Rows of a step on one node.
std::size_t batch_of_node(const EngineSetup& setup);

struct NodeContext {
  std::string data;             // this node's copy; empty: where the coordinator has it
  std::string devices = "cpu";  // as --devices names them
  std::string strategy;         // of several; empty: as --strategy auto
  std::string strategy_option = "--strategy";  // where the user names it
  std::string memory_limit;                    // as --memory-limit; empty: none
  std::string cache_directory;                 // of data; empty: none
  DeviceContext opening;
};

/// UsageError or DeviceError where the context names no devices of this machine, or a strategy that
/// does not fit them. Before a coordinator or a peer is asked.
void check_devices(const NodeContext& context);

/// One device, or several that train by the node's own strategy as one replica.
struct NodeDevices {
  std::unique_ptr<Device> one;  // outlives the replica
  std::unique_ptr<Replica> replica;
  std::size_t most_rows = 0;  // of a batch, by the device's memory; 0: no limit
  std::string names;
};
/// After check_devices. `batch` rows make a step. `data` outlives the result.
NodeDevices open_node(const NodeContext& context, std::size_t batch, const Network& network,
                      const Training& training, const Dataset& data);

/// Opens the data and the devices and makes a replica on them; several devices train by the node's
/// own strategy. UsageError where they do not fit.
NodeWork make_node_work(const Job& job, int place, const NodeContext& context, const Warn& warn);

}  // namespace evener
