// Workers and servers visit their coordinator, and come back when the conversation breaks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "evener/cluster/inbox.h"
#include "evener/core/error.h"

namespace evener {

/// How a visit has ended.
enum class VisitEnd { over, failed, lost, signal };

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
/// as patience lasts.
template <class F>
int visit_until_over(const VisitOptions& options, F visit) {
  constexpr int kSignalled = 128;
  const auto signal = [&] { return options.interrupted ? options.interrupted() : 0; };
  Stopwatch since_contact;
  for (bool told = false;;) {
    std::string why;
    bool useful = false;
    const VisitEnd end = visit(why, useful);
    if (end == VisitEnd::over) return 0;
    if (end == VisitEnd::failed) return 1;
    if (end == VisitEnd::signal) return kSignalled + signal();
    if (useful) {
      since_contact = {};
      told = false;
    }
    if (!useful) why = with_hint(why);
    if (since_contact.elapsed() > options.patience) {
      throw Error(fmt::format("{}: no coordinator for {:g} s: {}", options.coordinator,
                              options.patience, why));
    }
    if (!told) options.say(fmt::format("{}: {}; trying again", options.coordinator, why));
    told = true;
    std::this_thread::sleep_for(std::chrono::duration<Seconds>(kPause));
    if (signal() != 0) return kSignalled + signal();
  }
}

}  // namespace evener
