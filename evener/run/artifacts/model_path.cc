#include "evener/run/artifacts/model_path.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "evener/core/error.h"

namespace evener {

namespace fs = std::filesystem;

bool is_run_directory(const std::string& path) {
  return fs::is_regular_file(path + "/config.toml");
}

// Eight bytes of header length, little-endian, then the JSON header.
bool is_model_file(const std::string& path) {
  if (!fs::is_regular_file(path)) return false;  // opening a pipe would wait for its writer
  std::ifstream file(path, std::ios::binary);
  char start[9] = {};
  if (!file.read(start, sizeof start)) return false;
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(start[i]);
  return start[8] == '{' && length <= fs::file_size(path);
}

std::string model_path_of(const std::string& run_or_model) {
  if (!fs::exists(run_or_model)) throw UsageError(run_or_model + ": there is no such run or model");
  if (!fs::is_directory(run_or_model)) return run_or_model;
  for (const char* name : {"/best.safetensors", "/last.safetensors", "/model.safetensors"}) {
    if (fs::exists(run_or_model + name)) return run_or_model + name;
  }
  throw UsageError(run_or_model + (is_run_directory(run_or_model)
                                       ? ": this run has not written a model yet"
                                       : ": is not a run directory"));
}

}  // namespace evener
