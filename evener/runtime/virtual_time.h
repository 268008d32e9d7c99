// The virtual-time executor: the same arithmetic on real data, one event at a time, with a clock
// computed from device models. Deterministic to the bit for a seed, whatever machine it runs on.
//
// What a worker on its own replica or copy computes it computes from what it held when it started.
// An in-place worker's steps are done at the end of their time, one after the other, on the model
// as it is then: Hogwild in which no write is lost.
#pragma once

#include <memory>
#include <vector>

#include "evener/device/device.h"
#include "evener/runtime/device_model.h"
#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"

namespace evener {

struct VirtualTimeOptions {
  std::vector<DeviceModel> devices;  // one a worker
  double merge_bandwidth = 1e10;     // bytes a second that the host reads while it merges
  int servers = 1;                   // that keep the model of a parameter server, a shard each
  double server_bandwidth = 0;       // bytes a second of each, both ways; 0: no limit
  std::uint64_t seed = 1;
  Seconds begins_at = 0;  // where it goes on from another
};

std::unique_ptr<Executor> make_virtual_time(Models& models, const Dataset& data,
                                            const VirtualTimeOptions& options);

/// A device for `models` in virtual time: computes on one thread of this machine.
std::unique_ptr<Device> make_simulated_device(const DeviceModel& model);

}  // namespace evener
