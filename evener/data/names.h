// Files with the names of rows, features and labels beside a data file, one name per line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evener {

/// `dir/train.txt` (or `.txt.gz`, `.txt.xz`) -> `dir/train.names.txt`.
std::string row_names_path(const std::string& data_path);
/// `dir/train.txt` -> `dir/labels.txt`: all files of a directory share it.
std::string label_names_path(const std::string& data_path);

/// The content of a file of names, without a byte order mark. Throws Error if it is not a regular
/// file.
std::string read_names_file(const std::string& path);
/// The lines of a file. Throws Error where it cannot be read.
std::vector<std::string> read_names(const std::string& path);
/// One name a line, to a temporary file that is renamed when complete. A name must not hold a line
/// break: that throws Error.
void write_names(const std::vector<std::string>& names, const std::string& path);

/// The `count` names in `path`; empty if there is no such file. A file with another number of names
/// belongs to other data: the result is empty, and `warning` says so.
std::vector<std::string> find_names(const std::string& path, std::size_t count,
                                    std::string* warning = nullptr);

}  // namespace evener
