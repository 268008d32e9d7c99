// Resolves the RUN argument of `evener test RUN` to a model file.
#pragma once

#include <string>

#include "evener/run/artifacts/model.h"

namespace evener {

/// The path of a model file; for a run directory its best model, else its last. UsageError if there
/// is none.
std::string model_path_of(const std::string& run_or_model);

/// Whether the path is a run directory.
bool is_run_directory(const std::string& path);
/// Whether the file looks like a model (safetensors layout), by content.
bool is_model_file(const std::string& path);

}  // namespace evener
