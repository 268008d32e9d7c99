// Files as the rest of the project uses them: mapped for reading, complete or absent after writing.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace evener {

/// A regular file mapped read-only. Throws Error with the path and the system's reason.
/// If the file is shortened while it is mapped, reads of it fail (SIGBUS); files that we write
/// ourselves are therefore always replaced (AtomicFile), never rewritten.
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

/// Writes to a temporary file beside `path`; `commit` makes it appear as `path`, whole and on disk
/// (fsync, rename, fsync of the directory). Without commit the temporary file is removed and what
/// was at `path` before stays. Throws Error with the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(const void* data, std::size_t size);
  /// Writes at a place that was written before (a header known only at the end).
  void write_at(std::size_t offset, const void* data, std::size_t size);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// All of `contents` by one AtomicFile.
void write_atomically(const std::string& path, std::span<const std::byte> contents);

}  // namespace evener
