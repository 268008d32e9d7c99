// Every order of messages and faults of small runs: the coordinator, the scheduler, the ledger of
// rows, the parameters and the policies are the real ones, the workers are simulated.
#include <cmath>
#include <cstdio>

#include "tests/cluster/parameter_server/explored_cluster.h"
#include "tests/runtime/fakes.h"
#include "tests/sanitized.h"
#include <gtest/gtest.h>

#include "evener/runtime/scheduler.h"

namespace evener {
namespace {

struct ExploredScenario {
  std::string strategy;
  int workers = 2, at_start = 2;
  std::size_t rows = 3;
  FaultLimits limits;
  int pauses = 0;  // how often the run may pause and continue
};

/// The coordinator's model. It checks that an update contains exactly the rows of the pushes that
/// the workers made for it, each with the share that the policy decided, and no row twice.
class CheckedModel final : public PushSharing {
 public:
  CheckedModel(ServedModel& model, std::size_t rows, std::size_t width, SimulatedWorkers& workers)
      : model_(model), applied_(rows), width_(width), workers_(workers) {}

  void apply_pushes(const ApplyPushes& decision) override {
    workers_.preempt();
    const std::vector<float> before = weights();
    model_.apply_pushes(decision);
    const std::vector<float> after = weights();
    const double step =
        decision.share * decision.damping / static_cast<double>(decision.workers.size());
    std::size_t moved = 0;
    for (std::size_t row = 0; row < applied_.size(); ++row) {
      const float change = after[row] - before[row];
      if (change == 0) continue;
      ++moved;
      if (std::abs(change - step) > 1e-6) throw Error(fmt::format("row {}: {}", row, change));
      if (std::exchange(applied_[row], 1) != 0) throw Error(fmt::format("row {}: twice", row));
    }
    if (moved < decision.workers.size()) throw Error("a push was applied that has no rows");
  }
  void reject(int worker) override {
    workers_.preempt();
    model_.reject(worker);
  }
  void lose(int worker) override { model_.lose(worker); }
  void resume() override { model_.resume(); }
  double compute(const Task& task) override { return model_.compute(task); }
  Evaluator evaluator() override { return model_.evaluator(); }
  FloatBuffer take(int vector) override { return model_.take(vector); }
  void give(int vector, FloatBuffer values) override { model_.give(vector, std::move(values)); }
  std::size_t bytes() const override { return model_.bytes(); }

  const std::vector<char>& applied() const { return applied_; }

 private:
  std::vector<float> weights() {
    std::vector<float> weights;
    const FloatBuffer& model = model_.host()->store().model();
    for (std::size_t row = 0; row < applied_.size(); ++row) {
      weights.push_back(model.data()[row * width_]);
    }
    return weights;
  }

  ServedModel& model_;
  std::vector<char> applied_;  // by row: an update contained it
  std::size_t width_;
  SimulatedWorkers& workers_;
};

/// The coordinator as an executor whose clock is counted, and where each wait is a choice.
class ExploringExecutor final : public Executor {
 public:
  ExploringExecutor(CoordinatorService& coordinator, SimulatedWorkers& workers, Choices& choices)
      : coordinator_(coordinator), workers_(workers), choices_(choices) {}

  Seconds now() const override { return now_; }
  void start(Task task) override {
    workers_.preempt();
    coordinator_.start(std::move(task));
    workers_.read();
  }
  std::optional<Arrival> next() override {
    for (;;) {
      workers_.read();
      auto arrival = coordinator_.next(0);
      if (arrival) {
        workers_.preempt();
        return arrival;
      }
      // As the coordinator does. The scheduler may find nothing: that is a timer to it.
      if (workers_.take_changed()) return std::nullopt;
      const auto events = workers_.events();
      const std::size_t timer = timers_.empty() ? 0 : 1;
      if (events.empty() && timer == 0) throw Error("nothing can end this wait");
      if (choices_.length() > 300) throw Error("the run does not end");
      const std::size_t choice = choices_.pick(events.size() + timer);
      if (choice == events.size()) {
        now_ = std::max(now_, *timers_.begin());
        timers_.erase(timers_.begin());
        return std::nullopt;
      }
      now_ += 1;
      events[choice]();
    }
  }
  void set_timer(Seconds time) override { timers_.insert(time); }
  bool is_present(int worker) const override { return coordinator_.is_present(worker); }
  std::optional<MembershipChange> take_change() override { return coordinator_.take_change(); }
  bool waits_for_workers() const override { return true; }

