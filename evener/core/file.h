// File input and output: files are mapped for reading and written atomically.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "evener/core/mapping_guard.h"

namespace evener {

/// Whether there is nothing at `path`; false if that cannot be found out.
bool is_missing(const std::string& path);

/// The content of a file that is small: settings, a token, names. A pipe (`<(command)`,
/// /dev/stdin) is read to its end. A UTF-8 byte order mark at the start is skipped. Throws Error
/// with the path if the file is longer than `limit`, if it is neither a regular file nor a pipe, or
/// if no process has written to the pipe.
std::string read_whole_file(const std::string& path, std::size_t limit = std::size_t{1} << 20);

/// `text` without a UTF-8 byte order mark at its start.
std::string_view without_byte_order_mark(std::string_view text);

/// A regular file mapped read-only. Throws Error with the path and the system's reason.
/// If another process shortens the file while it is mapped, the missing part reads as zeros; what
/// was read counts only after `check`. Evener itself always replaces files (AtomicFile) and never
/// rewrites them.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Error with the path if a part of the file was missing when it was read. `check_mapping` of
  /// core/mapping_guard.h does the same for an address in `bytes`.
  void check() const { guard_.check(); }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MappingGuard guard_;
};

enum class Readers { anyone, owner };

/// Writes to a temporary file beside `path`; `commit` makes it appear as `path`, whole and on disk
/// (fsync, rename, fsync of the directory). Without commit the temporary file is removed and what
/// was at `path` before stays. If `path` is a symbolic link, the file that it names is replaced.
/// The temporary file is PATH.tmpPID.N and locked (flock) while it is written; a killed process
/// leaves it behind unlocked.
/// Refuses to replace a device, a pipe or anything else that is not a regular file. Throws Error
/// with the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path, Readers readers = Readers::anyone);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, std::size_t size);
  /// Overwrites bytes that were written before (a header that is known only at the end).
  void write_at(std::size_t offset, const void* data, std::size_t size);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string target_;  // what is replaced: path_, or what it links to
  std::string temporary_;
  int descriptor_ = -1;
};

/// Writes `contents` with one AtomicFile.
void write_atomically(const std::string& path, std::span<const std::byte> contents,
                      Readers readers = Readers::anyone);

}  // namespace evener
