// evener profile
#include "evener/run/profile.h"

#include <memory>

#include <fmt/format.h>

#include "evener/app/commands.h"
#include "evener/app/output.h"
#include "evener/app/train_options.h"
#include "evener/core/error.h"
#include "evener/core/file.h"
#include "evener/run/cluster_file.h"
#include "evener/run/recipe.h"
#include "evener/run/train.h"

namespace evener {

namespace {

/// A profile is a few timed steps: there is nothing to go on with.
RefusedOptions refused_options() {
  RefusedOptions refused;
  for (const char* name : {"resume", "checkpoint-every", "checkpoint-minutes", "keep"}) {
    refused[name] = "a profile writes no checkpoints";
  }
  return refused;
}

struct Wish {
  std::string device;
  GivenOptions given;
};

void run(const Wish& wish, Shell& shell) {
  const auto device =
      make_device(wish.device, {.cache_directory = shell.environment.cache_directory});
  TrainOptions options = resolve_options(wish.given.texts, wish.given.config);
  const TrainingData data =
      open_training_data(options, shell.environment.cache_directory, print_warning);
  options = with_recipe(options, data);
  const Profile profile = measure_device(*device, options, data);
  const std::string text =
      fmt::format("# {} on {}: within {:.0f} % of every step measured\n{}", profile.model.name,
                  options.data, 100 * profile.worst_error, cluster_device_text(profile.model));
  if (options.output.empty()) return print(text);
  write_atomically(options.output, std::as_bytes(std::span(text)));
  print(fmt::format("written: {}\n", options.output));
}

}  // namespace

void add_profile(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("profile", "measure a device for evener simulate");
  command->footer("Example:\n  evener profile cpu:1 data/ -o cluster.toml");
  auto wish = std::make_shared<Wish>();
  command->add_option("DEVICE", wish->device, "as --devices names it")->required();
  add_train_options(*command, wish->given, refused_options());
  command->get_option("--output")->description("cluster file to write; empty: print it");
  command->callback([wish, &shell] { run(*wish, shell); });
}

}  // namespace evener