 private:
  CoordinatorService& coordinator_;
  SimulatedWorkers& workers_;
  Choices& choices_;
  Seconds now_ = 0;
  std::set<Seconds> timers_;
};

/// One run. Error where a rule is broken.
class ExploredRun {
 public:
  ExploredRun(const ExploredScenario& scenario, const Dataset& data, Choices& choices)
      : scenario_(scenario), data_(data), choices_(choices) {
    network_.features = data.feature_count;
    network_.labels = data.label_count;
    network_.hidden = {1};
  }

  void run() {
    const auto transport = std::make_shared<SimulatedTransport>();
    CoordinatorOptions options;
    options.transport = transport;
    options.least = scenario_.at_start;
    options.most = scenario_.workers;
    options.heartbeats = {1e6, 1e7, 1e7};
    CoordinatorService coordinator(options);
    const DataFingerprint print{data_.rows(), 1, 2, 3};
    coordinator.offer({{}, print, 1});
    std::deque<SimulatedWorker> simulated;
    for (int i = 0; i < scenario_.workers; ++i) simulated.emplace_back(i, network_, print);
    SimulatedWorkers workers(*transport, std::move(simulated), scenario_.limits, choices_);
    for (int i = 0; i < scenario_.at_start; ++i) workers.join(static_cast<std::size_t>(i));
    try {
      train(coordinator, workers);
    } catch (const std::exception&) {
      workers.end();
      throw;
    }
    workers.end();
  }

 private:
  void train(CoordinatorService& coordinator, SimulatedWorkers& workers) {
    FakeLog log;
    FakeDevice device("evaluation", log);
    ModelSetup setup;
    setup.network = network_;
    setup.training.optimizer = Optimizer::sgd;
    setup.data = &data_;
    setup.devices = {&device};
    const StrategyChoice strategy = parse_strategy(scenario_.strategy);
    const auto models = coordinator.make_models(setup, strategy);
    models->give(0, FloatBuffer(layout_of(network_).size));
    CheckedModel model(dynamic_cast<ServedModel&>(*models), data_.rows(),
                       layout_of(network_).layers.front().weight.stride, workers);
    PolicyConfig config;
    config.workers = scenario_.workers;
    config.batch = static_cast<std::size_t>(scenario_.workers);  // one row for each
    config.values = strategy.values;
    const auto policy = strategy.strategy->make(config);
    // Takes the workers that are present. Its end releases the model.
    const auto cluster_executor = coordinator.make_executor();
    ExploringExecutor executor(coordinator, workers, choices_);
    std::vector<std::string> names(static_cast<std::size_t>(scenario_.workers), "node");
    Timeline timeline(names);
    EpochPlan plan;
    plan.data = &data_;
    plan.schedule.learning_rate = 1;
    Scheduler scheduler(plan, *policy, model, executor, coordinator.slots(), timeline);
    Position position;
    bool whole = false;
    for (int pauses = scenario_.pauses; !whole;) {
      whole = scheduler.run_epoch(position, [&](const StepReport&) {
        return pauses == 0 || choices_.pick(2) == 0 || pauses-- == 0;
      });
      check(position, whole, model.applied());
    }
  }
  void check(const Position& position, bool whole, const std::vector<char>& applied) const {
    if (whole && position.next_row != data_.rows()) throw Error("the epoch ended early");
    const auto order = shuffled_rows(data_.rows(), 1, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if ((i < position.next_row) == (applied[order[i]] != 0)) continue;
      throw Error(fmt::format("row {} of {}, paused at {}: {}", i, order.size(), position.next_row,
                              applied[order[i]] != 0 ? "trained" : "not trained"));
    }
    if (position.loss_sum != static_cast<double>(position.next_row)) {
      throw Error(fmt::format("a loss of {} for {} rows", position.loss_sum, position.next_row));
    }
  }

