// evener train
#include "evener/run/train.h"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "evener/app/commands.h"
#include "evener/app/output.h"
#include "evener/app/signals.h"
#include "evener/run/evaluate.h"

namespace evener {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  evener train train.txt --test test.txt -o runs/first\n"
    "  evener train train.txt --validation-share 0.1 --early-stop p@1 --hidden 256\n"
    "  evener train --config recipe.toml --learning-rate 0.002 --seed 2\n"
    "  evener train --resume runs/first --epochs 20";

struct Given {
  OptionTexts texts;
  std::string config;
};

const char* value_name(const OptionInfo& info) {
  switch (info.kind) {
    case OptionKind::integer:
      return "N";
    case OptionKind::real:
      return "X";
    case OptionKind::path:
      return "PATH";
    case OptionKind::list:
      return "N,...";
    default:
      return "WORD";
  }
}

/// Meaning, unit, choices and default, for the help.
std::string description(const OptionInfo& info) {
  std::string text = info.help;
  if (!info.unit.empty()) text += " [" + info.unit + "]";
  if (info.kind == OptionKind::choice) text += "; one of " + info.range;
  const std::string value = info.get(TrainOptions{});
  if (value.empty()) return text;
  if (info.kind == OptionKind::flag) return text + (value == "true" ? " (on)" : " (off)");
  return text + " (" + value + ")";
}

void add_option(CLI::App& command, const OptionInfo& info, Given& given) {
  if (info.kind == OptionKind::flag) {
    command
        .add_flag_function(
            fmt::format("--{0},!--no-{0}", info.name),
            [&given, name = info.name](std::int64_t count) {
              given.texts[name] = count > 0 ? "true" : "false";
            },
            description(info))
        ->group(info.group);
    return;
  }
  const std::string name = info.positional          ? "DATA"
                           : info.shorthand.empty() ? "--" + info.name
                                                    : "-" + info.shorthand + ",--" + info.name;
  command
      .add_option_function<std::string>(
          name, [&given, key = info.name](const std::string& text) { given.texts[key] = text; },
          description(info))
      ->type_name(value_name(info))
      ->group(info.group);
}

nlohmann::ordered_json result_json(const TrainResult& result) {
  const Progress& progress = result.progress;
  nlohmann::ordered_json json{
      {"run", result.directory},         {"ended", result.ended},
      {"epochs", progress.epoch},        {"steps", progress.step},
      {"seconds", progress.seconds},     {"samples_per_second", result.samples_per_second},
      {"train_loss", result.train_loss}, {"metrics", result.metrics}};
  if (progress.best_epoch > 0) {
    json["best"] = {{"metric", result.best_by},
                    {"value", progress.best_metric},
                    {"epoch", progress.best_epoch}};
  }
  return json;
}

std::string how_it_ended(const TrainResult& result) {
  if (result.ended == "signal") return "interrupted";
  return result.ended == "early stop" ? "stopped early" : "finished";
}

std::string result_text(const TrainResult& result) {
  const Progress& progress = result.progress;
  std::string text = fmt::format("{:<10}{}\n{:<10}{} after {} epochs, {} steps, {}\n", "run",
                                 result.directory, "", how_it_ended(result), progress.epoch,
                                 progress.step, format_duration(progress.seconds));
  if (result.samples_per_second > 0) {
    text += fmt::format("{:<10}{:.0f} rows/s\n", "speed", result.samples_per_second);
  }
  if (progress.best_epoch > 0) {
    text += fmt::format("{:<10}{} {} after epoch {}\n", "best", metric_title(result.best_by),
                        metric_text(result.best_by, progress.best_metric), progress.best_epoch);
  }
  return text + metrics_table(result.metrics);
}

void run(const Given& given, Shell& shell) {
  const Environment& environment = shell.environment;
  const TrainOptions options = resolve_options(given.texts, given.config);
  RunContext context;
  context.cache_directory = environment.cache_directory;
  context.automatic_device = environment.automatic_device;
  context.reporter = {stderr, !options.quiet, environment.display};
  context.training_begins = catch_signals;
  context.interrupted = caught_signal;
  const TrainResult result = train(options, context);
  if (result.signal != 0) {
    std::fprintf(stderr, "evener: interrupted; go on with: evener train --resume %s\n",
                 result.directory.c_str());
  }
  shell.exit_code = result.signal == 0 ? 0 : 128 + result.signal;
  print(options.json ? result_json(result).dump() + "\n" : result_text(result));
}

}  // namespace

void add_train(CLI::App& app, Shell& shell) {
  auto* command = app.add_subcommand("train", "train a model");
  command->footer(kExamples);
  auto given = std::make_shared<Given>();
  for (const auto& info : train_option_table()) add_option(*command, info, *given);
  command
      ->add_option("--config", given->config,
                   "TOML file of options, named as here; the command line overrides it")
      ->type_name("FILE")
      ->group("Output");
  command->callback([given, &shell] { run(*given, shell); });
}

}  // namespace evener
