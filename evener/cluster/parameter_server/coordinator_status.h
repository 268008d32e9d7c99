// The answer to `evener status`.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

namespace evener {

class CoordinatorStatus {
 public:
  /// What the run reports about itself: a JSON object.
  void set(std::string json) { run_ = std::move(json); }
  /// The run's report and what is connected now. The report is out of date where no worker is left:
  /// it is updated after each step.
  std::string json(int workers, int servers, int servers_wanted) const {
    std::string shards;
    if (servers_wanted > 0) {
      shards = fmt::format(R"(,"servers_there":{},"servers":{})", servers, servers_wanted);
    }
    return fmt::format(R"({{"workers_there":{}{}{}{})", workers, shards, run_ == "{}" ? "" : ",",
                       run_.substr(1));
  }

 private:
  std::string run_ = "{}";
};

}  // namespace evener
