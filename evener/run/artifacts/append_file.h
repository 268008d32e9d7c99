// An append-only file of whole records, for logs. A failing log must not stop the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evener {

/// Does not throw: the first failure is stored for `take_warning`, later ones are silent. A partly
/// written record is removed, so that readers see whole records only.
class AppendFile {
 public:
  explicit AppendFile(const std::string& path);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  void append(std::string_view record);
  /// Truncates the file after the last line break, in case an earlier writer was killed.
  void drop_torn_line();
  std::string take_warning();

 private:
  void fail(const char* what);

  std::string path_;
  int descriptor_ = -1;
  bool failed_ = false;
  std::string warning_;
};

}  // namespace evener
