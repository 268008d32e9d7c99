// evener worker
#include "evener/cluster/worker.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/local_nodes.h"
#include "evener/app/output.h"
#include "evener/app/peers.h"
#include "evener/app/signals.h"
#include "evener/app/whole_number.h"
#include "evener/cluster/peer_enquiry.h"
#include "evener/run/cluster_job.h"
#include "evener/run/cluster_options.h"
#include "evener/run/train.h"

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

struct Wish {
  ClusterWish cluster;
  PeerWish peer;  // its rank and strategy of devices are those of a coordinator's worker too
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

WorkerOptions worker_options(const Wish& wish, const Environment& environment) {
  WorkerOptions options;
  options.coordinator = wish.coordinator.empty() ? environment.placement.master : wish.coordinator;
  if (options.coordinator.empty()) {
    throw UsageError(
        "--coordinator is missing: where it listens, HOST:PORT (or MASTER_ADDR and MASTER_PORT); "
        "or --peers, to gossip");
  }
  check_address("--coordinator", options.coordinator);
  options.transport = make_grpc_transport(read_tls(wish.cluster.tls, "worker"));
  options.token = wish.cluster.token.empty() ? environment.token : wish.cluster.token;
  options.name = own_name();
  options.rank = wish.peer.rank >= 0 ? wish.peer.rank : environment.placement.rank;
  options.patience = wish.cluster.wait_seconds;
  if (!wish.emulate.empty()) {
    options.speed = parse_emulation("0=" + wish.emulate, {wish.devices}).front();
  }
  options.interrupted = caught_signal;
  if (!wish.quiet) options.say = say;
  return options;
}

/// What is trained, as this one goes about it.
TrainOptions options_of(const Job& job, const Wish& wish) {
  OptionTexts texts = job.options;
  if (!wish.data.empty()) texts["data"] = wish.data;
  if (!std::filesystem::exists(texts["data"])) {
    throw UsageError(texts["data"] + (wish.data.empty()
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
  texts["devices"] = wish.devices;
  texts["memory-limit"] = wish.memory_limit;
  texts["output"] = wish.output;
  texts["quiet"] = wish.quiet ? "true" : "false";
  return resolve_options(texts, "");
}

void join_peers(const Wish& wish, Shell& shell) {
  if (!wish.coordinator.empty()) throw UsageError("--coordinator and --peers: choose one");
  if (!wish.emulate.empty()) throw UsageError("--emulate: not with --peers");
  GossipPeerOptions peers = peers_of(wish.peer, wish.cluster, shell.environment);
  if (!wish.quiet) peers.say = say;
  end_on_signals("evener: interrupted before a peer has said what is trained\n");
  const Job job = ask_peers(peers);
  train_as_peer(options_of(job, wish), wish.peer, std::move(peers), job.data, shell);
}

void run(const Wish& wish, Shell& shell) {
  if (!wish.peer.peers.empty()) return join_peers(wish, shell);
  for (const auto& [name, given] :
       {std::pair{"--listen", !wish.peer.listen.empty()},
        {"--insecure", wish.peer.insecure},
        {"--evict", wish.cluster.heartbeats.evict != HeartbeatLimits().evict},
        {"-o", !wish.output.empty()}}) {
    if (given) throw UsageError(fmt::format("{} is for --peers", name));
  }
  end_with_parent();
  const Environment& environment = shell.environment;
  const WorkerOptions options = worker_options(wish, environment);
  NodeSurroundings surroundings;
  surroundings.data = wish.data;
  surroundings.devices = wish.devices == "cpu" ? environment.automatic_device : wish.devices;
  surroundings.strategy = wish.peer.device_strategy;
  surroundings.memory_limit = wish.memory_limit;
  surroundings.cache_directory = environment.cache_directory;
  surroundings.opening.cache_directory = environment.cache_directory;
  check_devices(surroundings);
  catch_signals("evener: leaving the run; once more ends at once\n");
  shell.exit_code = run_worker(options, [&](const Job& job, int place) {
    return make_node_work(job, place, surroundings, print_warning);
  });
}

}  // namespace

void add_worker(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("worker", "train for a coordinator, or with peers");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  wish->peer.device_strategy_option = "--strategy";
  command
      ->add_option("--coordinator", wish->coordinator,
                   "where it listens [MASTER_ADDR and MASTER_PORT]")
      ->type_name("HOST:PORT");
  add_peer_options(*command, wish->peer, wish->cluster,
                   "train as one of these gossiping processes, some of which are at it: they say "
                   "what is trained");
  command->add_option("--data", wish->data, "this machine's copy of the training data [same path]")
      ->type_name("FILE");
  command->add_option("--devices", wish->devices, "one, or several that train together here [cpu]")
      ->type_name("LIST");
  command
      ->add_option("--strategy", wish->peer.device_strategy,
                   "of several devices of this worker: evener strategies [auto]")
      ->type_name("NAME");
  command->add_option("--memory-limit", wish->memory_limit, "of the device's memory")
      ->type_name("MB");
  command->add_option("--emulate", wish->emulate, "a slower machine, as x0.25 of this one")
      ->type_name("xSHARE");
  command
      ->add_option("--rank", wish->peer.rank,
                   "the place it would like to have; of --peers: which of them it is [RANK]")
      ->type_name("N")
      ->check(whole_number(0, kMostPeers));
  command->add_option("-o,--output", wish->output, "of --peers: its run directory [one in runs/]")
      ->type_name("PATH");
  command->add_flag("--quiet", wish->quiet, "say nothing but errors");
  add_security(*command, wish->cluster);
  add_patience(*command, wish->cluster, "a coordinator or peers that are not there, or a place");
  command->callback([wish, &shell] { run(*wish, shell); });
}

}  // namespace evener
