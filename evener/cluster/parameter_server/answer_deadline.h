// The time that workers and servers have to answer the coordinator once a run was interrupted.
// Until then the heartbeats and the progress of a member decide whether it is lost.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "evener/core/time.h"

namespace evener {

/// How long a run that was interrupted waits for answers.
struct InterruptGrace {
  std::function<int()> interrupted;  // not 0: this signal was received; null: never
  Seconds seconds = 0.5;
};

class AnswerDeadline {
 public:
  /// `bytes`: of the largest answer; a slow network gets the time to send it.
  AnswerDeadline(const InterruptGrace& grace, std::size_t bytes)
      : grace_(grace), limit_(grace.seconds + static_cast<double>(bytes) / kSlowBytesPerSecond) {}

  /// Poll it while you wait: the time begins when a signal is noticed.
  bool passed() {
    if (!grace_.interrupted || grace_.interrupted() == 0) return false;
    if (!since_) since_.emplace();
    return since_->elapsed() >= limit_;
  }

 private:
  static constexpr double kSlowBytesPerSecond = 1e8;

  const InterruptGrace& grace_;
  Seconds limit_;
  std::optional<Stopwatch> since_;
};

}  // namespace evener
