// evener worker
#include "evener/cluster/worker.h"

#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "evener/app/cluster_options.h"
#include "evener/app/commands.h"
#include "evener/app/local_nodes.h"
#include "evener/app/signals.h"
#include "evener/run/cluster_job.h"
#include "evener/run/cluster_options.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener worker --coordinator 127.0.0.1:7070\n"
    "  evener worker --coordinator node1:7070 --tls certs --data /local/train.txt\n"
    "  evener worker --coordinator node1:7070 --devices cpu:2,opencl:1.0 --strategy sync\n"
    "  mpirun -n 4 evener worker --coordinator node1:7070 --tls certs\n\n"
    "What is trained and how is the coordinator's to say. A worker that loses its\n"
    "connection comes back by itself.";

struct Wish {
  ClusterWish cluster;
  std::string coordinator, data, devices = "cpu", memory_limit, emulate, strategy;
  int rank = -1;
  bool quiet = false;
};

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{}:{}", host.data(), getpid());
}

WorkerOptions worker_options(const Wish& wish, const Environment& environment) {
  WorkerOptions options;
  options.coordinator = wish.coordinator.empty() ? environment.placement.master : wish.coordinator;
  if (options.coordinator.empty()) {
    throw UsageError("--coordinator is missing: its HOST:PORT (or MASTER_ADDR and MASTER_PORT)");
  }
  check_address("--coordinator", options.coordinator);
  options.transport = make_grpc_transport(read_tls(wish.cluster.tls, "worker"));
  options.token = wish.cluster.token.empty() ? environment.token : wish.cluster.token;
  options.name = own_name();
  options.rank = wish.rank >= 0 ? wish.rank : environment.placement.rank;
  options.patience = wish.cluster.wait_seconds;
  if (!wish.emulate.empty()) {
    options.speed = parse_emulation("0=" + wish.emulate, {wish.devices}).front();
  }
  options.interrupted = caught_signal;
  if (!wish.quiet) {
    options.say = [](const std::string& text) {
      std::fprintf(stderr, "worker: %s\n", text.c_str());
    };
  }
  return options;
}

void run(const Wish& wish, Shell& shell) {
  end_with_parent();
  const Environment& environment = shell.environment;
  const WorkerOptions options = worker_options(wish, environment);
  NodeSurroundings surroundings;
  surroundings.data = wish.data;
  surroundings.devices = wish.devices == "cpu" ? environment.automatic_device : wish.devices;
  surroundings.strategy = wish.strategy;
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
  auto* command = app.add_subcommand("worker", "train for a coordinator");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  command
      ->add_option("--coordinator", wish->coordinator,
                   "where it listens [MASTER_ADDR and MASTER_PORT]")
      ->type_name("HOST:PORT");
  command->add_option("--data", wish->data, "this machine's copy of the training data [same path]")
      ->type_name("FILE");
  command->add_option("--devices", wish->devices, "one, or several that train together here [cpu]")
      ->type_name("LIST");
  command
      ->add_option("--strategy", wish->strategy,
                   "of several devices of this worker: evener strategies [auto]")
      ->type_name("NAME");
  command->add_option("--memory-limit", wish->memory_limit, "of the device's memory")
      ->type_name("MB");
  command->add_option("--emulate", wish->emulate, "a slower machine, as x0.25 of this one")
      ->type_name("xSHARE");
  command->add_option("--rank", wish->rank, "the place it would like to have [RANK]")
      ->type_name("N")
      ->check(CLI::Range(0, kMostPeers));
  command->add_flag("--quiet", wish->quiet, "say nothing but errors");
  add_security(*command, wish->cluster);
  add_patience(*command, wish->cluster, "a coordinator that is not there");
  command->callback([wish, &shell] { run(*wish, shell); });
}

}  // namespace evener
