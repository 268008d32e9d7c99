#include "evener/runtime/wall_clock.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/mailbox.h"
#include "evener/runtime/emulated_speed.h"

namespace evener {

namespace {

std::function<Seconds()> clock_of(const Supervision& supervision) {
  if (supervision.clock) return supervision.clock;
  return [clock = Stopwatch()] { return clock.elapsed(); };
}

double speed_of(const WallClockOptions& options, std::size_t worker) {
  return worker < options.speeds.size() ? options.speeds[worker] : 1;
}

/// Runs a task and records its timing. A worker that throws has failed.
class TaskRunner {
 public:
  struct Callbacks {
    std::function<Seconds()> now;
    std::function<bool()> interrupted;                      // an emulated device stops sleeping
    std::function<bool()> given_up = [] { return false; };  // its result is not used
  };
  TaskRunner(Models& models, double speed, StepCounter& steps, Callbacks callbacks)
      : models_(models), speed_(speed), steps_(steps), callbacks_(std::move(callbacks)) {}

  Arrival run(Task task) const {
    Arrival arrival;
    arrival.task = std::move(task);
    try {
      work(arrival);
    } catch (const std::exception& problem) {
      arrival.failure = problem.what();
    }
    arrival.stats.end = callbacks_.now();
    return arrival;
  }

 private:
  void work(Arrival& arrival) const {
    TaskStats& stats = arrival.stats;
    stats.begin = callbacks_.now();
    models_.begin(arrival.task);
    if (arrival.task.work == Work::pushed) {
      const Models::Traffic traffic = models_.traffic(arrival.task);
      stats.bytes = traffic.in + traffic.out;
    }
    const Seconds copied = callbacks_.now();
    arrival.loss_sum = models_.compute(arrival.task);
    sleep_for_speed(callbacks_.now() - copied, speed_, [this] {
      steps_.advance();
      return !callbacks_.interrupted();
    });
    const Seconds computed = callbacks_.now();
    if (callbacks_.given_up()) return;
    models_.end(arrival.task);
    stats.compute = computed - copied;
    stats.transfer = callbacks_.now() - stats.begin - stats.compute;
  }

  Models& models_;
  double speed_;
  StepCounter& steps_;
  Callbacks callbacks_;
};

/// A task with rows of its own: those of the scheduler may be gone when a worker that hangs comes
/// back.
struct OwnTask {
  Task task;
  std::vector<std::uint32_t> rows;
};

OwnTask with_own_rows(const Task& task) {
  OwnTask own{task, {}};
  own.rows.reserve(task.rows() + (task.next ? task.next->slice.rows.size() : 0));
  const auto copy = [&](Part& part) {
    const std::size_t at = own.rows.size();
    own.rows.insert(own.rows.end(), part.slice.rows.begin(), part.slice.rows.end());
    part.slice.rows = {own.rows.data() + at, part.slice.rows.size()};
  };
  for (Part& part : own.task.parts) copy(part);
  if (own.task.next) copy(*own.task.next);
  return own;
}

struct WorkerThread {
  Mailbox<OwnTask> tasks;
  StepCounter steps;  // a step begins when a task is put into the mailbox
  std::atomic<bool> given_up{false};
};

/// From a worker or a peer to the scheduler.
struct ExecutorEvent {
  Arrival arrival;
  bool ended = false;  // the thread of worker `arrival.task.worker` has ended
};

/// What the executor and the threads of the workers share. Threads that hang keep it alive.
struct SharedQueues {
  SharedQueues(std::size_t count, const Supervision& supervision)
      : now(clock_of(supervision)), workers(count) {}

  std::function<Seconds()> now;
  std::vector<WorkerThread> workers;
  Mailbox<ExecutorEvent> events;
  std::atomic<bool> interrupted{false};
};

void run_tasks(SharedQueues& shared, int index, const TaskRunner& runner) {
  WorkerThread& worker = shared.workers[static_cast<std::size_t>(index)];
  while (auto own = worker.tasks.get()) {
    ExecutorEvent event{runner.run(std::move(own->task))};
    if (worker.given_up) return;
    worker.steps.end();
    shared.events.put(std::move(event));
  }
  ExecutorEvent event{{}, true};
  event.arrival.task.worker = index;
  shared.events.put(std::move(event));
}

class WallClock final : public Executor {
 public:
  WallClock(Models& models, int workers, const WallClockOptions& options)
      : supervision_(options.supervision),
        shared_(std::make_shared<SharedQueues>(static_cast<std::size_t>(workers), supervision_)),
        hangs_(supervision_.limits, shared_->workers.size()),
        under_way_(shared_->workers.size()) {
    try {
      for (std::size_t i = 0; i < under_way_.size(); ++i) start_thread(models, options, i);
    } catch (const std::system_error& problem) {  // a limit of the system
      const std::size_t started = threads_.size();
      end_idle_threads();
      throw Error(
          fmt::format("only {} of {} device threads could be started ({}): use fewer devices",
                      started, under_way_.size(), problem.code().message()));
    } catch (...) {
      end_idle_threads();
      throw;
    }
  }
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;
  ~WallClock() override { end_tasks(); }

