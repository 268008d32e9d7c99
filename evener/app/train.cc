// evener train
#include "evener/run/train.h"

#include <memory>

#include "evener/app/commands.h"
#include "evener/app/signals.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20";

void run(const GivenOptions& given, Shell& shell) {
  const Environment& environment = shell.environment;
  const TrainOptions options = resolve_options(given.texts, given.config);
  RunContext context;
  context.cache_directory = environment.cache_directory;
  context.devices.automatic = environment.automatic_device;
  context.devices.cache_directory = environment.cache_directory;
  context.reporter = {stderr, !options.quiet, environment.display};
  context.training_begins = catch_signals;
  context.interrupted = caught_signal;
  const TrainResult result = train(options, context);
  if (result.signal != 0) {
    std::fprintf(stderr, "evener: interrupted; go on with: evener train --resume %s\n",
                 result.directory.c_str());
  }
  shell.exit_code = result.signal == 0 ? 0 : 128 + result.signal;
  print_result(result, options.json);
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kExamples);
  auto given = std::make_shared<GivenOptions>();
  add_train_options(*command, *given);
  command->callback([given, &shell] { run(*given, shell); });
}

}  // namespace evener
