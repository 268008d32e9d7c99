// evener simulate
#include <memory>

#include "evener/app/commands/commands.h"
#include "evener/app/commands/train_result.h"
#include "evener/app/options/table_options.h"
#include "evener/run/devices/cluster_file.h"
#include "evener/run/session/backends.h"
#include "evener/run/session/train.h"

namespace evener {

namespace {

constexpr const char* kSimulateExamples =
    "Examples:\n"
    "  evener simulate docs/examples/cluster.toml train.txt --test test.txt\n"
    "  evener simulate cluster.toml data/ --strategy hogbatch --optimizer sgd\n\n"
    "The training is real, only the time is not: every second that is printed is one\n"
    "of the devices in the cluster file. `evener profile` measures such a device.";

struct SimulateArgs {
  std::string cluster;
  GivenOptions given;
};

void run_simulate(const SimulateArgs& args, Shell& shell) {
  const TrainOptions options = resolve_options(args.given, Command::simulate);
  VirtualTimeOptions cluster = read_cluster(args.cluster);
  cluster.seed = options.seed;
  const auto backend = make_virtual_backend(std::move(cluster));
  train_and_print(options, *backend, "evener simulate " + args.cluster + " --resume", shell);
}

}  // namespace

void add_simulate(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("simulate", "train in virtual time on simulated devices");
  command->footer(kSimulateExamples);
  auto args = std::make_shared<SimulateArgs>();
  command->add_option("CLUSTER", args->cluster, "TOML file of devices")
      ->required()
      ->type_name("FILE");
  add_table_options(*command, Command::simulate, args->given);
  command->callback([args, &shell] { run_simulate(*args, shell); });
}

}  // namespace evener