  /// Tasks that hang are given up.
  bool end_tasks() override {
    for (auto& worker : shared_->workers) worker.tasks.close();
    std::vector<bool> ended(threads_.size());
    for (std::size_t i = 0; i < ended.size();) {
      if (ended[i] || shared_->workers[i].given_up) {
        ++i;
        continue;
      }
      const auto event = shared_->events.get_within(kLook);
      if (event && event->ended) ended[static_cast<std::size_t>(event->arrival.task.worker)] = true;
      look();
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (ended[i]) {
        threads_[i].join();
      } else {
        threads_[i].detach();
        hung_ = true;
      }
    }
    threads_.clear();
    return hung_;
  }

  Seconds now() const override { return shared_->now(); }
  void start(Task task) override {
    const auto index = static_cast<std::size_t>(task.worker);
    WorkerThread& worker = shared_->workers[index];
    worker.steps.begin();
    worker.tasks.put(with_own_rows(task));
    under_way_[index] = std::move(task);
  }
  void set_timer(Seconds time) override { timers_.push(time); }
  /// Within one process a message arrives at once.
  void send(const GossipMessage& message, std::size_t /*bytes*/) override {
    ExecutorEvent event;
    event.arrival.message = message;
    shared_->events.put(std::move(event));
  }
  std::optional<Arrival> next() override {
    for (;;) {
      look();
      if (!lost_.empty()) {
        Arrival arrival = std::move(lost_.front());
        lost_.pop();
        return arrival;
      }
      if (std::exchange(newly_interrupted_, false)) return std::nullopt;
      const Seconds until =
          timers_.empty() ? std::numeric_limits<Seconds>::infinity() : timers_.top();
      auto event = shared_->events.get_within(std::clamp(until - now(), 0.0, kLook));
      if (!event) {
        if (now() < until) continue;
        timers_.pop();
        return std::nullopt;
      }
      if (event->arrival.message) return std::move(event->arrival);
      auto& task = under_way_[static_cast<std::size_t>(event->arrival.task.worker)];
      if (!task) continue;  // it was given up just before it ended
      event->arrival.task = std::move(*std::exchange(task, std::nullopt));
      return std::move(event->arrival);
    }
  }
  bool interrupted() const override { return hangs_.interrupted(); }
  MainSteps* main_steps() override { return supervision_.main_steps.get(); }

 private:
  static constexpr Seconds kLook = 0.1;

  void start_thread(Models& models, const WallClockOptions& options, std::size_t i) {
    WorkerThread& worker = shared_->workers[i];
    const TaskRunner runner(
        models, speed_of(options, i), worker.steps,
        {shared_->now, [shared = shared_.get()] { return shared->interrupted.load(); },
         [&worker] { return worker.given_up.load(); }});
    threads_.emplace_back(
        [shared = shared_, i, runner] { run_tasks(*shared, static_cast<int>(i), runner); });
  }

  /// Threads that have no task do not hang.
  void end_idle_threads() {
    for (auto& worker : shared_->workers) worker.tasks.close();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  /// Looks for an interruption and for workers that hang, a few times a second.
  void look() {
    const Seconds now = this->now();
    if (looked_ && now - *looked_ < kLook) return;
    looked_ = now;
    const bool interrupted = supervision_.is_interrupted();
    shared_->interrupted = interrupted;
    newly_interrupted_ = newly_interrupted_ || (interrupted && !hangs_.interrupted());
    hangs_.advance(now, interrupted);
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      WorkerThread& worker = shared_->workers[i];
      if (worker.given_up) continue;
      std::string why = hangs_.look(i, worker.steps.value());
      if (!why.empty()) give_up(i, std::move(why));
    }
  }

  void give_up(std::size_t worker, std::string why) {
    shared_->workers[worker].given_up = true;
    if (!under_way_[worker]) return;
    Arrival arrival;
    arrival.task = std::move(*std::exchange(under_way_[worker], std::nullopt));
    arrival.failure = std::move(why);
    arrival.blameless = hangs_.interrupted();
    arrival.stats.begin = arrival.task.assigned;
    arrival.stats.end = now();
    lost_.push(std::move(arrival));
  }

  Supervision supervision_;
  std::shared_ptr<SharedQueues> shared_;
  HangDetector hangs_;
  std::optional<Seconds> looked_;
  bool newly_interrupted_ = false;
  bool hung_ = false;                           // a thread was left alone
  std::vector<std::optional<Task>> under_way_;  // by worker
  std::queue<Arrival> lost_;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> timers_;
  std::vector<std::thread> threads_;
};

/// A single worker runs on the scheduler's thread: there is nothing else to do meanwhile, and no
/// thread has to be woken for every step.
class SingleWorker final : public Executor {
 public:
  SingleWorker(Models& models, const WallClockOptions& options)
      : now_(clock_of(options.supervision)),
        steps_(options.supervision.main_steps ? options.supervision.main_steps
                                              : std::make_shared<MainSteps>()),
        runner_(models, speed_of(options, 0), *steps_, {now_, [supervision = options.supervision] {
                                                          return supervision.is_interrupted();
                                                        }}) {}

  Seconds now() const override { return now_(); }
  void start(Task task) override { task_ = std::move(task); }
  std::optional<Arrival> next() override {
    const MainSteps::Step step(steps_.get());
    return runner_.run(std::move(task_));
  }
  void set_timer(Seconds /*time*/) override {}  // no other worker that a policy could wait for

 private:
  std::function<Seconds()> now_;
  std::shared_ptr<MainSteps> steps_;
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
