// evener profile
#include "evener/run/devices/profile.h"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands/commands.h"
#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/run/devices/cluster_file.h"
#include "evener/run/options/recipe.h"
#include "evener/run/session/data.h"
#include "evener/run/session/new_run.h"

namespace evener {

namespace {

struct ProfileArgs {
  std::string device;
  GivenOptions given;
};

std::string profile_text(const Profile& profile, const std::string& data) {
  return fmt::format("# {} on {}: within {:.0f} % of every step measured\n{}", profile.model.name,
                     data, 100 * profile.worst_error, cluster_device_text(profile.model));
}

/// The device as in a cluster file, and the error of the fitted model.
nlohmann::ordered_json profile_json(const Profile& profile, const TrainOptions& options) {
  nlohmann::ordered_json json{{"device", cluster_device_json(profile.model)},
                              {"data", options.data},
                              {"worst_error", profile.worst_error}};
  if (!options.output.empty()) json["written"] = options.output;
  return json;
}

void run_profile(const ProfileArgs& args, Shell& shell) {
  if (args.device == "auto") {
    throw UsageError("DEVICE 'auto': a profile is of one device; name it (see evener devices)");
  }
  TrainOptions options = resolve_options(args.given, Command::profile);
  DeviceContext context;
  context.cache_directory = shell.environment.cache.directory;
  const auto device = open_one_device("DEVICE", args.device, options.memory_limit, context);
  const TrainingData data = open_training_data(options, shell.environment.cache, print_warning);
  options = with_recipe(options, data.train, data.row_count());
  const Network network = network_of(options, data.train);
  const Profile profile = measure_device(*device, options, network,
                                         initial_parameters(network, options, data), data.train);
  if (!options.output.empty()) {
    const std::string text = profile_text(profile, options.data);
    write_atomically(options.output, std::as_bytes(std::span(text)));
  }
  if (options.json) return print(profile_json(profile, options).dump() + "\n");
  print(options.output.empty() ? profile_text(profile, options.data)
                               : fmt::format("written: {}\n", options.output));
}

}  // namespace

void add_profile(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("profile", "measure a device for evener simulate");
  command->footer("Examples:\n  evener profile cpu:1 data/ -o cluster.toml");
  auto args = std::make_shared<ProfileArgs>();
  command
      ->add_option("DEVICE", args->device,
                   "one device: cpu, cpu:T for T threads, opencl:P.D, opencl:P.D.S or cuda:N (see "
                   "evener devices)")
      ->required();
  add_table_options(*command, Command::profile, args->given);
  command->callback([args, &shell] { run_profile(*args, shell); });
}

}  // namespace evener
