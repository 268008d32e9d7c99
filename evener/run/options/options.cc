#include "evener/run/options/options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/policy/catalogue.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

using T = TrainOptions;
constexpr auto kMany = std::numeric_limits<std::uint32_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr RealRange kNotNegative{0, kInfinity};
constexpr RealRange kPositive{0, kInfinity, true};
constexpr RealRange kBelowOne{0, 1, false, true};

OptionInfo shaping(OptionInfo info) {
  info.shapes_model = true;
  return info;
}
OptionInfo of_this_call(OptionInfo info) {
  info.of_run = false;
  return info;
}
OptionInfo short_name(OptionInfo info, const char* letter) {
  info.shorthand = letter;
  return info;
}
OptionInfo by_place(OptionInfo info) {
  info.positional = true;
  return info;
}

/// `auto` beside the option's own values, kept as `value`.
template <class V>
OptionInfo or_auto(OptionInfo info, V T::*member, V value) {
  info.range = "auto, " + info.range;
  info.get = [get = info.get, member, value](const T& options) {
    return options.*member == value ? std::string("auto") : get(options);
  };
  info.set = [set = info.set, member, value](T& options, const std::string& text) {
    if (text == "auto") {
      options.*member = value;
    } else {
      set(options, text);
    }
  };
  return info;
}

std::vector<OptionInfo> data_options() {
  return {
      by_place(path_option(
          {"data", "", "training data: a file, or a folder with train.* and perhaps test.*"},
          &T::data)),
      path_option({"test", "", "data to evaluate on while training"}, &T::test),
      real_option({"validation-share", "of the rows",
                   "without --test: rows held out of the training data to evaluate on"},
                  &T::validation_share, kBelowOne),
      choice_option({"format", "", "format of the data files; auto looks at the content"},
                    &T::format, {"auto", "multilabel", "libsvm", "idx", "npz"}),
      shaping(
          flag_option({"normalise", "", "scale each row to Euclidean length 1"}, &T::normalise)),
      shaping(
          flag_option({"tfidf", "", "weigh features by inverse document frequency"}, &T::tfidf)),
      shaping(integer_option(
          {"hash-features", "features", "fold the features into so many by a signed hash; 0: off"},
          &T::hash_features, 0, kMany)),
      flag_option({"cache", "", "keep a binary copy of the data that later runs map"}, &T::cache),
      path_option({"cache-dir", "",
                   "folder of the binary copies; empty: EVENER_CACHE_DIR, else evener in the "
                   "user's cache folder"},
                  &T::cache_dir),
      integer_option({"read-threads", "threads", "threads that read text data; 0: one a core"},
                     &T::read_threads, 0, 1024),
  };
}

std::vector<OptionInfo> network_options() {
  return {
      shaping(or_auto(list_option({"hidden", "units",
                                   "width of each hidden layer, input side first; auto: one of "
                                   "512, or of 256 where there are 30000 rows or more"},
                                  &T::hidden),
                      &T::hidden, {kAutoWidth})),
      shaping(choice_option({"activation", "", "of the hidden layers"}, &T::activation,
                            {"relu", "sigmoid", "tanh"})),
      shaping(
          choice_option({"loss", "",
                         "softmax: cross-entropy against the row's labels in equal parts; "
                         "sigmoid: one yes or no a label; squared: half the squared error; auto: "
                         "sigmoid where labels have ten rows or more on average and rows "
                         "several labels, else softmax"},
                        &T::loss, {"auto", "softmax", "sigmoid", "squared"})),
      shaping(choice_option({"input", "",
                             "first layer: touch only the rows of features that occur, or all; "
                             "auto: dense if more than a quarter of the values is not zero"},
                            &T::input, {"auto", "sparse", "dense"})),
      flag_option({"prior-bias", "", "start the output biases from the labels' frequencies"},
                  &T::prior_bias),
  };
}

std::vector<OptionInfo> optimizer_options() {
  return {
      shaping(choice_option({"optimizer", "", "update rule"}, &T::optimizer,
                            {"sgd", "momentum", "adam", "adagrad"})),
      real_option({"learning-rate", "",
                   "after warm-up, before decay; 0: what suits optimizer and loss (adam: 0.01 with "
                   "sigmoid, else 0.003)"},
                  &T::learning_rate, kNotNegative),
      real_option({"momentum", "", "of optimizer momentum"}, &T::momentum, kBelowOne),
      real_option({"beta1", "", "of optimizer adam: decay of the mean"}, &T::beta1, kBelowOne),
      real_option({"beta2", "", "of optimizer adam: decay of the mean square"}, &T::beta2,
                  kBelowOne),
      real_option({"epsilon", "", "of optimizers adam and adagrad: added to the denominator"},
                  &T::epsilon, kPositive),
      real_option({"l2", "", "L2 penalty on weights"}, &T::l2, kNotNegative),
      real_option({"clip", "", "largest length of a gradient row; 0: off"}, &T::clip, kNotNegative),
      or_auto(real_option({"dropout", "of the units",
                           "hidden units dropped in each step; auto: 0.5, or 0.4 where the widest "
                           "layer has less than 512 units"},
                          &T::dropout, kBelowOne),
              &T::dropout, kAutoDropout),
      real_option({"input-dropout", "of the features", "non-zero features dropped in each step"},
                  &T::input_dropout, kBelowOne),
  };
}

