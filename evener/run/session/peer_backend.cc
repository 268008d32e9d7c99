// A run of which this process is one gossip peer.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/run/options/strategy_for.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/peer_work.h"
#include "evener/runtime/models.h"
#include "evener/runtime/replica_distance.h"

namespace evener {

namespace {

// Key in a checkpoint: rank, push-sum weight and distance of the peer that wrote it.
constexpr const char* kMemoryKey = "peer memory";

std::string reference_name(int rank, std::size_t optimizer_vectors) {
  return kept_name(static_cast<std::size_t>(rank), optimizer_vectors + 1);
}

/// Moves this peer's state out of a checkpoint. If another peer has written it (one peer may save
/// the run for all), only the optimizer's vectors are used. `text` is the checkpoint's kMemoryKey.
std::shared_ptr<const PeerReplicaState> peer_state_in(Checkpoint& start, const std::string& text,
                                                      int rank) {
  auto memory = std::make_shared<PeerReplicaState>();
  memory->optimizer = std::exchange(start.state, {});
  auto kept = std::exchange(start.kept, {});
  if (text.empty()) return memory;
  int owner = -1;
  std::istringstream(text) >> owner >> memory->weight >> memory->behind;
  if (owner != rank) {
    memory->weight = 1;
    memory->behind = 0;
    return memory;
  }
  memory->reference = std::move(kept[reference_name(rank, memory->optimizer.size())]);
  return memory;
}

/// Refuses options that need one process to see all batches, or one model to evaluate.
void refuse_what_peers_cannot(const TrainOptions& options) {
  for (const auto& [name, given] : {std::pair{"--early-stop", options.early_stop != "none"},
                                    {"--average", options.average > 0},
                                    {"--balance nnz", options.balance != "rows"},
                                    {"--emulate", !options.emulate.empty()}}) {
    if (given) throw UsageError(fmt::format("{}: not for gossiping peers", name));
  }
}

class PeerBackend : public Backend {
 public:
  explicit PeerBackend(PeerBackendOptions options) : options_(std::move(options)) {}

  RunKind kind() const override { return RunKind::peers; }
  bool keeps_run() const override { return options_.keeps_run; }

  std::vector<std::string> open(TrainOptions& options, const Checkpoint* resumed,
                                const BackendContext& context) override {
    options.strategy = strategy_for_peers(options);
    check_options(options);
    refuse_what_peers_cannot(options);
    resumed_ = resumed != nullptr;
    memory_text_.clear();
    if (resumed_) {
      const auto text = resumed->options.find(kMemoryKey);
      if (text != resumed->options.end()) memory_text_ = text->second;
    }
    options_.peers.interrupted = context.interrupted;
    options_.peers.main_steps = context.main_steps;
    options_.peers.say = context.say;
    node_ = {};
    node_.devices = options.devices == "auto" ? "cpu" : options.devices;
    node_.strategy = options_.device_strategy;
    node_.strategy_option = options_.device_strategy_option;
    node_.memory_limit = options.memory_limit;
    node_.opening = context.devices;
    check_devices(node_);
    return {};
  }

  void check(const TrainOptions& options, const TrainingData& data,
             const Network& /*network*/) override {
    if (options_.data_fingerprint && *options_.data_fingerprint != fingerprint_of(data)) {
      throw UsageError(
          fmt::format("{}: this is not the data that the other peers have", options.data));
    }
    const std::size_t peers = options_.peers.addresses.size();
    if (data.row_count() < peers) {
      throw UsageError(fmt::format("{}: {} for {} peers", options.data,
                                   counted(data.row_count(), "row"), peers));
    }
  }

  void start(const TrainOptions& options, const TrainingData& data, Checkpoint& start) override {
    strategy_ = parse_strategy(strategy_of(options));
    options_.peers.rule = strategy_.gossip();
    work_ = gossip_work(options, data, start, options_.peers.addresses.size());
    if (resumed_) work_.replica_state = peer_state_in(start, memory_text_, options_.peers.self);
    epochs_ = options.epochs;
    closed_ = std::min<std::uint64_t>(start.progress.epoch, whole_epochs());
    const Training training =
        training_of_worker(training_of(options), static_cast<std::size_t>(options_.peers.self));
    devices_ = open_node(node_, work_.batch, work_.network, training, data.train);
    replica_ = std::make_unique<PeerReplica>(std::move(devices_.replica), work_.network, data.train,
                                             peer_options(strategy_));
    if (options_.peers.main_steps) options_.peers.main_steps->set_name(devices_.names);
    finished_ = false;
    if (whole_epochs() < epochs_) {
      peer_ = make_gossip_peer(options_.peers, work_, *replica_);
      return;
    }
    // All steps were done when the checkpoint was written: no other peer is needed.
    replica_->start_from(work_.start);
    if (work_.replica_state) replica_->restore(*work_.replica_state);
    finished_ = true;
  }

