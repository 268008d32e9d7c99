// Where it is computed. A device makes replicas of a model; a replica does steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "evener/data/dataset.h"
#include "evener/nn/network.h"
#include "evener/nn/predictions.h"
#include "evener/nn/training.h"

namespace evener {

/// A model on a device, with its optimizer state.
class Replica {
 public:
  virtual ~Replica() = default;

  /// One update as nn/training.h defines it; returns the batch's mean loss before it.
  virtual double step(const Batch& batch, const Step& step) = 0;

  /// Appends the batch's rows to `out`, whose k says how many labels to keep.
  virtual void predict(const Batch& batch, Predictions& out) = 0;

  /// Vector 0 is the parameters, 1... the optimizer's state, all in the network's layout.
  virtual int vectors() const = 0;
  virtual void load(int vector, std::span<const float> values) = 0;
  virtual void store(int vector, std::span<float> values) const = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  /// Parameters start at zero: load them.
  virtual std::unique_ptr<Replica> make_replica(const Network& network,
                                                const Training& training) = 0;
};

/// "cpu" (all cores) or "cpu:T". UsageError names what is valid.
std::unique_ptr<Device> make_device(const std::string& name);

}  // namespace evener