std::vector<OptionInfo> schedule_options() {
  return {
      integer_option({"global-batch-size", "rows", "rows of one update, over all devices"},
                     &T::global_batch_size, 1, kMany),
      integer_option({"batch-size-per-device", "rows",
                      "rows of one device's step, where devices step at the same time; 0: what "
                      "--global-batch-size and the strategy make of it"},
                     &T::batch_size_per_device, 0, kMany),
      choice_option({"balance", "",
                     "cut batches by rows, or so that each holds about as many non-zeros (nnz)"},
                    &T::balance, {"rows", "nnz"}),
      integer_option({"epochs", "epochs",
                      "passes over the training data; 0: about 800 updates, 9 to 40 epochs"},
                     &T::epochs, 0, kMany),
      real_option({"warmup-epochs", "epochs", "the learning rate rises linearly for so long"},
                  &T::warmup_epochs, kNotNegative),
      choice_option({"decay", "", "how the learning rate falls after warm-up"}, &T::decay,
                    {"constant", "step", "cosine"}),
      real_option({"decay-epochs", "epochs", "of decay step: epochs between two cuts"},
                  &T::decay_epochs, kPositive),
      real_option(
          {"decay-factor", "", "of decay step: factor of each cut; of cosine: the final share"},
          &T::decay_factor, {0, 1}),
      integer_option({"average", "epochs",
                      "average the weights after each of the last so many epochs; 0: off"},
                     &T::average, 0, kMany),
      integer_option({"seed", "", "of weights, order and dropout"}, &T::seed, 0,
                     std::numeric_limits<std::uint64_t>::max()),
  };
}

std::vector<OptionInfo> strategy_options() {
  std::vector<OptionInfo> options{
      text_option({"devices", "",
                   "auto (all cores, and every accelerator that is not those cores again), or a "
                   "list: cpu, cpu:T for T threads, "
                   "cpu:1,cpu:1 for two "
                   "workers of one thread, opencl:P.D, opencl:P.D.S, cuda:N (see evener devices)"},
                  &T::devices),
      text_option({"emulate", "", "slow devices down, by index or name: 1=x0.25"}, &T::emulate),
      text_option({"memory-limit", "MB",
                   "of an accelerator's own memory, at most this much: 512 for all, 1=512 by index "
                   "or name, or both: 512,1=256. Batches that do not fit are cut"},
                  &T::memory_limit),
      text_option({"strategy", "",
                   "how devices train one model (see evener strategies); auto: sequential on one "
                   "device, sync:split=speed or one of them on several, by trial"},
                  &T::strategy),
  };
  for (auto& info : catalogue_options()) options.push_back(std::move(info));
  return options;
}

std::vector<OptionInfo> evaluation_options() {
  return {
      integer_option({"eval-every", "epochs", "evaluate after every so many epochs"},
                     &T::eval_every, 1, kMany),
      choice_option({"early-stop", "metric", "stop when this metric no longer improves"},
                    &T::early_stop,
                    {"none", "loss", "p@1", "p@3", "p@5", "ndcg@1", "ndcg@3", "ndcg@5", "psp@1",
                     "psp@3", "psp@5", "accuracy", "auc"}),
      integer_option({"patience", "epochs", "early stop: epochs without a new best"}, &T::patience,
                     1, kMany),
  };
}

std::vector<OptionInfo> output_options() {
  return {
      of_this_call(
          short_name(path_option({"output", "", "run directory to make; empty: a new one in runs/"},
                                 &T::output),
                     "o")),
      of_this_call(path_option(
          {"resume", "", "go on with this run directory's last checkpoint, with its options"},
          &T::resume)),
      integer_option({"checkpoint-every", "epochs", "0: only by time, at the end and on a signal"},
                     &T::checkpoint_every, 0, kMany),
      real_option({"checkpoint-minutes", "minutes", "also in the middle of an epoch; 0: off"},
                  &T::checkpoint_minutes, kNotNegative),
      integer_option({"keep", "checkpoints", "older checkpoints are removed"}, &T::keep, 1, kMany),
      of_this_call(flag_option({"json", "", "print the result as one JSON object"}, &T::json)),
      of_this_call(flag_option({"quiet", "", "no progress, warnings and errors only"}, &T::quiet)),
  };
}

