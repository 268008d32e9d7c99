// File input and output: files are mapped for reading and written atomically.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace evener {

/// Whether there is nothing at `path`; false if that cannot be found out.
bool is_missing(const std::string& path);

/// A regular file mapped read-only. Throws Error with the path and the system's reason.
/// Reads fail (SIGBUS) if another process shortens the file while it is mapped. Evener therefore
/// always replaces files (AtomicFile) and never rewrites them.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

enum class Readers { anyone, owner };

/// Writes to a temporary file beside `path`; `commit` makes it appear as `path`, whole and on disk
/// (fsync, rename, fsync of the directory). Without commit the temporary file is removed and what
/// was at `path` before stays. If `path` is a symbolic link, the file that it names is replaced.
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
