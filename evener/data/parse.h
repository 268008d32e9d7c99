// The readers' inner entry points: they parse formats from memory, so that tests and fuzzers need
// no files. Errors name the data `name`; all throw DataError.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "evener/data/read.h"
#include "evener/data/stream.h"
#include "evener/data/windows.h"

namespace evener {

/// The format of data that begins with `head` (unpacked, 64 KiB are enough).
///
/// Not text: an .npz begins as every zip file, IDX with its magic number.
/// Text: a first line of three integers is a multi-label header. Otherwise it is LIBSVM if a line
/// begins with a signed or fractional class (-1, +1, 2.0) or with `#`; and also if every row has
/// exactly one label and no index is 0. All else is multi-label text.
Format detect_format(std::string_view head);

Dataset parse_multilabel(Windows& text, const std::string& name, const ReadOptions& options);
Dataset parse_libsvm(Windows& text, const std::string& name, const ReadOptions& options);

/// `labels` null: rows without labels.
Dataset parse_idx(ByteStream& images, const std::string& images_name, ByteStream* labels,
                  const std::string& labels_name);

/// Features from the members indptr, indices, data, shape of `npz`. Labels are the places of
/// non-zeros of the matrix in `labels` (the content of another .npz), if that is not empty, else
/// of the members y_indptr, y_indices, y_shape (y_data where there) of `npz` itself.
Dataset parse_npz(std::span<const std::byte> npz, const std::string& name,
                  std::span<const std::byte> labels, const std::string& labels_name);

/// The data set in a cache file; it refers to `bytes`, which `storage` keeps alive. See cache.h.
Dataset parse_cache(std::span<const std::byte> bytes, const std::string& name,
                    std::shared_ptr<const void> storage);

/// Fits data that was read without a model to `options`: takes the model's sizes and label names,
/// renumbers labels by name if both have names, and refuses data that does not fit.
Dataset fit_to_options(Dataset data, const std::string& name, const ReadOptions& options);

}  // namespace evener
