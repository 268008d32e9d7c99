#include "evener/policy/rounds.h"

namespace evener {

Decisions Rounds::on(const Event& event) {
  decisions_.clear();
  dispatch(
      event,
      [&](const Joined& e) {  // works from the next round on
        workers_.join(e);
        rows_done_.resize(static_cast<std::size_t>(workers_.size()), 0);
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
        begin_round();
      },
      [&](const Finished& e) { finish_batch(e); },
      [&](const OutOfRows& e) { run_out_of_rows(e.worker); },
      [&](const EpochEnded&) {
        running_ = false;
        end_round();
      },
      Ignore<Suspected, InvalidPush, Delivered, Measured, Merged, TimerFired>{});
  return decisions_;
}

void Rounds::begin_round() {
  out_of_rows_ = false;
  steps_done_.assign(static_cast<std::size_t>(workers_.size()), 0);
  rows_done_.assign(static_cast<std::size_t>(workers_.size()), 0);
  const std::vector<int> workers = workers_.present();
  const std::vector<std::size_t> rows = parts(workers);
  update_rows_ = update_rows(workers.size());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (rows[i] > 0) assign(workers[i], rows[i]);
  }
}

void Rounds::assign(int worker, std::size_t rows) {
  Assign assign = workers_.assign(worker, rows, work_);
  assign.update_rows = update_rows_;
  decisions_.push_back(assign);
}

void Rounds::finish_batch(const Finished& event) {
  const auto worker = static_cast<std::size_t>(event.worker);
  workers_.at(event.worker).busy = false;
  rows_done_[worker] += event.rows;
  finished(event);
  const std::size_t more = out_of_rows_ ? 0 : again(++steps_done_[worker]);
  if (more > 0) {
    assign(event.worker, more);
  } else if (workers_.idle()) {
    next_round();
  }
}

void Rounds::run_out_of_rows(int worker) {
  workers_.at(worker).busy = false;
  out_of_rows_ = true;
  if (workers_.idle()) end_round();
}

void Rounds::next_round() {
  end_round();
  if (!out_of_rows_) begin_round();
}

/// The replica of a lost worker cannot be used; its rows are trained again.
void Rounds::end_round() {
  bool any = false;
  for (int i = 0; i < static_cast<int>(rows_done_.size()); ++i) {
    std::size_t& rows = rows_done_[static_cast<std::size_t>(i)];
    if (!workers_.at(i).present) rows = 0;
    any = any || rows > 0;
  }
  if (any) decisions_.push_back(end_of_round(rows_done_));
  rows_done_.assign(rows_done_.size(), 0);
}

StrategyOption step_option() {
  return word_option("step", {"part", "whole"},
                     "rows of a device's step: its part of the run's batch size (ours), or all of "
                     "it");
}

std::size_t step_rows(const PolicyConfig& config) {
  return config.values.is("step", "part") ? config.shared_batch() : config.own_batch();
}

std::size_t rows_of_update(const PolicyConfig& config, std::size_t workers) {
  return config.values.is("step", "part") ? config.update_rows(workers) : 0;
}

}  // namespace evener
