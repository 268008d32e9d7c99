// evener train
#include "evener/run/train.h"

#include <memory>

#include "evener/app/commands.h"
#include "evener/app/train_options.h"
#include "evener/app/train_result.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20\n\n"
    "Ctrl-C (or SIGTERM) writes a checkpoint and ends the run; --resume goes on. A\n"
    "second one ends the run at once; what is left is the checkpoint before.";

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kExamples);
  auto given = std::make_shared<GivenOptions>();
  add_train_options(*command, *given);
  command->callback([given, &shell] {
    train_and_print(resolve_options(given->texts, given->config), {}, "evener train --resume",
                    shell);
  });
}

}  // namespace evener
