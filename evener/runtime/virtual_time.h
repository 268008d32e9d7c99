// The virtual-time executor: the same arithmetic on real data, one event at a time, with a clock
// computed from device models. For a seed, the result is the same to the bit on any machine.
//
// A worker with its own replica or copy computes from the parameters that it had when its task
// started. An in-place worker's steps run at the end of their time, one after the other, on the
// model as it is then: Hogwild in which no write is lost.
#pragma once

#include <memory>
#include <vector>

#include "evener/device/device.h"
#include "evener/runtime/device_model.h"
#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"

namespace evener {

struct VirtualTimeOptions {
  std::vector<DeviceModel> devices;  // one per worker
  double merge_bandwidth = 1e10;     // bytes per second that the host reads in a merge
  int servers = 1;                   // of a parameter server; each has one shard of the model
  double server_bandwidth = 0;       // bytes per second of each, in both directions; 0: no limit
  std::uint64_t seed = 1;
  Seconds begins_at = 0;  // the clock starts here, where a run continues
};

std::unique_ptr<Executor> make_virtual_time(Models& models, const Dataset& data,
                                            const VirtualTimeOptions& options);

/// A device for Models in virtual time: it computes on one thread of this machine.
std::unique_ptr<Device> make_simulated_device(const DeviceModel& model);

}  // namespace evener