  std::string description() const override {
    return fmt::format("peer {} of {} by {} on {}", options_.peers.self,
                       options_.peers.addresses.size(), strategy_.text(), devices_.names);
  }

  void join() override {
    if (peer_) peer_->join();
    rows_reported_ = rows_done();
  }

  bool run_epoch(bool /*measures_distance*/, const AfterStep& after_step) override {
    if (!finished_ && whole_epochs() <= closed_) train(after_step);
    const bool whole = whole_epochs() > closed_;
    if (whole && whole_epochs() >= epochs_) {
      finish();  // the last epoch ends when all peers have the same model
      if (peer_ && result().signal != 0) return false;
    }
    if (whole) measure_distance();
    return whole;
  }

  Position position() const override {
    const double epochs = epochs_done(work_, steps());
    const std::uint64_t rows = work_.rows.size();
    const auto step = std::accumulate(steps().begin(), steps().end(), std::uint64_t{0});
    const std::uint64_t whole = whole_epochs();
    if (whole > closed_) return {step, whole - 1, rows, 0};
    const auto next_row = static_cast<std::uint64_t>((epochs - static_cast<double>(whole)) *
                                                     static_cast<double>(rows));
    return {step, whole, std::min(next_row, rows), 0};
  }

  void close_epoch() override { closed_ = whole_epochs(); }
  double loss() const override { return peer_ ? result().loss : 0; }
  Seconds now() const override { return clock_.elapsed(); }
  BackendNews take_news(TrainOptions& /*options*/) override { return {}; }

  BackendReport report(double seconds) const override {
    BackendReport report;
    report.strategy = strategy_.text();
    report.timeline = peer_ ? &result().timeline : &no_timeline_;
    if (peer_) report.workers = workers(seconds);
    report.knows_all_workers = false;
    if (peer_) {
      report.communication = {result().sent + result().received, result().exchanges};
    }
    report.exchanges_name = exchanges_name(strategy_.strategy->sharing);
    report.replica_distance = distance_;
    return report;
  }

  void evaluate(const std::function<void(Replica&)>& use) override { use(replica_->device()); }
  FloatBuffer take_parameters() override { return replica_->device().take(0); }
  void give_parameters(FloatBuffer parameters) override {
    replica_->device().give(0, std::move(parameters));
  }

  void take_state(Checkpoint& checkpoint) override {
    PeerReplicaState memory = replica_->state();
    if (finished_ && !(peer_ && result().signal != 0)) {  // all peers have the same model now
      memory.reference = {};
      memory.behind = 0;
      memory.weight = 1;
    }
    const int rank = options_.peers.self;
    checkpoint.options[kMemoryKey] = fmt::format("{} {} {}", rank, memory.weight, memory.behind);
    checkpoint.state = std::move(memory.optimizer);
    checkpoint.kept.clear();
    if (memory.reference.size() > 0) {
      checkpoint.kept[reference_name(rank, checkpoint.state.size())] = std::move(memory.reference);
    }
    checkpoint.progress.worker_steps = steps();
    checkpoint.model.parameters = take_parameters();
  }

  void give_state(Checkpoint& checkpoint) override {
    give_parameters(std::move(checkpoint.model.parameters));
    checkpoint.state.clear();  // the peer has its own copy
  }

  void finish() override {
    if (std::exchange(finished_, true)) return;
    peer_->finish();
    replica_->device().load(0, std::as_const(result().model).span());
  }

