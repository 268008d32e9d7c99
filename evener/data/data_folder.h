// A data set as a folder: train.* and, if there is one, test.*.
#pragma once

#include <string>

namespace evener {

/// A file path is returned unchanged. For a folder, returns its file `part` ("train", "test") with
/// any extension: empty if there is none, UsageError if there are several.
std::string data_file(const std::string& path, const std::string& part);

}  // namespace evener
