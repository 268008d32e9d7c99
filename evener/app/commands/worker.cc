// evener worker
#include "evener/cluster/parameter_server/worker.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/commands/peers.h"
#include "evener/app/options/cluster_environment.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/cluster/gossip/join_request.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/train.h"

namespace evener {

namespace {

constexpr const char* kWorkerExamples =
    "Examples:\n"
    "  evener worker --coordinator 127.0.0.1:7070\n"
    "  evener worker --coordinator node1:7070 --tls certs --data /local/train.txt\n"
    "  evener worker --coordinator node1:7070 --devices cpu:2,opencl:1.0 --strategy sync\n"
    "  mpirun -n 4 evener worker --coordinator node1:7070 --tls certs\n"
    "  evener worker --peers node1:7070,node2:7070,node3:7070 --rank 2 --tls certs\n\n"
    "The coordinator, or the peers which train already, say what is trained and how. A\n"
    "worker that loses its connection connects again.";

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{}:{}", host.data(), getpid());
}

void say(const std::string& text) {
  print_message("worker: " + text);
}

WorkerOptions worker_options(const TrainOptions& asked, const Environment& environment) {
  const ClusterOptions& cluster = asked.cluster;
  WorkerOptions options;
  options.coordinator = coordinator_address(cluster, environment, "; or --peers, to gossip");
  options.transport = make_grpc_transport(read_tls(cluster.tls, "worker"));
  options.token = token_of(cluster, environment);
  options.name = own_name();
  options.rank = rank_of(cluster, environment);
  options.patience = cluster.wait_seconds;
  if (!asked.emulate.empty()) {
    options.speed = parse_emulation("0=" + asked.emulate, {asked.devices}).front();
  }
  options.interrupted = caught_signal;
  if (!asked.quiet) options.say = say;
  return options;
}

/// The strategy for this worker's devices.
DeviceStrategy strategy_inside(const TrainOptions& asked) {
  return {asked.strategy == "auto" ? "" : asked.strategy, "--strategy"};
}

/// The options of the run, with this worker's own data, devices and output.
TrainOptions options_of(const Job& job, const TrainOptions& asked) {
  OptionTexts texts = job.options;
  if (!asked.data.empty()) texts["data"] = asked.data;
  if (!std::filesystem::exists(texts["data"])) {
    throw UsageError(texts["data"] + (asked.data.empty()
                                          ? ": is where the other peers have the data, "
                                            "and not here: name a copy with --data"
                                          : ": there is no such file"));
  }
  std::string& test = texts["test"];
  if (std::filesystem::is_directory(texts["data"])) {
    test.clear();  // it has its own
  } else if (!test.empty() && !std::filesystem::exists(test)) {
    print_warning(test +
                  ": is where the other peers have the test data, and not here: this one "
                  "evaluates nothing");
    test.clear();
  }
  texts["devices"] = asked.devices == "auto" ? "cpu" : asked.devices;
  texts["memory-limit"] = asked.memory_limit;
  texts["output"] = asked.output;
  texts["quiet"] = asked.quiet ? "true" : "false";
  TrainOptions options = resolve_options({}, Command::train, texts);
  options.mode = Mode::train_peers;  // from now on it is a peer like the others
  return options;
}

void join_peers(const TrainOptions& asked, Shell& shell) {
  GossipPeerOptions peers = peers_of(asked.cluster, shell.environment);
  if (!asked.quiet) peers.say = say;
  end_on_signals("evener: interrupted before a peer sent the options of the run\n");
  const Job job = ask_peers(peers);
  train_as_peer(options_of(job, asked), asked.cluster, std::move(peers), strategy_inside(asked),
                job.data, shell);
}

void run_worker(const GivenOptions& given, Shell& shell) {
  const TrainOptions asked = read_options(given, Command::worker);
  warn_of_visible_token(given);
  if (asked.mode == Mode::worker_peers) return join_peers(asked, shell);
  end_with_parent();
  const Environment& environment = shell.environment;
  const WorkerOptions options = worker_options(asked, environment);
  NodeContext context;
  context.data = asked.data;
  context.devices = asked.devices == "auto" || asked.devices == "cpu" ? environment.automatic_device
                                                                      : asked.devices;
  context.strategy = strategy_inside(asked).name;
  context.memory_limit = asked.memory_limit;
  context.cache = environment.cache;
  context.opening.cache_directory = environment.cache.directory;
  check_devices(context);
  catch_signals("evener: leaving the run; once more ends at once\n");
  const SignalDeadline deadline;
  shell.exit_code = run_worker(options, [&](const Job& job, int place) {
    return make_node_work(job, place, context, print_warning);
  });
}

}  // namespace

void add_worker(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("worker", "train for a coordinator, or with peers");
  command->footer(kWorkerExamples);
  auto given = std::make_shared<GivenOptions>();
  add_table_options(*command, Command::worker, *given);
  command->callback([given, &shell] { run_worker(*given, shell); });
}

}  // namespace evener
