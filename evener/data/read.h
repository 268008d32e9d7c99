// Reading data files of any supported format into memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/data/dataset.h"

namespace evener {

/// multilabel: `a,b,c idx:val ...`, 0-based, optional header `N D L`. libsvm: `class idx:val ...`,
/// 1-based. idx: images and labels as MNIST ships them. npz: CSR arrays as scipy.sparse saves them.
/// All but npz may be compressed (.gz, .xz); the content decides, not the name.
enum class Format { automatic, multilabel, libsvm, idx, npz };

std::string to_string(Format format);
Format parse_format(const std::string& name);

struct ReadOptions {
  Format format = Format::automatic;
  /// With `automatic`: the format of a file of text, where one is known, as that of the training
  /// data. A few rows of multi-label text can look like LIBSVM. automatic: the content decides.
  Format text_format = Format::automatic;
  int threads = 1;
  /// The model's sizes when data is read for an existing model: an index beyond them is an error.
  /// 0: take the header's, else the largest index + 1.
  std::uint32_t feature_count = 0;
  std::uint32_t label_count = 0;
  /// LIBSVM classes in the order of an existing model's labels; empty: sorted as found.
  std::vector<std::string> label_names;
};

/// Throws DataError (`file:line: what is wrong`) for anything that is not well-formed, and
/// UsageError if there is no such file.
Dataset read_dataset(const std::string& path, const ReadOptions& options);

/// The format of a file of text, multilabel or libsvm, by its content; automatic for other files.
Format text_format_of(const std::string& path);

/// Writes multi-label text with header, to a temporary file that is renamed when complete.
void write_multilabel(const Dataset& data, const std::string& path);

}  // namespace evener
