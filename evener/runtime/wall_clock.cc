#include "evener/runtime/wall_clock.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <queue>
#include <thread>
#include <utility>

#include "evener/core/mailbox.h"

namespace evener {

namespace {

/// Does a task and notes where its time went; a worker that throws has failed.
class Workbench {
 public:
  Workbench(Models& models, double speed) : models_(models), speed_(speed) {}

  Arrival run(Task task, const Stopwatch& clock) const {
    Arrival arrival;
    arrival.task = std::move(task);
    try {
      work(arrival, clock);
    } catch (const std::exception& problem) {
      arrival.failure = problem.what();
    }
    arrival.spent.end = clock.elapsed();
    return arrival;
  }

 private:
  void work(Arrival& arrival, const Stopwatch& clock) const {
    Spent& spent = arrival.spent;
    spent.begin = clock.elapsed();
    models_.begin(arrival.task);
    if (arrival.task.work == Work::pushed) {
      const Models::Traffic traffic = models_.traffic(arrival.task);
      spent.bytes = traffic.in + traffic.out;
    }
    const Seconds copied = clock.elapsed();
    arrival.loss_sum = models_.compute(arrival.task);
    Seconds computed = clock.elapsed();
    if (speed_ < 1) {  // emulated slowness: the rest of the time is slept
      const Seconds rest = (computed - copied) * (1 / speed_ - 1);
      std::this_thread::sleep_for(std::chrono::duration<double>(rest));
      computed = clock.elapsed();
    }
    models_.end(arrival.task);
    spent.compute = computed - copied;
    spent.transfer = clock.elapsed() - spent.begin - spent.compute;
  }

  Models& models_;
  double speed_;
};

class WallClock final : public Executor {
 public:
  WallClock(Models& models, int workers, const WallClockOptions& options)
      : tasks_(static_cast<std::size_t>(workers)) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Workbench bench(models, i < options.speeds.size() ? options.speeds[i] : 1);
      threads_.emplace_back([this, i, bench] {
        while (auto task = tasks_[i].get()) arrivals_.put(bench.run(std::move(*task), clock_));
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
  void set_timer(Seconds time) override { wakes_.push(time); }
  /// Within one process nothing has to travel.
  void send(const GossipMessage& message, std::size_t /*bytes*/) override {
    Arrival arrival;
    arrival.message = message;
    arrivals_.put(std::move(arrival));
  }
  std::optional<Arrival> next() override {
    if (wakes_.empty()) return arrivals_.get();
    auto arrival = arrivals_.get_within(std::max(0.0, wakes_.top() - now()));
    if (!arrival) wakes_.pop();
    return arrival;
  }

 private:
  Stopwatch clock_;
  std::vector<Mailbox<Task>> tasks_;  // one a worker
  Mailbox<Arrival> arrivals_;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> wakes_;
  std::vector<std::thread> threads_;
};

/// With one worker there is nobody to talk to meanwhile: it works on the scheduler's own thread,
/// which saves waking two threads in turns for every step.
class SingleWorker final : public Executor {
 public:
  SingleWorker(Models& models, const WallClockOptions& options)
      : bench_(models, options.speeds.empty() ? 1 : options.speeds.front()) {}

  Seconds now() const override { return clock_.elapsed(); }
  void start(Task task) override { task_ = std::move(task); }
  std::optional<Arrival> next() override { return bench_.run(std::move(task_), clock_); }
  void set_timer(Seconds /*time*/) override {}  // there is nobody to wait for

 private:
  Stopwatch clock_;
  Workbench bench_;
  Task task_;
};

}  // namespace

std::unique_ptr<Executor> make_wall_clock(Models& models, int workers,
                                          const WallClockOptions& options) {
  if (workers == 1) return std::make_unique<SingleWorker>(models, options);
  return std::make_unique<WallClock>(models, workers, options);
}

}  // namespace evener
