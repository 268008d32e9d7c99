// A file that grows by whole records, for logs that must not stop the run that writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evener {

/// Nothing here throws: the first failure is kept for `take_warning`, later ones are silent. A
/// record that did not fit is taken back, so that what can be read is always whole.
class AppendFile {
 public:
  explicit AppendFile(const std::string& path);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  void append(std::string_view record);
  /// Cuts off what a killed writer left behind the last line break.
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
