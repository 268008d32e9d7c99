// Simulated workers without arithmetic: a formula gives their times. Runs a policy as the runtime
// does, and records what tests check.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "evener/core/random.h"
#include "evener/policy/catalogue.h"

namespace evener {

struct ToyWorker {
  WorkerTraits traits;
  double fixed = 0.001, per_row = 0.001;
  double jitter = 0;
  double lost_at = 0;     // 0: never
  double joins_at = 0;    // 0: from the start
  double rejoins_at = 0;  // after it was lost; 0: never
  double suspect_at = 0;  // for a tenth of a second; 0: never
  double spoils = 0;      // share of its pushes that are invalid
};

struct ToyTask {
  Assign assign;
  std::size_t rows = 0;
  double start = 0, end = 0;
};

class Toy {
 public:
  Toy(const std::string& strategy, std::vector<ToyWorker> workers, std::size_t batch = 64,
      std::uint64_t seed = 1)
      : choice_(parse_strategy(strategy)), workers_(std::move(workers)), random_(seed) {
    PolicyConfig config;
    config.workers = static_cast<int>(workers_.size());
    config.batch = batch;
    config.values = choice_.values;
    policy_ = choice_.strategy->make(config);
    updates.resize(workers_.size());
    busy_.resize(workers_.size());
    present_.resize(workers_.size());
    unmerged_.resize(workers_.size());
    suspected_.resize(workers_.size());
    died_waiting.resize(workers_.size());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].joins_at == 0) join(i);
    }
  }

  /// Trains one epoch of `rows` rows; false: all workers were lost, or it never ended.
  bool epoch(std::size_t rows) {
    left_ = rows;
    trained = 0;
    tell(EpochBegan{number_++, rows, now});
    for (int guard = 0; guard < 1'000'000; ++guard) {
      change();
      if (under_way_.empty()) break;
      if (fire_timer_first()) continue;
      const auto task =
          std::min_element(under_way_.begin(), under_way_.end(), [](auto& a, auto& b) {
            return a.end < b.end || (a.end == b.end && a.assign.worker < b.assign.worker);
          });
      const ToyTask done = *task;
      under_way_.erase(task);
      now = std::max(now, done.end);
      const auto worker = static_cast<std::size_t>(done.assign.worker);
      busy_[worker] = false;
      if (workers_[worker].lost_at > 0 && now >= workers_[worker].lost_at) {
        lose(worker, done.rows);
        continue;
      }
      if (random_.uniform() < workers_[worker].spoils) {
        left_ += done.rows;
        tell(InvalidPush{done.assign.worker, now});
        continue;
      }
      trained += done.rows;
      if (done.assign.work == Work::local || done.assign.work == Work::pushed) {
        unmerged_[worker] += done.rows;
      }
      updates[worker] += static_cast<std::size_t>(done.assign.parts);
      last_batch[done.assign.worker] = done.assign.rows;
      tasks.push_back(done);
      const double seconds = done.end - done.start;
      tell(Finished{done.assign.worker, done.rows, seconds, now, 0, seconds});
    }
    if (!under_way_.empty()) return false;
    tell(EpochEnded{});
    return left_ == 0;
  }

  const Policy& policy() const { return *policy_; }
  bool any_worker() const { return std::count(present_.begin(), present_.end(), true) > 0; }

  double now = 0;
  std::size_t trained = 0;                // in this epoch, less what was lost with replicas
  std::vector<std::size_t> updates;       // by worker, of the whole run
  std::map<int, std::size_t> last_batch;  // rows of a worker's last step
  std::vector<ToyTask> tasks;
  std::vector<Merge> merges;
  std::vector<ElasticAverage> elastic_averages;
  std::vector<Apply> applies;
  std::vector<ApplyPushes> apply_pushes_calls;
  std::size_t rejects = 0;
  std::vector<std::size_t> died_waiting;  // pushes that were lost with their worker
  std::function<void(const Decision&, Toy&)> on_decision;  // called for each decision
  double merge_seconds = 0;
  std::vector<std::string> notes;
  std::vector<double> norms;  // that Measure answers; empty: tiny ones

 private:
  void join(std::size_t i) {
    present_[i] = true;
    tell(Joined{static_cast<int>(i), workers_[i].traits});
  }
  /// Workers that join, are lost or suspected now, as far as they are not busy.
  void change() {
    const auto due = [&](double time) { return time > 0 && now >= time; };
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      ToyWorker& worker = workers_[i];
      if (present_[i] && !busy_[i] && due(worker.lost_at)) lose(i, 0);
      if (!present_[i] && due(worker.rejoins_at)) {
        worker.lost_at = worker.joins_at = worker.rejoins_at = 0;
        join(i);
      } else if (!present_[i] && due(worker.joins_at) && !due(worker.lost_at)) {
        join(i);
      }
      if (present_[i] && due(worker.suspect_at) && suspected_[i] == 0) suspect(i, true);
      if (present_[i] && due(worker.suspect_at + 0.1) && suspected_[i] == 1) suspect(i, false);
    }
  }
  void suspect(std::size_t i, bool suspect) {
    ++suspected_[i];
    tell(Suspected{static_cast<int>(i), suspect, now});
  }
  void lose(std::size_t i, std::size_t rows) {
    present_[i] = false;
    const std::size_t back = rows + unmerged_[i];
    trained -= unmerged_[i];
    if (unmerged_[i] > 0) ++died_waiting[i];
    unmerged_[i] = 0;
    left_ += back;
    tell(Lost{static_cast<int>(i), back, now});
  }

  /// Whether a timer fires before the next task ends.
  bool fire_timer_first() {
    if (timers_.empty()) return false;
    double next = under_way_.front().end;
    for (const auto& task : under_way_) next = std::min(next, task.end);
    if (timers_.top() >= next) return false;
    now = std::max(now, timers_.top());
    timers_.pop();
    tell(TimerFired{now});
    return true;
  }

  void tell(const Event& event) {
    events_.push(event);
    if (telling_) return;
    telling_ = true;
    while (!events_.empty()) {
      const Event next = events_.front();
      events_.pop();
      for (const auto& decision : policy_->on(next)) {
        if (on_decision) on_decision(decision, *this);
        act(decision);
      }
    }
    telling_ = false;
  }

  void act(const Decision& decision) {
    dispatch(
        decision, [&](const Assign& d) { start(d); },
        [&](const Measure&) {
          const std::vector<double> tiny(workers_.size(), 1e-9);
          tell(Measured{norms.empty() ? tiny : norms});
        },
        [&](const Note& d) { notes.push_back(d.text); },
        [&](const SetTimer& d) { timers_.push(d.at); },
        [&](const ApplyPushes& d) { apply_pushes(d); }, [&](const Reject& d) { reject(d.worker); },
        [&](const Merge& d) {
          merges.push_back(d);
          end_merge();
        },
        [&](const ElasticAverage& d) {
          elastic_averages.push_back(d);
          end_merge();
        },
        [&](const Apply& d) {
          applies.push_back(d);
          end_merge();
        },
        // Gossip nodes have their own tests; here their messages are lost.
        Ignore<Offer, Answer, Decline, CompleteExchange, Average>{});
  }

  void apply_pushes(const ApplyPushes& decision) {
    for (const int worker : decision.workers) {
      legal = legal && unmerged_[static_cast<std::size_t>(worker)] > 0;
      unmerged_[static_cast<std::size_t>(worker)] = 0;
    }
    apply_pushes_calls.push_back(decision);
  }

  void reject(int worker) {
    std::size_t& rows = unmerged_[static_cast<std::size_t>(worker)];
    legal = legal && rows > 0;
    left_ += rows;
    trained -= rows;
    rows = 0;
    ++rejects;
  }

  void end_merge() {
    all_idle_at_merges = all_idle_at_merges && under_way_.empty();
    for (auto& rows : unmerged_) rows = 0;
    now += merge_seconds;
    tell(Merged{now});
  }

  void start(const Assign& assign) {
    const auto worker = static_cast<std::size_t>(assign.worker);
    legal = legal && present_[worker] && !busy_[worker] && assign.rows > 0;
    const std::size_t rows = std::min(left_, assign.rows * static_cast<std::size_t>(assign.parts));
    if (rows == 0) {
      events_.push(OutOfRows{assign.worker});
      return;
    }
    left_ -= rows;
    busy_[worker] = true;
    const ToyWorker& model = workers_[worker];
    const double noise = 1 + model.jitter * (2 * random_.uniform() - 1);
    const double share = static_cast<double>(rows) / assign.parts;
    under_way_.push_back({assign, rows, now, now + noise * (model.fixed + model.per_row * share)});
  }

 public:
  bool legal = true;  // only present and idle workers were assigned a task
  bool all_idle_at_merges = true;

 private:
  StrategyChoice choice_;
  std::vector<ToyWorker> workers_;
  std::unique_ptr<Policy> policy_;
  Random random_;
  std::vector<char> busy_, present_;
  std::vector<int> suspected_;  // how often it was, or was trusted again
  std::vector<std::size_t> unmerged_;
  std::vector<ToyTask> under_way_;
  std::queue<Event> events_;
  std::priority_queue<double, std::vector<double>, std::greater<>> timers_;
  bool telling_ = false;
  std::size_t left_ = 0;
  std::uint64_t number_ = 0;
};

inline ToyWorker replica_worker(double per_row, double fixed = 0.001) {
  return {{"replica", false, 1, 0}, fixed, per_row};
}
inline ToyWorker cpu_worker(int threads, double per_row) {
  return {{"cpu", true, threads, 0}, 0.0001, per_row};
}

}  // namespace evener
