#include "evener/run/session/peer_session.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "evener/core/counted.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/run/artifacts/run_directory.h"
#include "evener/run/options/config.h"
#include "evener/run/options/recipe.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/fresh.h"
#include "evener/run/session/peer_checkpoints.h"
#include "evener/run/session/peer_report.h"
#include "evener/run/session/resume.h"
#include "evener/run/session/start.h"
#include "evener/run/session/trainer.h"

namespace evener {

namespace {

std::string strategy_for_peers(const TrainOptions& options) {
  if (options.strategy == "auto") return automatic_strategy(AutoFor::peers);
  const StrategyChoice choice = parse_strategy(options.strategy);
  if (choice.strategy->sharing == Sharing::peers) return options.strategy;
  throw UsageError(fmt::format("--strategy {}: peers without a coordinator have {}",
                               choice.strategy->name,
                               fmt::join(names_of(Sharing::peers), " and ")));
}

/// Nothing where another process keeps it.
std::optional<RunDirectory> directory_of(const TrainOptions& options, const RunContext& context) {
  if (!context.keeps_run) return std::nullopt;
  if (!options.resume.empty()) {
    return std::optional<RunDirectory>(std::in_place, options.resume, RunDirectory::Open::resume);
  }
  const std::string path = options.output.empty()
                               ? make_free_directory(default_directory(options.data))
                               : options.output;
  return std::optional<RunDirectory>(std::in_place, path, RunDirectory::Open::fresh);
}

TrainResult complete_run(const TrainOptions& options, const Progress& progress) {
  TrainResult result;
  result.was_complete = true;
  result.directory = options.resume;
  result.ended = "epochs";
  result.progress = progress;
  result.strategy = options.strategy;
  if (progress.best_epoch > 0) result.best_by = deciding_metric(options);
  return result;
}

/// What takes all peers to be of one mind, or the batches of one process.
void refuse_what_peers_cannot(const TrainOptions& options) {
  for (const auto& [name, given] : {std::pair{"--early-stop", options.early_stop != "none"},
                                    {"--average", options.average > 0},
                                    {"--balance nnz", options.balance != "rows"}}) {
    if (given) throw UsageError(fmt::format("{}: not for gossiping peers", name));
  }
}

/// What this one has seen of itself, and knows of the others.
std::vector<WorkerResult> peers_in(const GossipResult& gossip, const GossipWork& work, int rank,
                                   Seconds seconds) {
  std::vector<WorkerResult> workers = worker_results(gossip.timeline, seconds);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    WorkerResult& worker = workers[i];
    worker.tasks = worker.updates = gossip.steps[i];
    worker.rows = rows_trained(work, i, workers.size(), gossip.steps[i]);
    worker.batch = work.batch;
    worker.lost = gossip.lost[i];
    worker.came = static_cast<int>(i) == rank || worker.updates > 0 || worker.lost;
    if (static_cast<int>(i) != rank) worker.staleness_counts = {};
  }
  return workers;
}

GossipWork work_of(const TrainOptions& options, const TrainingData& data, const Checkpoint& start,
                   std::size_t peers) {
  GossipWork work;
  work.network = start.model.network;
  work.data = fingerprint_of(data);
  work.rows = data.rows;
  if (work.rows.empty()) {
    for (std::uint32_t row = 0; row < data.train.rows(); ++row) work.rows.push_back(row);
  }
  PolicyConfig config;
  config.workers = static_cast<int>(peers);
  config.batch = options.global_batch_size;
  config.batch_per_device = options.batch_size_per_device;
  work.batch = config.shared_batch();
  // Devices, evaluations and checkpoints are each peer's own.
  const TrainOptions elsewhere = with_absolute_paths(options);
  const auto own = {"cache", "cache-dir", "read-threads"};
  for (const auto& info : train_option_table()) {
    const bool shared =
        info.group == "Network" || info.group == "Optimizer" || info.group == "Training";
    if (shared && info.of_run) work.options[info.name] = info.get(options);
    const bool is_own = std::find(own.begin(), own.end(), info.name) != own.end();
    if (info.group == "Data" && !is_own) work.data_options[info.name] = info.get(elsewhere);
  }
  work.options["strategy"] = parse_strategy(strategy_of(options)).text();
  work.epochs = static_cast<double>(options.epochs);
  work.steps = steps_in(start, work, peers);
  work.schedule = schedule_of(options);
  work.seed = options.seed;
  const FloatBuffer& parameters = start.model.parameters;
  work.start.assign(parameters.data(), parameters.data() + parameters.size());
  return work;
}

}  // namespace

