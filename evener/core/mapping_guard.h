// Mapped files that another process shortens: reading a page that is gone raises SIGBUS. A handler
// replaces the missing pages by zeros and remembers the file, and code that has read from a mapping
// asks afterwards whether what it read was there.
#pragma once

#include <cstddef>
#include <string>

namespace evener {

/// Protects a mapping during its lifetime. There is one table for the process, because there is one
/// handler; a SIGBUS outside the table goes to the handler that was installed before, or ends the
/// process.
class MappingGuard {
 public:
  MappingGuard() = default;
  /// `path` is for messages. Throws Error if there are too many mappings.
  MappingGuard(const void* begin, std::size_t size, std::string path);
  MappingGuard(MappingGuard&& other) noexcept;
  MappingGuard& operator=(MappingGuard&& other) noexcept;
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;
  ~MappingGuard();

  /// Error with the path if a page of the file was missing when it was read.
  void check() const;

 private:
  int slot_ = -1;
};

/// The same for the mapping that `address` is in; nothing if it is in none.
void check_mapping(const void* address);
/// Whether `check_mapping` would not throw. Fast as long as no file was ever cut.
bool is_mapping_intact(const void* address);

}  // namespace evener
