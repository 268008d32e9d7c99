// The part that sync, elastic and sma share: rounds in which every worker does so many batches, and
// a decision between rounds. The fast wait for the slow: these are the baselines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evener/policy/worker_set.h"

namespace evener {

class Rounds : public Policy {
 public:
  Rounds(std::size_t steps, std::size_t rows, Work work)
      : steps_(steps), rows_(rows), work_(work) {}

  Decisions on(const Event& event) final {
    decisions_.clear();
    std::visit(Cases{[&](const Joined& e) {  // works from the next round on
                       workers_.join(e);
                       if (running_ && workers_.idle()) next_round();
                     },
                     [&](const Lost& e) {
                       workers_.lose(e.worker);
                       left(e.worker);
                       out_of_rows_ = false;  // its rows are back
                       if (running_ && workers_.idle()) next_round();
                     },
                     [&](const EpochBegan&) {
                       running_ = true;
                       begin();
                     },
                     [&](const Finished& e) { finish(e); },
                     [&](const OutOfRows& e) { run_out_of_rows(e.worker); },
                     [&](const EpochEnded&) {
                       running_ = false;
                       close();
                     },
                     [](const auto&) {}},
               event);
    return decisions_;
  }

 protected:
  /// What ends a round; `rows` that each worker trained in it, 0 for those that are gone.
  virtual Decision end_of_round(const std::vector<std::size_t>& rows) = 0;
  /// Rows of each of these workers' next batch; 0: none for it.
  virtual std::vector<std::size_t> parts(const std::vector<int>& workers) {
    return std::vector<std::size_t>(workers.size(), rows_);
  }
  /// Rows of one more batch in the same round, for a worker that has done so many; 0: none.
  virtual std::size_t again(std::size_t done) { return done < steps_ ? rows_ : 0; }
  virtual void finished(const Finished&) {}
  virtual void left(int /*worker*/) {}

  void note(std::string text) { decisions_.emplace_back(Note{std::move(text)}); }
  const std::string& name(int worker) const { return workers_.at(worker).traits.name; }

 private:
  void begin() {
    out_of_rows_ = false;
    steps_done_.assign(static_cast<std::size_t>(workers_.size()), 0);
    rows_done_.assign(static_cast<std::size_t>(workers_.size()), 0);
    const std::vector<int> workers = workers_.present();
    const std::vector<std::size_t> rows = parts(workers);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (rows[i] > 0) decisions_.push_back(workers_.assign(workers[i], rows[i], work_));
    }
  }

  void finish(const Finished& event) {
    const auto worker = static_cast<std::size_t>(event.worker);
    workers_.at(event.worker).busy = false;
    rows_done_[worker] += event.rows;
    finished(event);
    const std::size_t more = out_of_rows_ ? 0 : again(++steps_done_[worker]);
    if (more > 0) {
      decisions_.push_back(workers_.assign(event.worker, more, work_));
    } else if (workers_.idle()) {
      next_round();
    }
  }

  void run_out_of_rows(int worker) {
    workers_.at(worker).busy = false;
    out_of_rows_ = true;
    if (workers_.idle()) close();
  }

  void next_round() {
    close();
    if (!out_of_rows_) begin();
  }

  /// Of a worker that is gone nothing can be taken over any more; its rows are trained again.
  void close() {
    bool any = false;
    for (int i = 0; i < static_cast<int>(rows_done_.size()); ++i) {
      std::size_t& rows = rows_done_[static_cast<std::size_t>(i)];
      if (!workers_.at(i).present) rows = 0;
      any = any || rows > 0;
    }
    if (any) decisions_.push_back(end_of_round(rows_done_));
    rows_done_.assign(rows_done_.size(), 0);
  }

  std::size_t steps_, rows_;
  Work work_;
  WorkerSet workers_;
  bool running_ = false;
  bool out_of_rows_ = false;  // the epoch has no rows left
  std::vector<std::size_t> steps_done_, rows_done_;
  Decisions decisions_;
};

}  // namespace evener
