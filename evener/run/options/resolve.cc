#include "evener/run/options/resolve.h"

#include <filesystem>

#include "evener/core/error.h"
#include "evener/data/data_folder.h"
#include "evener/run/options/applicable.h"
#include "evener/run/options/config.h"
#include "evener/run/options/head_choice.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

/// Options from the command line and the config file: texts, and the names that count as given.
struct Collected {
  OptionTexts texts;
  GivenNames names;
};

bool is_default(const OptionInfo& info, const std::string& text) {
  TrainOptions options;
  const std::string before = info.get(options);
  info.set(options, text);
  return info.get(options) == before;
}

/// Refuses options that no mode of the command has, before it parses any value.
Collected collect(const GivenOptions& given, Command command) {
  Collected all;
  const auto count = [&](const OptionInfo& info, const std::string& where) {
    const std::string why = why_not_in_command(info, command);
    if (!why.empty()) throw UsageError(where + "--" + info.name + why);
    all.names[info.name] = where;
  };
  if (!given.config.empty()) {
    for (const auto& line : read_config_lines(given.config)) {
      const OptionInfo& info = find_train_option(line.name);
      if (!is_default(info, line.text)) count(info, line.where);
      all.texts[info.name] = line.text;
    }
  }
  for (const auto& [name, text] : given.texts) {
    count(find_train_option(name), "");
    all.texts[name] = text;
  }
  return all;
}

void check_mode(const GivenNames& names, Mode mode) {
  for (const auto& [name, where] : names) {
    const std::string why = why_not_in_mode(find_train_option(name), mode);
    if (!why.empty()) throw UsageError(where + "--" + name + why);
  }
}

bool trains(Command command) {
  return !(modes_of(command) & kTrainingModes).empty();
}

/// `evener train FOLDER` trains on its train.* and evaluates on its test.*, if it has one.
void use_folder(TrainOptions& options) {
  const std::string folder = options.data;
  if (!fs::is_directory(folder)) return;
  options.data = data_file(folder, "train");
  if (options.data.empty()) throw UsageError(folder + ": is a folder without a train.* file");
  if (options.test.empty() && options.validation_share == 0) {
    options.test = data_file(folder, "test");
  }
}

/// Either of --epochs and --seconds replaces the other one of a resumed run.
void use_given_length(const OptionTexts& given, TrainOptions& options) {
  const auto names = [&](const char* name) { return given.count(name) > 0; };
  if (names("seconds") && options.seconds > 0 && !names("epochs")) options.epochs = 0;
  if (names("epochs") && options.epochs > 0 && !names("seconds")) options.seconds = 0;
}

}  // namespace

TrainOptions read_options(const GivenOptions& given, Command command) {
  const Collected all = collect(given, command);
  TrainOptions options;
  apply_option_texts(all.texts, options);
  options.mode = mode_of(command, options);
  check_mode(all.names, options.mode);
  if (!trains(command)) check_applicable(all.names, options, options.mode);
  return options;
}

TrainOptions resolve_options(const GivenOptions& given, Command command, const OptionTexts& base) {
  const Collected all = collect(given, command);
  TrainOptions options;
  apply_option_texts(base, options);
  if (const auto resume = all.texts.find("resume");
      resume != all.texts.end() && !resume->second.empty()) {
    const std::string path = resume->second + "/config.toml";
    if (!fs::exists(path)) {
      throw UsageError(resume->second + ": is not a run directory (no config.toml)");
    }
    apply_option_texts(read_config(path), options);
  }
  apply_option_texts(all.texts, options);
  use_given_length(all.texts, options);
  options.mode = mode_of(command, options);
  check_mode(all.names, options.mode);
  if (options.data.empty()) throw UsageError("no training data given: name a file or a folder");
  use_folder(options);
  if (!options.resume.empty() && !options.output.empty()) {
    throw UsageError("--resume goes on in the same run directory: leave -o out");
  }
  check_options(options);
  choose_head_by_options(all.names, options);
  check_applicable(all.names, options, options.mode);
  return options;
}

TrainOptions resolve_options(const OptionTexts& given, const std::string& config) {
  return resolve_options({given, config}, Command::train);
}

}  // namespace evener
