// What a session tells while it trains and when it ends: lines, records, traces and status.
#include <algorithm>

#include <fmt/format.h>

#include "evener/core/file.h"
#include "evener/run/report/epoch_line.h"
#include "evener/run/report/status.h"
#include "evener/run/session/evaluate.h"
#include "evener/run/session/trainer.h"

namespace evener {

void Trainer::report_epoch(std::uint64_t epoch, bool evaluated) {
  const double rate = static_cast<double>(rows_done_) / std::max(step_seconds_, 1e-9);
  reporter_.say(text_of({epoch, options_.epochs, train_loss_, evaluated ? &metrics_ : nullptr,
                         !options_.test.empty(), rate, seconds()}));
  std::vector<Field> whole{{"epoch", static_cast<std::int64_t>(epoch)},
                           {"train_loss", train_loss_},
                           {"train_seconds", step_seconds_ - epoch_begin_seconds_},
                           {"samples_per_second", rate}};
  const Communication said = selector_->communication();
  if (said.bytes > 0) whole.emplace_back("bytes", static_cast<std::int64_t>(said.bytes));
  if (const auto name = exchanges_name(engine().strategy().strategy->sharing); !name.empty()) {
    whole.emplace_back(name, static_cast<std::int64_t>(said.exchanges));
  }
  if (const auto distance = engine().distance()) whole.emplace_back("replica_distance", *distance);
  reporter_.record({"epoch", position_.step, seconds(), std::move(whole)});
  if (evaluated) {
    auto fields = metric_fields(metrics_);
    fields.insert(fields.begin(), {"epoch", static_cast<std::int64_t>(epoch)});
    fields.emplace_back("eval_seconds", eval_seconds_);
    reporter_.record({"eval", position_.step, seconds(), std::move(fields)});
  }
  record_workers();
  reporter_.flush();
}

/// What each of several workers has done in this session so far.
void Trainer::record_workers() {
  const auto workers = worker_results(engine().timeline(), step_seconds_ - trial_seconds_);
  if (workers.size() < 2 || !selector_->decided()) return;
  const auto whole = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  for (const auto& worker : workers) {
    if (!worker.came) continue;
    reporter_.record({"worker",
                      position_.step,
                      seconds(),
                      {{"updates", whole(worker.updates)},
                       {"rows", whole(worker.rows)},
                       {"batch", whole(worker.batch)},
                       {"compute_share", worker.compute},
                       {"transfer_share", worker.transfer},
                       {"waiting_share", std::max(0.0, 1 - worker.compute - worker.transfer)},
                       {"mean_staleness", worker.staleness},
                       {"bytes", whole(worker.bytes)},
                       {"rejected", whole(worker.rejected)},
                       {"exchanges", whole(worker.exchanges)}},
                      worker.name});
  }
}

void Trainer::record_failure(const std::string& why) {
  reporter_.record({"end", position_.step, seconds(), {{"ended", "failed"}, {"why", why}}});
  reporter_.flush();
}

/// Who did what when, for Perfetto.
void Trainer::write_trace() {
  const std::string text = engine().timeline().trace_json();
  write_atomically(directory_.trace(), std::as_bytes(std::span(text)));
}

void Trainer::publish_status() {
  constexpr double kEvery = 0.2;
  if (!context_.nodes || clock_.elapsed() - last_status_ < kEvery) return;
  last_status_ = clock_.elapsed();
  context_.nodes->set_status(
      status_json(engine(), display_state(), step_seconds_, context_.nodes->ignored()));
}

ProgressState Trainer::display_state() const {
  ProgressState state;
  state.epoch = position_.epoch + 1;
  state.epochs = options_.epochs;
  state.epoch_share =
      static_cast<double>(position_.next_row) / static_cast<double>(data_.row_count());
  state.total_share = (static_cast<double>(position_.epoch) + state.epoch_share) /
                      static_cast<double>(options_.epochs);
  state.seconds = seconds();
  state.samples_per_second = static_cast<double>(rows_done_) / std::max(step_seconds_, 1e-9);
  state.loss = position_.loss_sum / std::max<double>(1, static_cast<double>(rows_trained_));
  state.metrics = metrics_line_;
  return state;
}

}  // namespace evener
