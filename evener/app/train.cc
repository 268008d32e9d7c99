// evener train
#include "evener/run/train.h"

#include <memory>

#include <fmt/format.h>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/local_nodes.h"
#include "evener/app/train_mpi.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"
#include "evener/app/whole_number.h"
#include "evener/run/cluster_options.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20\n"
    "  evener train train.txt --nodes 4 --strategy dasp\n"
    "  evener train train.txt --peers node1:7070,node2:7070 --rank 0 --tls certs\n"
    "  mpirun -n 4 evener train train.txt --transport mpi -o runs/ranks\n\n"
    "Ctrl-C (or SIGTERM) writes a checkpoint and ends the run; --resume goes on. A\n"
    "second one ends the run at once; what is left is the checkpoint before.";

struct Wish {
  GivenOptions given;
  int nodes = 0, servers = 0;
  std::vector<std::string> peers;
  int rank = -1;
  std::string listen, device_strategy, transport = "grpc";
  bool insecure = false;
  ClusterWish cluster;
};

/// One of several peers without a coordinator, each started like this with its own rank.
void train_as_peer(const TrainOptions& options, const Wish& wish, Shell& shell) {
  const Environment& environment = shell.environment;
  GossipPeerOptions peers;
  peers.addresses = wish.peers;
  for (const auto& address : peers.addresses) check_address("--peers", address);
  peers.self = wish.rank >= 0 ? wish.rank : environment.placement.rank;
  if (peers.self < 0) throw UsageError("--rank is missing: which of --peers this one is, from 0");
  if (peers.addresses.size() < 2) throw UsageError("--peers: name all of them, and at least two");
  if (peers.self >= static_cast<int>(peers.addresses.size())) {
    throw UsageError(fmt::format("--rank {}: there are {} --peers, counted from 0", peers.self,
                                 peers.addresses.size()));
  }
  peers.listen =
      wish.listen.empty() ? peers.addresses[static_cast<std::size_t>(peers.self)] : wish.listen;
  check_address("--listen", peers.listen);
  const Tls tls = read_tls(wish.cluster.tls, "server");
  check_listening(peers.listen, tls, wish.insecure);
  peers.transport = make_grpc_transport(tls);
  peers.token = wish.cluster.token.empty() ? environment.token : wish.cluster.token;
  peers.patience = wish.cluster.wait_seconds;
  const std::string again = fmt::format("evener train --peers {} --rank {} --resume",
                                        fmt::join(peers.addresses, ","), peers.self);
  RunContext context;
  context.peers = std::move(peers);
  context.device_strategy = wish.device_strategy;
  train_and_print(options, std::move(context), again, shell);
}

/// MPI's launcher says who takes part, and its library how they talk.
void check_free_for_mpi(const Wish& wish) {
  const std::pair<const char*, bool> others[] = {
      {"--peers", !wish.peers.empty()},        {"--nodes", wish.nodes > 0},
      {"--servers", wish.servers > 0},         {"--rank", wish.rank >= 0},
      {"--listen", !wish.listen.empty()},      {"--tls", !wish.cluster.tls.empty()},
      {"--token", !wish.cluster.token.empty()}};
  for (const auto& [name, given] : others) {
    if (!given) continue;
    throw UsageError(fmt::format(
        "{}: not with --transport mpi, whose launcher says who takes part and where", name));
  }
}

/// A coordinator with its workers and servers, all on this machine.
void train_on_nodes(TrainOptions options, int count, int servers, Shell& shell) {
  // A run that is resumed says where it was evaluated.
  if (options.devices != "auto" && (options.resume.empty() || options.devices != "cpu")) {
    throw UsageError("--devices: with --nodes each node is a share of this machine's cores");
  }
  const LocalCluster cluster{count, servers, node_speeds(options.emulate, count)};
  options.emulate.clear();
  RunContext context;
  context.nodes = start_local_cluster(cluster);
  const std::string again = fmt::format("evener train --nodes {}{} --resume", count,
                                        servers > 0 ? fmt::format(" --servers {}", servers) : "");
  train_and_print(options, std::move(context), again, shell);
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  add_train_options(*command, wish->given);
  command
      ->add_option("--nodes", wish->nodes,
                   "so many worker processes on this machine, as a cluster [0]")
      ->type_name("N")
      ->check(whole_number(0, kMostLocalNodes));
  command
      ->add_option("--servers", wish->servers,
                   "of --nodes: so many processes keep the model, a part each; 0: this one [0]")
      ->type_name("K")
      ->check(whole_number(0, kMostServers));
  command
      ->add_option("--peers", wish->peers,
                   "train as one of these gossiping processes, without a coordinator")
      ->delimiter(',')
      ->type_name("HOST:PORT,...");
  command->add_option("--rank", wish->rank, "of --peers: which of them this one is [RANK]")
      ->type_name("N")
      ->check(whole_number(0, kMostPeers));
  command->add_option("--listen", wish->listen, "of --peers: where it listens [its address]")
      ->type_name("HOST:PORT");
  command
      ->add_option(
          "--device-strategy", wish->device_strategy,
          "of --peers and ranks of MPI: how several --devices of one train together: evener "
          "strategies [auto]")
      ->type_name("NAME");
  command->add_flag("--insecure", wish->insecure,
                    "of --peers: listen beyond this machine without TLS");
  command
      ->add_option("--transport", wish->transport,
                   "mpi: train as one of the ranks that mpirun or srun has started; mpi:openmpi or "
                   "mpi:mpich where that does not say which [grpc]")
      ->type_name("NAME");
  add_security(*command, wish->cluster);
  add_patience(*command, wish->cluster, "the other --peers");
  command->callback([wish, &shell] {
    const std::string mpi = mpi_family_of(wish->transport, shell.environment);
    const auto resolved = [&] { return resolve_options(wish->given.texts, wish->given.config); };
    if (!mpi.empty()) {
      check_free_for_mpi(*wish);
      return train_by_mpi(mpi, resolved, wish->device_strategy, shell);
    }
    const TrainOptions options = resolved();
    if (wish->servers > 0 && wish->nodes == 0) throw UsageError("--servers is for --nodes");
    if (!wish->peers.empty()) {
      if (wish->nodes > 0) throw UsageError("--peers and --nodes: choose one");
      return train_as_peer(options, *wish, shell);
    }
    for (const auto& [name, given] :
         {std::pair{"--device-strategy", !wish->device_strategy.empty()},
          {"--rank", wish->rank >= 0},
          {"--listen", !wish->listen.empty()},
          {"--tls", !wish->cluster.tls.empty()},
          {"--token", !wish->cluster.token.empty()}}) {
      if (given) throw UsageError(fmt::format("{} is for --peers", name));
    }
    if (wish->nodes > 0) return train_on_nodes(options, wish->nodes, wish->servers, shell);
    train_and_print(options, {}, "evener train --resume", shell);
  });
}

}  // namespace evener
