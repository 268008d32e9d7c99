// Workers and servers visit their coordinator, and come back when the conversation breaks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "evener/cluster/inbox.h"
#include "evener/core/error.h"

namespace evener {

/// How a visit has ended. put_off: the coordinator is there, but has no place now.
enum class VisitEnd { over, failed, lost, put_off, signal };

struct VisitOptions {
  std::string coordinator;
  Seconds patience = 60;
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say;
};

/// Why a connection failed, with what to look at where that is known.
std::string with_hint(const std::string& why);

/// Calls visit(why, useful) until the run is over or a signal comes; returns the process's exit
/// code: that of a signal, or whether the run failed. Error where no visit was useful for as long
/// as patience lasts: there was no coordinator, or it had no place.
template <class F>
int visit_until_over(const VisitOptions& options, F visit) {
  constexpr int kSignalled = 128;
  const auto signal = [&] { return options.interrupted ? options.interrupted() : 0; };
  Stopwatch waited;
  VisitEnd before = VisitEnd::lost;
  for (bool told = false;;) {
    std::string why;
    bool useful = false;
    const VisitEnd end = visit(why, useful);
    if (end == VisitEnd::over) return 0;
    if (end == VisitEnd::failed) return 1;
    if (end == VisitEnd::signal) return kSignalled + signal();
    // Another reason to wait is told, and has its own time.
    if (useful || std::exchange(before, end) != end) {
      waited = {};
      told = false;
    }
    const bool put_off = end == VisitEnd::put_off;
    if (!useful && !put_off) why = with_hint(why);
    if (waited.elapsed() > options.patience) {
      throw Error(fmt::format("{}: {} for {:g} s: {}{}", options.coordinator,
                              put_off ? "no place" : "no coordinator", options.patience, why,
                              put_off ? "; to wait longer: --wait-seconds" : ""));
    }
    if (!told) {
      const std::string then =
          put_off ? fmt::format("waiting for a place, for {:g} s at most", options.patience)
                  : "trying again";
      options.say(fmt::format("{}: {}; {}", options.coordinator, why, then));
    }
    told = true;
    std::this_thread::sleep_for(std::chrono::duration<Seconds>(kPause));
    if (signal() != 0) return kSignalled + signal();
  }
}

}  // namespace evener
