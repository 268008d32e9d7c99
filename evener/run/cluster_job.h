// What a run is to the nodes of a cluster: which data, and what a node makes of the job it is told.
#pragma once

#include <string>

#include "evener/cluster/worker.h"
#include "evener/run/data.h"
#include "evener/run/devices.h"

namespace evener {

DataPrint print_of(const TrainingData& data);

struct NodeSurroundings {
  std::string data;             // this node's copy; empty: where the coordinator has it
  std::string device = "cpu";   // one, as --devices names it
  std::string memory_limit;     // of it, as --memory-limit; empty: none
  std::string cache_directory;  // of data; empty: none
  DeviceSurroundings devices;
};

/// Opens the data and the device and makes a replica there. UsageError where that cannot be.
NodeWork make_node_work(const Job& job, int place, const NodeSurroundings& surroundings,
                        const Warn& warn);

}  // namespace evener
