#include "evener/runtime/wall_clock.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <queue>
#include <thread>
#include <utility>

#include "evener/core/mailbox.h"
#include "evener/runtime/emulated_speed.h"

namespace evener {

namespace {

/// Runs a task and records its timing. A worker that throws has failed.
class TaskRunner {
 public:
  TaskRunner(Models& models, double speed) : models_(models), speed_(speed) {}

  Arrival run(Task task, const Stopwatch& clock) const {
    Arrival arrival;
    arrival.task = std::move(task);
    try {
      work(arrival, clock);
    } catch (const std::exception& problem) {
      arrival.failure = problem.what();
    }
    arrival.stats.end = clock.elapsed();
    return arrival;
  }

 private:
  void work(Arrival& arrival, const Stopwatch& clock) const {
    TaskStats& stats = arrival.stats;
    stats.begin = clock.elapsed();
    models_.begin(arrival.task);
    if (arrival.task.work == Work::pushed) {
      const Models::Traffic traffic = models_.traffic(arrival.task);
      stats.bytes = traffic.in + traffic.out;
    }
    const Seconds copied = clock.elapsed();
    arrival.loss_sum = models_.compute(arrival.task);
    sleep_for_speed(clock.elapsed() - copied, speed_);
    const Seconds computed = clock.elapsed();
    models_.end(arrival.task);
    stats.compute = computed - copied;
    stats.transfer = clock.elapsed() - stats.begin - stats.compute;
  }

  Models& models_;
  double speed_;
};

class WallClock final : public Executor {
 public:
  WallClock(Models& models, int workers, const WallClockOptions& options)
      : tasks_(static_cast<std::size_t>(workers)) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const TaskRunner runner(models, i < options.speeds.size() ? options.speeds[i] : 1);
      threads_.emplace_back([this, i, runner] {
        while (auto task = tasks_[i].get()) arrivals_.put(runner.run(std::move(*task), clock_));
      });
    }
  }
  ~WallClock() override {
    for (auto& tasks : tasks_) tasks.close();
    for (auto& thread : threads_) thread.join();
  }

  Seconds now() const override { return clock_.elapsed(); }
  void start(Task task) override {
    Mailbox<Task>& mailbox = tasks_[static_cast<std::size_t>(task.worker)];
    mailbox.put(std::move(task));
  }
  void set_timer(Seconds time) override { timers_.push(time); }
  /// Within one process a message arrives at once.
  void send(const GossipMessage& message, std::size_t /*bytes*/) override {
    Arrival arrival;
    arrival.message = message;
    arrivals_.put(std::move(arrival));
  }
  std::optional<Arrival> next() override {
    if (timers_.empty()) return arrivals_.get();
    auto arrival = arrivals_.get_within(std::max(0.0, timers_.top() - now()));
    if (!arrival) timers_.pop();
    return arrival;
  }

 private:
  Stopwatch clock_;
  std::vector<Mailbox<Task>> tasks_;  // one per worker
  Mailbox<Arrival> arrivals_;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> timers_;
  std::vector<std::thread> threads_;
};

/// A single worker runs on the scheduler's thread: there is nothing else to do meanwhile, and no
/// thread has to be woken for every step.
class SingleWorker final : public Executor {
 public:
  SingleWorker(Models& models, const WallClockOptions& options)
      : runner_(models, options.speeds.empty() ? 1 : options.speeds.front()) {}

  Seconds now() const override { return clock_.elapsed(); }
  void start(Task task) override { task_ = std::move(task); }
  std::optional<Arrival> next() override { return runner_.run(std::move(task_), clock_); }
  void set_timer(Seconds /*time*/) override {}  // no other worker that a policy could wait for

 private:
  Stopwatch clock_;
  TaskRunner runner_;
  Task task_;
};

}  // namespace

std::unique_ptr<Executor> make_wall_clock(Models& models, int workers,
                                          const WallClockOptions& options) {
  if (workers == 1) return std::make_unique<SingleWorker>(models, options);
  return std::make_unique<WallClock>(models, workers, options);
}

}  // namespace evener
