// Workers and servers on this machine, for `evener train --nodes`.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace evener {

class LocalNodes {
 public:
  /// `evener` with these arguments each, and EVENER_TOKEN set. Error where one cannot be started. A
  /// Ctrl-C does not reach them: the coordinator tells them when it is over.
  LocalNodes(const std::vector<std::vector<std::string>>& arguments, const std::string& token);
  /// Waits a moment for them to go by themselves, then ends them.
  ~LocalNodes();
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

 private:
  std::vector<pid_t> processes_;
};

/// In a process that LocalNodes started: it ends when whoever started it does, however that ends.
void end_with_parent();

/// For one run: enough that nobody guesses it.
std::string random_token();

}  // namespace evener
