// Workers and shard servers connect to their coordinator, and reconnect when the connection breaks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/transport/inbox.h"
#include "evener/core/error.h"

namespace evener {

/// How a session has ended. put_off: the coordinator has no free slot now. signal: this process
/// received a signal.
enum class SessionEnd { over, failed, lost, put_off, signal };

struct ReconnectOptions {
  std::string coordinator;
  Seconds patience = 60;
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say;
};

/// Why a connection failed, with a hint for the user where the cause is known.
std::string with_hint(const std::string& why);
/// Whether it failed because of certificates: waiting does not help.
bool is_certificate_problem(const std::string& why);

/// Calls session(why, useful) until the run is over or a signal arrives. Returns the process's exit
/// code: 0, 1 if the run failed, or 128 + the signal. Error if no session was useful within
/// `patience`: the coordinator could not be reached, or had no free slot.
template <class F>
int run_until_over(const ReconnectOptions& options, F session) {
  constexpr int kSignalled = 128;
  const auto signal = [&] { return options.interrupted ? options.interrupted() : 0; };
  Stopwatch waited;
  SessionEnd before = SessionEnd::lost;
  for (bool reported = false;;) {
    std::string why;
    bool useful = false;
    const SessionEnd end = session(why, useful);
    if (end == SessionEnd::over) return 0;
    if (end == SessionEnd::failed) return 1;
    if (end == SessionEnd::signal) return kSignalled + signal();
    // Each reason to wait is reported once, and has its own time limit.
    if (useful || std::exchange(before, end) != end) {
      waited = {};
      reported = false;
    }
    const bool put_off = end == SessionEnd::put_off;
    if (!useful && !put_off) why = with_hint(why);
    if (waited.elapsed() > options.patience) {
      throw Error(fmt::format("{}: {} for {:g} s: {}{}", options.coordinator,
                              put_off ? "no free slot" : "no coordinator", options.patience, why,
                              put_off ? "; to wait longer: --wait-seconds" : ""));
    }
    if (!reported) {
      const std::string then =
          put_off ? fmt::format("waiting for a free slot, for {:g} s at most", options.patience)
                  : "trying again";
      options.say(fmt::format("{}: {}; {}", options.coordinator, why, then));
    }
    reported = true;
    std::this_thread::sleep_for(std::chrono::duration<Seconds>(kPause));
    if (signal() != 0) return kSignalled + signal();
  }
}

}  // namespace evener
