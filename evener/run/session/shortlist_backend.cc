// A run with the shortlist head on the cores of this machine: retrieval and the wide part are
// fitted when the session starts, then each epoch trains the network part.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/team.h"
#include "evener/retrieval/residual_network.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/shortlist_fit.h"

namespace evener {

namespace {

class ShortlistBackend : public Backend {
 public:
  RunKind kind() const override { return RunKind::local; }

  std::vector<std::string> open(TrainOptions& options, const Checkpoint* /*resumed*/,
                                const BackendContext& context) override {
    context_ = context;
    device_ = shortlist_device(options.devices, context.devices);
    options.devices = device_.name;
    options.strategy = "sequential";
    return device_.notes;
  }

  void check(const TrainOptions& options, const TrainingData& data,
             const Network& network) override {
    check_shortlist(options, data, network);
  }

  void start(const TrainOptions& options, const TrainingData& data, Checkpoint& start) override {
    const Progress& progress = start.progress;
    position_ = {progress.step, progress.epoch, progress.next_row, progress.train_loss_sum,
                 progress.training_seconds};
    network_ = start.model.network;
    options_ = options;
    data_ = data.rows.empty() ? data.train : select_rows(data.train, data.rows);
    kept_ = {};
    if (data.evaluation) {
      kept_.data = &*data.evaluation;
      kept_.rows.resize(data.evaluation->rows());
    }
    team_ = std::make_unique<Team>(device_.threads);
    timeline_ = std::make_unique<Timeline>(std::vector<std::string>{device_.name});
    timeline_->set_lost(0, false);
    clock_ = Stopwatch();
  }

  bool prepare(Checkpoint& start) override {
    const ShortlistFitContext fit{*team_, context_.say, [this] { return interrupted(); }};
    if (start.model.shortlist == nullptr) {
      auto fitted = fit_shortlist(data_, options_, fit);
      if (!fitted) return false;
      start.model.shortlist = std::move(fitted->head);
      list_ = std::move(fitted->list);
      notes_ = std::move(fitted->notes);
      initialise_residual(network_, options_.seed, start.model.parameters.span());
    } else {
      auto list = training_shortlist(data_, *start.model.shortlist, fit);
      if (!list) return false;
      list_ = std::move(*list);
    }
    head_ = start.model.shortlist;
    trainer_ =
        std::make_unique<ResidualTrainer>(network_, data_, list_, residual_options(options_));
    if (position_.step > 0) trainer_->load_squares(start.state.at(0).span());
    parameters_ = std::move(start.model.parameters);
    preparation_ = now();
    position_.seconds += preparation_;
    return true;
  }
  Seconds preparation_seconds() const override { return preparation_; }

  std::string description() const override {
    return fmt::format("training the shortlist head on {}, {:.0f} candidates a row", device_.name,
                       static_cast<double>(list_.pairs()) /
                           static_cast<double>(std::max<std::size_t>(1, list_.rows())));
  }

  bool run_epoch(bool /*measures_distance*/, const AfterStep& after_step) override {
    const auto order = trainer_->order_of(position_.epoch);
    while (position_.next_row < order.size()) {
      const Seconds begin = now();
      const ResidualStep done = step(order);
      position_.next_row += done.rows;
      position_.seconds += now() - begin;
      position_.loss_sum += done.loss;
      ++position_.step;
      if (!std::isfinite(done.loss)) {
        throw DivergedError(fmt::format("the loss is not finite at step {}", position_.step));
      }
      note_task(std::span(order).subspan(position_.next_row - done.rows, done.rows), begin);
      const StepReport report{0, done.rows, done.loss / static_cast<double>(done.rows),
                              done.learning_rate};
      const bool over = options_.seconds > 0 && position_.seconds >= options_.seconds;
      const bool goes_on = after_step(report) && !interrupted() && !over;
      if (position_.next_row < order.size() && !goes_on) return false;
    }
    return true;
  }

  Position position() const override { return position_; }
  void close_epoch() override {
    position_ = {position_.step, position_.epoch + 1, 0, 0, position_.seconds};
  }
  double loss() const override {
    return position_.loss_sum / std::max<double>(1, static_cast<double>(position_.next_row));
  }
  Seconds now() const override { return clock_.elapsed(); }
  BackendNews take_news(TrainOptions& /*options*/) override {
    BackendNews news;
    news.notes = std::exchange(notes_, {});
    return news;
  }
  BackendReport report(double seconds) const override {
    BackendReport report;
    report.strategy = "sequential";
    report.timeline = timeline_.get();
    report.workers = worker_results(*timeline_, seconds);
    return report;
  }

  void evaluate(const std::function<void(Replica&)>& use) override {
    const auto replica = make_shortlist_replica(network_, *head_, device_.threads, &kept_);
    replica->give(0, std::move(parameters_));
    use(*replica);
    parameters_ = replica->take(0);
  }
  FloatBuffer take_parameters() override { return std::move(parameters_); }
  void give_parameters(FloatBuffer parameters) override { parameters_ = std::move(parameters); }
  void take_state(Checkpoint& checkpoint) override {
    checkpoint.model.parameters = std::move(parameters_);
    trainer_->store_squares(checkpoint.state.at(0).span());
  }
  void give_state(Checkpoint& checkpoint) override {
    parameters_ = std::move(checkpoint.model.parameters);
  }

  void close(const std::string& /*error*/) override {
    trainer_.reset();
    head_.reset();
    list_ = {};
    kept_ = {};
    data_ = {};
    team_.reset();
  }

 private:
  bool interrupted() const { return context_.interrupted && context_.interrupted() != 0; }

  ResidualStep step(const std::vector<std::uint32_t>& order) {
    if (options_.ablates("network")) return {order.size() - position_.next_row, 0, 0};
    MainSteps::Step guard(context_.main_steps.get());
    return trainer_->step({position_.epoch, order, position_.next_row, time_left()},
                          parameters_.span(), *team_);
  }

  /// The share of the run that is left: of its time, or of its epochs.
  double time_left() const {
    if (options_.seconds > 0) return std::max(0.0, 1 - position_.seconds / options_.seconds);
    const auto rows = static_cast<double>(data_.rows());
    const double done =
        static_cast<double>(position_.epoch) * rows + static_cast<double>(position_.next_row);
    return std::max(0.0, 1 - done / (static_cast<double>(options_.epochs) * rows));
  }

  void note_task(std::span<const std::uint32_t> rows, Seconds begin) {
    Task task;
    task.parts.push_back({{rows, rows.size(), 0}, {position_.step, 0}});
    TaskStats stats;
    stats.begin = begin;
    stats.end = now();
    stats.compute = stats.end - begin;
    timeline_->add_task(task, stats, 0);
  }

  BackendContext context_;
  ShortlistDevice device_;
  Network network_;
  TrainOptions options_;
  std::unique_ptr<Team> team_;
  std::unique_ptr<Timeline> timeline_;
  Dataset data_;         // the training rows
  KeptCandidates kept_;  // of the evaluation rows
  Shortlist list_;
  std::shared_ptr<ShortlistHead> head_;
  std::unique_ptr<ResidualTrainer> trainer_;
  FloatBuffer parameters_;
  std::vector<std::string> notes_;
  Position position_;
  Stopwatch clock_;
  Seconds preparation_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_shortlist_backend() {
  return std::make_unique<ShortlistBackend>();
}

}  // namespace evener