  BackendSummary summary() const override {
    if (!peer_) return {};
    const GossipResult& gossip = result();
    const auto share =
        static_cast<double>(gossip.sent) / std::max(1.0, static_cast<double>(gossip.whole));
    const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    BackendSummary summary;
    summary.notes.push_back(fmt::format(
        "{}, {} declined, {} refused; {:.1f} MB sent ({:.0f} % of whole models), {:.1f} MB "
        "received; the mean of {}",
        counted(gossip.exchanges, "exchange"), counted(gossip.declined, "offer"), gossip.refused,
        static_cast<double>(gossip.sent) / 1e6, 100 * share,
        static_cast<double>(gossip.received) / 1e6,
        counted(static_cast<std::uint64_t>(gossip.models), "model")));
    summary.fields = {{"exchanges", count(gossip.exchanges)},
                      {"bytes", count(gossip.sent + gossip.received)},
                      {"bytes_sent", count(gossip.sent)},
                      {"bytes_sent_of_whole_models", count(gossip.whole)}};
    return summary;
  }

  void close(const std::string& error) override {
    if (peer_ && !error.empty() && !finished_) peer_->leave(error);
    peer_.reset();
    replica_.reset();
    devices_ = {};
  }

 private:
  const GossipResult& result() const { return peer_->result(); }
  /// Steps by each peer.
  const std::vector<std::uint64_t>& steps() const { return peer_ ? result().steps : work_.steps; }
  /// Steps of the run by all peers.
  std::uint64_t whole_epochs() const {
    return std::min<std::uint64_t>(epochs_,
                                   static_cast<std::uint64_t>(epochs_done(work_, steps())));
  }
  std::uint64_t rows_done() const {
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < steps().size(); ++i) {
      rows += rows_trained(work_, i, steps().size(), steps()[i]);
    }
    return rows;
  }

  /// Trains to the end of the epoch of all peers, or until the driver pauses.
  void train(const AfterStep& after_step) {
    peer_->train([&] {
      StepReport step;
      step.worker = options_.peers.self;
      const std::uint64_t rows = rows_done();
      step.rows = rows - std::exchange(rows_reported_, rows);
      step.loss = result().loss;
      step.learning_rate = learning_rate_at(work_.schedule, epochs_done(work_, steps()));
      return after_step(step) && whole_epochs() <= closed_;
    });
  }

  /// This peer's own measurements, and the steps of the others.
  std::vector<WorkerResult> workers(Seconds seconds) const {
    std::vector<WorkerResult> workers = worker_results(result().timeline, seconds);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      WorkerResult& worker = workers[i];
      const bool is_self = static_cast<int>(i) == options_.peers.self;
      worker.tasks = worker.updates = steps()[i];
      worker.rows = rows_trained(work_, i, workers.size(), steps()[i]);
      worker.batch = work_.batch;
      worker.lost = i < result().lost.size() && result().lost[i];
      worker.joined = is_self || worker.updates > 0 || worker.lost;
      if (!is_self) worker.staleness_counts = {};
    }
    return workers;
  }

  /// The distance by the exchanges since the last call; without any, the last value.
  void measure_distance() {
    if (!peer_) return;
    const std::uint64_t met = result().measured - std::exchange(met_, result().measured);
    const double apart =
        result().squared_distance - std::exchange(apart_, result().squared_distance);
    if (met == 0) return;
    distance_ = distance_by_pairs(apart / static_cast<double>(met), steps().size());
  }

  PeerBackendOptions options_;
  NodeContext node_;
  bool resumed_ = false;
  std::string memory_text_;  // value of kMemoryKey in the checkpoint
  StrategyChoice strategy_{};
  GossipWork work_;
  std::uint64_t epochs_ = 0;  // of the run
  std::uint64_t closed_ = 0;  // epochs that the driver has closed
  bool finished_ = false;     // the other peers are no longer needed
  NodeDevices devices_;
  std::unique_ptr<PeerReplica> replica_;
  std::unique_ptr<GossipPeer> peer_;  // null: all steps were done before
  Timeline no_timeline_{{}};
  std::uint64_t rows_reported_ = 0;
  std::uint64_t met_ = 0;  // exchanges, and the sum of squared distances, when last measured
  double apart_ = 0;
  std::optional<double> distance_;
  Stopwatch clock_;
};

}  // namespace

std::unique_ptr<Backend> make_peer_backend(PeerBackendOptions options) {
  return std::make_unique<PeerBackend>(std::move(options));
}

}  // namespace evener
