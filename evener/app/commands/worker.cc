// evener worker
#include "evener/cluster/parameter_server/worker.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/local_nodes.h"
#include "evener/app/commands/peers.h"
#include "evener/app/options/cluster_options.h"
#include "evener/app/options/whole_number.h"
#include "evener/app/shell/output.h"
#include "evener/app/shell/signals.h"
#include "evener/cluster/gossip/join_request.h"
#include "evener/run/options/cluster_options.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/train.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener worker --coordinator 127.0.0.1:7070\n"
    "  evener worker --coordinator node1:7070 --tls certs --data /local/train.txt\n"
    "  evener worker --coordinator node1:7070 --devices cpu:2,opencl:1.0 --strategy sync\n"
    "  mpirun -n 4 evener worker --coordinator node1:7070 --tls certs\n"
    "  evener worker --peers node1:7070,node2:7070,node3:7070 --rank 2 --tls certs\n\n"
    "What is trained and how is the coordinator's to say, or that of peers which train\n"
    "already. A worker that loses its connection comes back by itself.";

struct Args {
  ClusterArgs cluster;
  PeerArgs peer;  // its rank and strategy of devices are those of a coordinator's worker too
  std::string coordinator, data, devices = "cpu", memory_limit, emulate, output;
  bool quiet = false;
};

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{}:{}", host.data(), getpid());
}

void say(const std::string& text) {
  tell("worker: " + text);
}

WorkerOptions worker_options(const Args& args, const Environment& environment) {
  WorkerOptions options;
  options.coordinator = args.coordinator.empty() ? environment.placement.master : args.coordinator;
  if (options.coordinator.empty()) {
    throw UsageError(
        "--coordinator is missing: where it listens, HOST:PORT (or MASTER_ADDR and MASTER_PORT); "
        "or --peers, to gossip");
  }
  check_address("--coordinator", options.coordinator);
  options.transport = make_grpc_transport(read_tls(args.cluster.tls, "worker"));
  options.token = args.cluster.token.empty() ? environment.token : args.cluster.token;
  options.name = own_name();
  options.rank = args.peer.rank >= 0 ? args.peer.rank : environment.placement.rank;
  options.patience = args.cluster.wait_seconds;
  if (!args.emulate.empty()) {
    options.speed = parse_emulation("0=" + args.emulate, {args.devices}).front();
  }
  options.interrupted = caught_signal;
  if (!args.quiet) options.say = say;
  return options;
}

/// What is trained, as this one goes about it.
TrainOptions options_of(const Job& job, const Args& args) {
  OptionTexts texts = job.options;
  if (!args.data.empty()) texts["data"] = args.data;
  if (!std::filesystem::exists(texts["data"])) {
    throw UsageError(texts["data"] + (args.data.empty()
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
  texts["devices"] = args.devices;
  texts["memory-limit"] = args.memory_limit;
  texts["output"] = args.output;
  texts["quiet"] = args.quiet ? "true" : "false";
  return resolve_options(texts, "");
}

void join_peers(const Args& args, Shell& shell) {
  if (!args.coordinator.empty()) throw UsageError("--coordinator and --peers: choose one");
  if (!args.emulate.empty()) throw UsageError("--emulate: not with --peers");
  GossipPeerOptions peers = peers_of(args.peer, args.cluster, shell.environment);
  if (!args.quiet) peers.say = say;
  end_on_signals("evener: interrupted before a peer has said what is trained\n");
  const Job job = ask_peers(peers);
  train_as_peer(options_of(job, args), args.peer, std::move(peers), job.data, shell);
}

void run(const Args& args, Shell& shell) {
  if (!args.peer.peers.empty()) return join_peers(args, shell);
  for (const auto& [name, given] :
       {std::pair{"--listen", !args.peer.listen.empty()},
        {"--insecure", args.peer.insecure},
        {"--evict", args.cluster.heartbeats.evict != HeartbeatLimits().evict},
        {"-o", !args.output.empty()}}) {
    if (given) throw UsageError(fmt::format("{} is for --peers", name));
  }
  end_with_parent();
  const Environment& environment = shell.environment;
  const WorkerOptions options = worker_options(args, environment);
  NodeContext context;
  context.data = args.data;
  context.devices = args.devices == "cpu" ? environment.automatic_device : args.devices;
  context.strategy = args.peer.device_strategy;
  context.memory_limit = args.memory_limit;
  context.cache_directory = environment.cache_directory;
  context.opening.cache_directory = environment.cache_directory;
  check_devices(context);
  catch_signals("evener: leaving the run; once more ends at once\n");
  shell.exit_code = run_worker(options, [&](const Job& job, int place) {
    return make_node_work(job, place, context, print_warning);
  });
}

}  // namespace

void add_worker(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("worker", "train for a coordinator, or with peers");
  command->footer(kExamples);
  auto args = std::make_shared<Args>();
  args->peer.device_strategy_option = "--strategy";
  command
      ->add_option("--coordinator", args->coordinator,
                   "where it listens [MASTER_ADDR and MASTER_PORT]")
      ->type_name("HOST:PORT");
  add_peer_options(*command, args->peer, args->cluster,
                   "train as one of these gossiping processes, some of which are at it: they say "
                   "what is trained");
  command->add_option("--data", args->data, "this machine's copy of the training data [same path]")
      ->type_name("FILE");
  command->add_option("--devices", args->devices, "one, or several that train together here [cpu]")
      ->type_name("LIST");
  command
      ->add_option("--strategy", args->peer.device_strategy,
                   "of several devices of this worker: evener strategies [auto]")
      ->type_name("NAME");
  command->add_option("--memory-limit", args->memory_limit, "of the device's memory")
      ->type_name("MB");
  command->add_option("--emulate", args->emulate, "a slower machine, as x0.25 of this one")
      ->type_name("xSHARE");
  command
      ->add_option("--rank", args->peer.rank,
                   "the slot it would like to have; of --peers: which of them it is [RANK]")
      ->type_name("N")
      ->check(whole_number(0, kMostPeers));
  command->add_option("-o,--output", args->output, "of --peers: its run directory [one in runs/]")
      ->type_name("PATH");
  command->add_flag("--quiet", args->quiet, "say nothing but errors");
  add_security(*command, args->cluster);
  add_patience(*command, args->cluster,
               "a coordinator or peers that are not there, or a free slot");
  command->callback([args, &shell] { run(*args, shell); });
}

}  // namespace evener