  ExploredScenario scenario_;
  const Dataset& data_;
  Choices& choices_;
  Network network_;
};

class ExplorationTest : public testing::Test {
 protected:
  static void explore(const ExploredScenario& scenario) {
    CsrArrays x, y;
    for (std::uint32_t row = 0; row < scenario.rows; ++row) {
      x.indices.push_back(row);
      x.values.push_back(1);
      x.offsets.push_back(row + 1);
      y.indices.push_back(0);
      y.offsets.push_back(row + 1);
    }
    const auto rows = static_cast<std::uint32_t>(scenario.rows);
    const Dataset data = make_dataset(std::move(x), rows, std::move(y), 1);
    Choices choices;
    std::size_t runs = 0;
    do {
      ++runs;
      try {
        ExploredRun(scenario, data, choices).run();
      } catch (const std::exception& problem) {
        FAIL() << scenario.strategy << ", run " << runs << ": " << problem.what() << "\nchoices "
               << choices.text();
      }
    } while (choices.next());
    fmt::print("{}, {} workers, {} rows: {} runs\n", scenario.strategy, scenario.workers,
               scenario.rows, runs);
    std::fflush(stdout);
  }
};

// Sanitized builds explore a part: they are slower by an order of magnitude.
const std::vector<std::string> kExplored =
    kSanitized ? std::vector<std::string>{"bsp", "ssp:s=0"}
               : std::vector<std::string>{"bsp", "asp", "ssp:s=0", "dssp:s-low=0:s-high=1"};
constexpr std::size_t kExploredRows = kSanitized ? 2 : 3;
constexpr int kMostFaults = kSanitized ? 0 : 1;  // of scenarios with many orders

TEST_F(ExplorationTest, OneFault) {
  for (const auto& strategy : kExplored) {
    explore({.strategy = strategy, .rows = kExploredRows, .limits = {1, 0}});
  }
  // Its timers add choices.
  if (!kSanitized) explore({.strategy = "dasp", .rows = 2, .limits = {1, 0}});
}

TEST_F(ExplorationTest, AFaultBetweenTwoCallsOfTheScheduler) {
  explore({.strategy = "bsp", .rows = kExploredRows - 1, .limits = {1, 1}});
}

TEST_F(ExplorationTest, TwoCrashes) {
  explore({.strategy = "bsp", .workers = 1, .at_start = 1, .rows = 2, .limits = {2, 0, true}});
  if (!kSanitized) explore({.strategy = "bsp", .rows = 1, .limits = {2, 0, true}});
}

TEST_F(ExplorationTest, TheRunPausesAndContinues) {
  for (const auto& strategy : kExplored) {
    explore({.strategy = strategy, .rows = 2, .limits = {kMostFaults, 0}, .pauses = 1});
  }
}

TEST_F(ExplorationTest, AWorkerJoinsLater) {
  for (const auto& strategy : kExplored) {
    explore({.strategy = strategy, .at_start = 1, .rows = 3, .limits = {0, 1}, .pauses = 1});
  }
}

TEST_F(ExplorationTest, ThreeWorkers) {
  explore({.strategy = "bsp", .workers = 3, .at_start = 3, .rows = 2, .limits = {kMostFaults, 0}});
  explore({.strategy = "ssp:s=0", .workers = 3, .at_start = 3, .rows = 4, .limits = {0, 2}});
}

}  // namespace
}  // namespace evener
