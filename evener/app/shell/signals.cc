#include "evener/app/shell/signals.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "evener/core/time.h"
#include "evener/run/report/progress_bar.h"

namespace evener {

namespace {

std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

constexpr int kSignalled = 128;  // plus the signal: the exit code

const char* g_answer = "";
bool g_terminal = false;

// From here to `on_signal`: only async-signal-safe calls.
void write_line(const char* text) {
  if (*text == '\0') return;
  // A terminal has echoed ^C in the middle of the progress line.
  [[maybe_unused]] ssize_t written = g_terminal ? write(STDERR_FILENO, "\n", 1) : 0;
  written = write(STDERR_FILENO, text, std::strlen(text));
}

/// False if the terminal or pipe is full: a write would block.
bool takes_more() {
  pollfd error{STDERR_FILENO, POLLOUT, 0};
  return poll(&error, 1, 0) == 1 && (error.revents & POLLOUT) != 0;
}

void end(int signal, const char* text) {
  if (takes_more()) write_line(text);
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when the handler returns
}

extern "C" void on_signal(int signal) {
  const int before = errno;
  if (g_signal.exchange(signal) == 0) {
    write_line(g_answer);
  } else {
    end(signal, "evener: ended at once, without a checkpoint\n");
  }
  errno = before;
}

extern "C" void on_early_signal(int signal) {
  end(signal, g_answer);
}

void handle(const char* answer, void (*handler)(int)) {
  // Not freed: the handler may still be using an earlier answer.
  static std::deque<std::string> answers;
  g_answer = answers.emplace_back(fitted(answer, STDERR_FILENO)).c_str();
  g_terminal = isatty(STDERR_FILENO) == 1;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // The terminal is gone, or the session ended. Under nohup it is ignored, and stays so.
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void catch_signals(const char* answer) {
  handle(answer, on_signal);
}

void end_on_signals(const char* answer) {
  handle(answer, on_early_signal);
}

SignalDeadline::SignalDeadline(Seconds grace, std::function<int()> signal)
    : signal_(std::move(signal)), thread_([this, grace] { watch(grace); }) {}

SignalDeadline::~SignalDeadline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SignalDeadline::watch(Seconds grace) {
  using Duration = std::chrono::duration<Seconds>;
  constexpr Duration kLook{0.05};
  const auto over = [this] { return over_; };
  std::unique_lock lock(mutex_);
  int signal = 0;
  while ((signal = signal_()) == 0) {
    if (changed_.wait_for(lock, kLook, over)) return;
  }
  if (changed_.wait_for(lock, Duration(grace), over)) return;
  if (takes_more()) write_line("evener: ended without waiting for the current step\n");
  _exit(kSignalled + signal);
}

StepDeadline::StepDeadline(std::shared_ptr<const MainSteps> steps, const HangLimits& limits,
                           std::string left)
    : steps_(std::move(steps)),
      left_(std::move(left)),
      thread_([this, limits] { watch(limits); }) {}

StepDeadline::~StepDeadline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StepDeadline::watch(const HangLimits& limits) {
  constexpr std::chrono::duration<Seconds> kLook{0.1};
  const Stopwatch clock;
  HangDetector detector(limits, 1);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [this] { return over_; })) {
    const int signal = caught_signal();
    detector.advance(clock.elapsed(), signal != 0);
    const std::string why = detector.look(0, steps_->value());
    if (why.empty()) continue;
    const std::string name = steps_->name();
    const std::string text = "evener: " + std::string(signal == 0 ? "error: " : "interrupted: ") +
                             (name.empty() ? "" : name + ": ") + why + "; " + left_ + "\n";
    if (takes_more()) write_line(text.c_str());
    _exit(signal == 0 ? 1 : kSignalled + signal);
  }
}

int caught_signal() {
  return g_signal.load();
}

}  // namespace evener
