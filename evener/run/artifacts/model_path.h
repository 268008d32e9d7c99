// What `evener test RUN` means by RUN.
#pragma once

#include <string>

#include "evener/run/artifacts/model.h"

namespace evener {

/// A model file itself; of a run directory the best model, else the last. UsageError if neither.
std::string model_path_of(const std::string& run_or_model);

/// Whether the path is a run directory.
bool is_run_directory(const std::string& path);
/// Whether the file looks like a model (safetensors layout), by content.
bool is_model_file(const std::string& path);

}  // namespace evener