std::vector<OptionInfo> make_table() {
  std::vector<OptionInfo> table;
  const auto add = [&](const char* group, std::vector<OptionInfo> rows) {
    for (auto& info : rows) {
      info.group = group;
      table.push_back(std::move(info));
    }
  };
  add("Data", data_options());
  add("Network", network_options());
  add("Optimizer", optimizer_options());
  add("Training", schedule_options());
  add("Devices and strategy", strategy_options());
  add("Evaluation", evaluation_options());
  add("Output", output_options());
  return table;
}

/// As code, if it is something to type.
std::string in_backticks(const std::string& value) {
  return value.empty() || value.find(' ') != std::string::npos ? value : "`" + value + "`";
}

}  // namespace

const std::vector<OptionInfo>& train_option_table() {
  static const std::vector<OptionInfo> table = make_table();
  return table;
}

const OptionInfo& find_train_option(const std::string& name, const std::string& where) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::vector<std::string> names;
  for (const auto& info : train_option_table()) {
    if (info.name == dashed) return info;
    names.push_back(info.name);
  }
  throw UsageError(where + "unknown option '" + name + "'" + did_you_mean(dashed, names));
}

OptionTexts option_texts(const TrainOptions& options) {
  OptionTexts texts;
  for (const auto& info : train_option_table()) {
    if (info.of_run) texts[info.name] = info.get(options);
  }
  return texts;
}

void apply_option_texts(const OptionTexts& texts, TrainOptions& options) {
  for (const auto& [name, text] : texts) find_train_option(name).set(options, text);
}

void check_options(const TrainOptions& o) {
  if (!o.test.empty() && o.validation_share > 0) {
    throw UsageError("--test and --validation-share exclude each other: give one of them");
  }
  const bool evaluates = !o.test.empty() || o.validation_share > 0;
  if (o.early_stop != "none" && !evaluates) {
    throw UsageError("--early-stop needs something to evaluate on: --test or --validation-share");
  }
  if (o.strategy != "auto") parse_strategy(strategy_of(o));
  if (o.average > o.epochs) {
    throw UsageError(fmt::format("--average {} is more than --epochs {}", o.average, o.epochs));
  }
}

std::string options_markdown() {
  std::string text =
      "# Options of `evener train`\n\n"
      "Made by `evener options --markdown`. Defaults, then `--config FILE`, then the command line; "
      "the file has the same names (`learning-rate = 0.001`), dashes or underscores. A flag is "
      "switched off by `--no-NAME`.\n";
  const TrainOptions defaults;
  std::string group;
  for (const auto& info : train_option_table()) {
    if (info.group != group) {
      group = info.group;
      text += fmt::format("\n## {}\n\n| option | default | valid | meaning |\n|---|---|---|---|\n",
                          group);
    }
    const std::string name = info.positional          ? "DATA"
                             : info.shorthand.empty() ? "--" + info.name
                                                      : "-" + info.shorthand + ", --" + info.name;
    const std::string own = info.get(defaults);
    const std::string value = own.empty() ? info.default_text : own;
    text += fmt::format("| `{}` | {} | {} | {}{} |\n", name, in_backticks(value), info.range,
                        info.help, info.unit.empty() ? "" : " (" + info.unit + ")");
  }
  return text;
}

std::string strategy_of(const TrainOptions& o) {
  std::string text = o.strategy;
  for (const auto& [name, value] : o.strategy_options) text += ":" + name + "=" + value;
  return text;
}

Training training_of(const TrainOptions& o) {
  Training training;
  training.optimizer = parse_optimizer(o.optimizer);
  training.momentum = static_cast<float>(o.momentum);
  training.beta1 = static_cast<float>(o.beta1);
  training.beta2 = static_cast<float>(o.beta2);
  training.epsilon = static_cast<float>(o.epsilon);
  training.l2 = static_cast<float>(o.l2);
  training.clip = static_cast<float>(o.clip);
  training.dropout = static_cast<float>(o.dropout);
  training.input_dropout = static_cast<float>(o.input_dropout);
  training.seed = o.seed;
  return training;
}

Schedule schedule_of(const TrainOptions& o) {
  Schedule schedule;
  schedule.learning_rate = static_cast<float>(o.learning_rate);
  schedule.warmup_epochs = o.warmup_epochs;
  schedule.decay = parse_decay(o.decay);
  schedule.decay_epochs = o.decay_epochs;
  schedule.decay_factor = static_cast<float>(o.decay_factor);
  schedule.total_epochs = o.epochs;
  return schedule;
}

TransformOptions transform_of(const TrainOptions& o) {
  return {o.hash_features, o.tfidf, o.normalise};
}

Balance balance_of(const TrainOptions& o) {
  return o.balance == "nnz" ? Balance::nonzeros : Balance::rows;
}

}  // namespace evener
