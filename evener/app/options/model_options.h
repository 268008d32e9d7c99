// The options of the commands that use a trained model.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "evener/app/shell/environment.h"
#include "evener/device/device.h"
#include "evener/run/artifacts/model.h"

namespace evener {

struct ModelOptions {
  std::string model;  // a run directory or a model file
  std::string data;
  std::string format = "auto";
  std::string device = "auto";
  std::string memory_limit;
  bool no_cache = false;
  bool json = false;
};

void add_model_options(CLI::App& command, ModelOptions& options);

/// A model on a device, with data transformed as in training.
struct LoadedModel {
  Model model;
  Dataset data;
  std::unique_ptr<Device> device;
  std::unique_ptr<Replica> network;  // of a shortlist head, whose `replica` uses it
  std::unique_ptr<Replica> replica;
};
LoadedModel load_for(const ModelOptions& options, const Environment& environment);

}  // namespace evener
