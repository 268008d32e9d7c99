// Tensor files in the safetensors layout: 8 bytes of header length, a JSON header, raw
// little-endian data. The format cannot contain code, every bound is checked, and Python's
// safetensors package reads it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "evener/core/file.h"

namespace evener {

/// A tensor to write. Rows may be `stride` elements apart; the file holds them packed.
struct TensorView {
  std::string name;
  std::string dtype;  // "F32", "I64", "U64", "U8"
  std::vector<std::size_t> shape;
  const void* data = nullptr;
  std::size_t stride = 0;  // elements between rows (last dimension); 0: packed
};

/// Writes to a temporary file beside `path`, fsyncs, renames, fsyncs the folder. The metadata holds
/// an xxh3 of each tensor ("xxh3:NAME"), so that an error can name the damaged tensor, and one of
/// the header itself ("xxh3"). Wider elements come first in the file, so that all are aligned.
void write_tensors(const std::string& path, std::span<const TensorView> tensors,
                   const std::map<std::string, std::string>& metadata);

/// A memory-mapped file. The header's checksum is verified on opening, a tensor's when it is read;
/// the Error names file and tensor. Files of other programs have no checksums and are read without.
class TensorFile {
 public:
  struct Entry {
    std::string dtype;
    std::vector<std::size_t> shape;
    std::size_t begin = 0, end = 0;  // bytes within the data part
  };
  explicit TensorFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool contains(const std::string& name) const { return entries_.count(name) != 0; }
  /// Whether the header has checksums.
  bool checksummed() const { return metadata_.count("xxh3") != 0; }

  /// Throws unless the tensor exists with this dtype and shape; does not read its data.
  const Entry& expect(const std::string& name, const std::string& dtype,
                      const std::vector<std::size_t>& shape) const;

  /// The packed bytes of a tensor, which must have this dtype and shape; verified.
  std::span<const std::byte> bytes(const std::string& name, const std::string& dtype,
                                   const std::vector<std::size_t>& shape) const;
  /// Copies a rows x cols F32 tensor (for one row also of shape [cols]) into memory whose rows are
  /// `stride` floats apart. Releases the mapped pages, so that loading needs no second copy in
  /// memory.
  void read_floats(const std::string& name, std::size_t rows, std::size_t cols, std::size_t stride,
                   float* out) const;

 private:
  std::span<const std::byte> verified(const std::string& name, const Entry& entry) const;
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const;

  std::string path_;
  MappedFile file_;
  std::size_t data_begin_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Entry> entries_;
};

}  // namespace evener
