// Measures a device on the user's data and fits its cost model for virtual time.
#pragma once

#include <functional>
#include <string>

#include "evener/device/device.h"
#include "evener/run/session/data.h"
#include "evener/runtime/device_model.h"

namespace evener {

struct Profile {
  DeviceModel model;
  double worst_error = 0;  // relative error of the model
};

/// Times steps of several sizes on rows with few and with many non-zeros, and fits
/// fixed + per_row * rows + per_nonzero * non-zeros; for a device with its own memory, also the
/// latency and bandwidth of copies to it.
Profile measure_device(Device& device, const TrainOptions& options, const TrainingData& data);

}  // namespace evener
