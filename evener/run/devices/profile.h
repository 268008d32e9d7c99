// Measures a device on the user's own batches: its model for virtual time.
#pragma once

#include <functional>
#include <string>

#include "evener/device/device.h"
#include "evener/run/session/data.h"
#include "evener/runtime/device_model.h"

namespace evener {

struct Profile {
  DeviceModel model;
  double worst_error = 0;  // of the model against the measurements, as a share of them
};

/// Times steps of several sizes on rows with few and with many non-zeros, and fits
/// fixed + per_row * rows + per_nonzero * non-zeros; of a device with memory of its own also
/// latency and bandwidth of the way there.
Profile measure_device(Device& device, const TrainOptions& options, const TrainingData& data);

}  // namespace evener