TrainResult train_peer(const TrainOptions& given, const RunContext& context) {
  TrainOptions options = given;
  GossipPeerOptions peers = *context.peers;
  Reporter reporter(context.reporter);
  const Warn warn = [&](const std::string& text) { reporter.warn(text); };
  const bool resumes = !options.resume.empty();
  options.strategy = strategy_for_peers(options);
  check_options(options);
  refuse_what_peers_cannot(options);
  if (!options.output.empty() && context.keeps_run) refuse_existing_run(options.output);
  NodeContext node;
  node.devices = options.devices == "auto" ? "cpu" : options.devices;
  node.strategy = context.device_strategy;
  node.strategy_option = context.device_strategy_option;
  node.memory_limit = options.memory_limit;
  node.opening = context.devices;
  node.opening.say = [&](const std::string& line) { reporter.say(line); };
  check_devices(node);
  const TrainingData data = open_training_data(options, context.cache_directory, warn);
  if (context.data_fingerprint && *context.data_fingerprint != fingerprint_of(data)) {
    throw UsageError(
        fmt::format("{}: this is not the data that the other peers have", options.data));
  }
  if (data.row_count() < peers.addresses.size()) {
    throw UsageError(fmt::format("{}: {} for {} peers", options.data,
                                 counted(data.row_count(), "row"), peers.addresses.size()));
  }
  std::optional<Checkpoint> start;
  if (resumes) {
    start = resumed_start(options, reporter);
    check_same_data(options, data, *start);
    if (start->progress.epoch >= options.epochs) return complete_run(options, start->progress);
  } else {
    options = with_recipe(options, data);
    start = fresh_start(options, data, reporter);
  }
  const double seconds_before = start->progress.seconds;
  const StrategyChoice strategy = parse_strategy(strategy_of(options));
  peers.rule = strategy.gossip();
  const std::optional<RunDirectory> directory = directory_of(options, context);
  const TrainOptions written = with_absolute_paths(options);
  start->options = option_texts(written);
  start->options[kRowsKey] = std::to_string(data.row_count());
  start->options[kClusterKey] = kPeersRun;
  if (directory) {
    const std::string config = config_text(written);
    write_atomically(directory->config(), std::as_bytes(std::span(config)));
    reporter.open(*directory);
  }

  const auto rank = static_cast<std::size_t>(peers.self);
  const Training training = training_of_worker(training_of(options), rank);
  GossipWork work = work_of(options, data, *start, peers.addresses.size());
  if (resumes) work.memory = peer_state_in(*start, peers.self);
  NodeDevices devices = open_node(node, work.batch, start->model.network, training, data.train);
  PeerReplica replica(std::move(devices.replica), start->model.network, data.train,
                      peer_options(strategy));
  peers.interrupted = context.interrupted;
  peers.say = [&](const std::string& line) { reporter.say(line); };
  PeerCheckpoints checkpoints(options, work, peers.self, *start, directory ? &*directory : nullptr);
  PeerReport report(options, data, work, replica, reporter, *start,
                    directory ? &*directory : nullptr);
  peers.progress = [&](double epochs, const GossipResult& so_far) {
    report.step(epochs, so_far);
    if (!checkpoints.due(epochs)) return;
    PeerReplicaState memory = replica.memory();
    replica.look([&](std::span<const float> model) {
      checkpoints.save(model, std::move(memory), so_far.steps);
    });
  };
  reporter.say(fmt::format(
      "peer {} of {} by {} on {} ({}, {}, {})", peers.self, peers.addresses.size(), strategy.text(),
      devices.names, counted(data.row_count(), "row"), counted(data.train.feature_count, "feature"),
      counted(data.train.label_count, "label")));
  if (context.training_begins) context.training_begins();
  GossipResult gossip = run_gossip_peer(peers, work, replica);

  TrainResult result;
  if (directory) result.directory = directory->path();
  result.ended = gossip.signal != 0 ? "signal" : "epochs";
  result.signal = gossip.signal;
  result.train_loss = gossip.loss;
  result.strategy = strategy.text();
  const std::uint64_t total =
      std::accumulate(gossip.steps.begin(), gossip.steps.end(), std::uint64_t{0});
  result.progress.epoch = gossip.signal == 0
                              ? options.epochs
                              : static_cast<std::uint64_t>(epochs_done(work, gossip.steps));
  result.progress.seconds = seconds_before + report.seconds();
  result.progress.step = total;
  result.samples_per_second = report.samples_per_second();
  replica.device().load(0, gossip.model.span());
  if (gossip.signal == 0) result.metrics = report.finish(gossip);
  PeerReplicaState memory = replica.memory();
  if (gossip.signal == 0) {  // all have the same model now
    memory.reference = {};
    memory.behind = 0;
    memory.weight = 1;
  }
  checkpoints.save(std::as_const(gossip.model).span(), std::move(memory), gossip.steps);
  start->model.parameters = std::move(gossip.model);
  if (directory) save_model(start->model, directory->last_model());
  result.metrics_epoch = options.epochs;
  const Progress& progress = start->progress;
  result.progress.best_metric = progress.best_metric;
  result.progress.best_epoch = progress.best_epoch;
  if (progress.best_epoch > 0) result.best_by = deciding_metric(options);
  result.replica_distance = report.distance();
  const auto share =
      static_cast<double>(gossip.sent) / std::max(1.0, static_cast<double>(gossip.whole));
  result.notes.push_back(fmt::format(
      "{}, {} declined, {} refused; {:.1f} MB sent ({:.0f} % of whole models), {:.1f} MB "
      "received; the mean of {}",
      counted(gossip.exchanges, "exchange"), counted(gossip.declined, "offer"), gossip.refused,
      static_cast<double>(gossip.sent) / 1e6, 100 * share,
      static_cast<double>(gossip.received) / 1e6,
      counted(static_cast<std::uint64_t>(gossip.models), "model")));
  reporter.say(result.notes.back());
  result.workers = peers_in(gossip, work, peers.self, report.seconds());
  if (directory) {
    const std::string trace = gossip.timeline.trace_json();
    write_atomically(directory->trace(), std::as_bytes(std::span(trace)));
  }
  auto fields = metric_fields(result.metrics);
  fields.insert(fields.begin(), {"ended", result.ended});
  fields.emplace_back("exchanges", static_cast<std::int64_t>(gossip.exchanges));
  fields.emplace_back("bytes", static_cast<std::int64_t>(gossip.sent + gossip.received));
  fields.emplace_back("bytes_sent", static_cast<std::int64_t>(gossip.sent));
  fields.emplace_back("bytes_sent_of_whole_models", static_cast<std::int64_t>(gossip.whole));
  reporter.record({"end", total, report.seconds(), std::move(fields)});
  reporter.flush();
  return result;
}

}  // namespace evener
