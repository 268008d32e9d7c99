#include "evener/runtime/wall_clock.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace evener {

namespace {

/// A queue that many fill and one empties.
template <class T>
class Mailbox {
 public:
  void put(T message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    filled_.notify_one();
  }
  /// Nothing: closed.
  std::optional<T> get() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !messages_.empty(); });
    if (messages_.empty()) return std::nullopt;
    T message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  /// What is left in it is dropped.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      messages_.clear();
    }
    filled_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> messages_;
  bool closed_ = false;
};

class WallClock final : public Stage {
 public:
  WallClock(Models& models, int workers, const WallClockOptions& options)
      : models_(models), tasks_(static_cast<std::size_t>(workers)) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const double speed = i < options.speeds.size() ? options.speeds[i] : 1;
      threads_.emplace_back([this, i, speed] { work(tasks_[i], speed); });
    }
  }
  ~WallClock() override {
    for (auto& tasks : tasks_) tasks.close();
    for (auto& thread : threads_) thread.join();
  }

  Seconds now() const override { return clock_.elapsed(); }
  void start(Task task) override {
    tasks_[static_cast<std::size_t>(task.worker)].put(std::move(task));
  }
  Arrival next() override { return std::move(*arrivals_.get()); }

 private:
  void work(Mailbox<Task>& tasks, double speed) {
    while (auto task = tasks.get()) {
      Arrival arrival;
      arrival.task = std::move(*task);
      try {
        run(arrival, speed);
      } catch (const std::exception& problem) {
        arrival.failure = problem.what();
      }
      arrival.spent.end = now();
      arrivals_.put(std::move(arrival));
    }
  }

  void run(Arrival& arrival, double speed) {
    Spent& spent = arrival.spent;
    spent.begin = now();
    models_.begin(arrival.task);
    const Seconds copied = now();
    arrival.loss_sum = models_.compute(arrival.task);
    Seconds computed = now();
    if (speed < 1) {  // emulated slowness: the rest of the time is slept
      const Seconds rest = (computed - copied) * (1 / speed - 1);
      std::this_thread::sleep_for(std::chrono::duration<double>(rest));
      computed = now();
    }
    models_.end(arrival.task);
    spent.compute = computed - copied;
    spent.transfer = now() - spent.begin - spent.compute;
  }

  Models& models_;
  Stopwatch clock_;
  std::vector<Mailbox<Task>> tasks_;  // one a worker
  Mailbox<Arrival> arrivals_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Stage> make_wall_clock(Models& models, int workers,
                                       const WallClockOptions& options) {
  return std::make_unique<WallClock>(models, workers, options);
}

}  // namespace evener
