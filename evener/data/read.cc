#include "evener/data/read.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/data/cache.h"
#include "evener/data/parse.h"
#include "evener/data/sidecar_files.h"
#include "evener/data/stream.h"
#include "evener/data/windows.h"

namespace evener {

namespace {

// Large enough to keep threads busy between two barriers, small enough to stay in the caches of a
// core. Unpacked data comes in windows of the same size on every machine.
constexpr std::size_t kWindow = std::size_t{4} << 20;
constexpr std::size_t kHead = std::size_t{64} << 10;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

MappedFile open_data(const std::string& path) {
  if (is_missing(path)) throw UsageError(path + ": there is no such file");
  try {
    return MappedFile(path);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw DataError(path, 0, what.starts_with(path + ": ") ? what.substr(path.size() + 2) : what);
  }
}

/// The result of `read`, if `file` was whole all the time: zeros in its place can also be what made
/// `read` fail.
template <class Read>
Dataset read_checked(const MappedFile& file, Read read) {
  try {
    Dataset data = read();
    file.check();
    return data;
  } catch (const Error&) {
    file.check();
    throw;
  }
}

std::string unpacked_head(std::span<const std::byte> bytes) {
  std::string head(kHead, '\0');
  std::size_t size = 0;
  try {
    const auto stream = open_stream(bytes);
    while (size < head.size()) {
      const std::size_t count = stream->read_some(std::span(head).subspan(size));
      if (count == 0) break;
      size += count;
    }
  } catch (const Error&) {  // reading the rest finds the damage again, and knows the line
  }
  head.resize(size);
  return head;
}

Format format_of(std::span<const std::byte> bytes) {
  if (compression_of(bytes) == FileCompression::none) {
    return detect_format(text_of(bytes).substr(0, kHead));
  }
  return detect_format(unpacked_head(bytes));
}

bool is_text(Format format) {
  return format == Format::multilabel || format == Format::libsvm;
}

Format format_by(const ReadOptions& options, std::span<const std::byte> bytes) {
  if (options.format != Format::automatic) return options.format;
  const Format found = format_of(bytes);
  return is_text(found) && is_text(options.text_format) ? options.text_format : found;
}

std::unique_ptr<Windows> open_text(std::span<const std::byte> bytes, const std::string& path,
                                   int threads) {
  if (compression_of(bytes) == FileCompression::none) {
    // Copied: the parsers run up to a line end, which must not disappear if the file is truncated.
    const std::size_t size = kWindow * static_cast<std::size_t>(std::max(threads, 1));
    return windows_of(open_stream(bytes), path, size, StreamSpeed::fast);
  }
  return windows_of(open_stream(bytes), path, kWindow, StreamSpeed::slow);
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Data without labels is only used for prediction: then there is a model, which has labels.
void require_labels(bool found, const std::string& path, const std::string& where,
                    const ReadOptions& options) {
  if (found || options.label_count > 0) return;
  throw DataError(path, 0, fmt::format("there are no labels: {}", where));
}

Dataset read_idx(std::span<const std::byte> bytes, const std::string& path,
                 const ReadOptions& options) {
  const auto files = idx_label_files(path);
  const auto file = std::find_if(files.begin(), files.end(), exists);
  require_labels(file != files.end(), path,
                 files.empty() ? "for a file named *images* they are read from the one beside it "
                                 "that is named *labels*"
                               : "there is no file " + files.front(),
                 options);
  const auto images = open_stream(bytes);
  if (file == files.end()) return parse_idx(*images, path, nullptr, "");
  const MappedFile label_file = open_data(*file);
  const auto labels = open_stream(label_file.bytes());
  return read_checked(label_file, [&] { return parse_idx(*images, path, labels.get(), *file); });
}

Dataset read_npz(std::span<const std::byte> bytes, const std::string& path,
                 const ReadOptions& options) {
  if (compression_of(bytes) != FileCompression::none) {
    throw DataError(path, 0, "an .npz file must not be compressed again; unpack it first");
  }
  const std::string label_path = npz_label_file(path);
  if (!exists(label_path)) {
    Dataset data = parse_npz(bytes, path, {}, "");
    require_labels(data.label_count > 0, path,
                   "neither arrays y_indptr, y_indices, y_shape in it, nor a file " + label_path,
                   options);
    return data;
  }
  const MappedFile labels = open_data(label_path);
  if (labels.bytes().empty()) throw DataError(label_path, 0, "the file is empty");
  return read_checked(labels, [&] { return parse_npz(bytes, path, labels.bytes(), label_path); });
}

Dataset with_label_names(Dataset data, const std::string& path) {
  if (data.label_names.empty()) data.label_names = read_label_names(path, data.label_count);
  return data;
}

Dataset read_bytes(std::span<const std::byte> bytes, const std::string& path,
                   const ReadOptions& options) {
  switch (format_by(options, bytes)) {
    case Format::libsvm:
      return parse_libsvm(*open_text(bytes, path, options.threads), path, options);
    case Format::idx:
      return fit_to_options(read_idx(bytes, path, options), path, options);
    case Format::npz:
      return fit_to_options(with_label_names(read_npz(bytes, path, options), path), path, options);
    case Format::automatic:
    case Format::multilabel:
      break;
  }
  Dataset data = parse_multilabel(*open_text(bytes, path, options.threads), path, options);
  return fit_to_options(with_label_names(std::move(data), path), path, options);
}

}  // namespace

Format text_format_of(const std::string& path) {
  if (is_cache(path)) return Format::automatic;
  const Format found = format_of(open_data(path).bytes());
  return is_text(found) ? found : Format::automatic;
}

Dataset read_dataset(const std::string& path, const ReadOptions& options) {
  if (options.format == Format::automatic && is_cache(path)) {
    return fit_to_options(open_cache(path), path, options);
  }
  const MappedFile file = open_data(path);
  if (file.bytes().empty()) throw DataError(path, 0, "the file is empty");
  return read_checked(file, [&] { return read_bytes(file.bytes(), path, options); });
}

}  // namespace evener
