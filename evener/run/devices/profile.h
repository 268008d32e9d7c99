// Measures a device on the user's data and fits its cost model for virtual time.
#pragma once

#include "evener/core/buffer.h"
#include "evener/data/dataset.h"
#include "evener/device/device.h"
#include "evener/nn/network.h"
#include "evener/run/options/options.h"
#include "evener/runtime/device_model.h"

namespace evener {

struct Profile {
  DeviceModel model;
  double worst_error = 0;  // relative error of the model
};

/// Times steps of several sizes on rows with few and with many non-zeros, and fits
/// fixed + per_row * rows + per_nonzero * non-zeros; for a device with its own memory, also the
/// latency and bandwidth of copies to it. `parameters`: of the network, to start from.
Profile measure_device(Device& device, const TrainOptions& options, const Network& network,
                       FloatBuffer parameters, const Dataset& data);

}  // namespace evener
