#include "evener/app/signals.h"

#include <atomic>
#include <csignal>

namespace evener {

namespace {

std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

// The next one has the system's own effect: it ends the process.
extern "C" void on_signal(int signal) {
  g_signal.store(signal);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int caught_signal() {
  return g_signal.load();
}

}  // namespace evener
