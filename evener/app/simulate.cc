// evener simulate
#include <memory>

#include "evener/app/commands.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"
#include "evener/run/cluster_file.h"
#include "evener/run/train.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener simulate docs/examples/cluster.toml train.txt --test test.txt\n"
    "  evener simulate cluster.toml data/ --strategy hogbatch --optimizer sgd\n\n"
    "The training is real, only the time is not: every second that is printed is one\n"
    "of the devices in the cluster file. `evener profile` measures such a device.";

constexpr const char* kOwnDevices = "a simulation has the devices of its cluster file";

struct Wish {
  std::string cluster;
  GivenOptions given;
};

void run(const Wish& wish, Shell& shell) {
  RunContext context;
  context.virtual_time = read_cluster(wish.cluster);
  const TrainOptions options = resolve_options(wish.given.texts, wish.given.config);
  context.virtual_time->seed = options.seed;
  train_and_print(options, context, "evener simulate " + wish.cluster + " --resume", shell);
}

}  // namespace

void add_simulate(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("simulate", "train in virtual time, on devices of a file");
  command->footer(kExamples);
  auto wish = std::make_shared<Wish>();
  command->add_option("CLUSTER", wish->cluster, "TOML file of devices")
      ->required()
      ->type_name("FILE");
  add_train_options(
      *command, wish->given,
      {{"devices", kOwnDevices}, {"emulate", kOwnDevices}, {"memory-limit", kOwnDevices}});
  command->callback([wish, &shell] { run(*wish, shell); });
}

}  // namespace evener
