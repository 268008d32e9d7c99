// Files beside a data file that belong to it.
#pragma once

#include <string>
#include <vector>

namespace evener {

/// Possible paths of the labels of an IDX images file: `images` becomes `labels` and `idx3` `idx1`,
/// compressed or not. Empty if the name does not match.
std::vector<std::string> idx_label_files(const std::string& images);

/// `X.labels.npz` for `X.npz`.
std::string npz_label_file(const std::string& path);

/// `labels.txt` in the same directory.
std::string label_name_file(const std::string& path);

/// Every file, present or not, that may affect the result of reading `path`.
std::vector<std::string> companions_of(const std::string& path);

/// The lines of label_name_file(path) if there are exactly `count`, else nothing.
std::vector<std::string> read_label_names(const std::string& path, std::size_t count);

}  // namespace evener
