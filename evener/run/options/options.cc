#include "evener/run/options/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/nearest.h"
#include "evener/policy/catalogue.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

std::vector<OptionInfo> make_table(const std::vector<OptionInfo>& of_strategies) {
  std::vector<OptionInfo> table = train_rows(of_strategies);
  for (const auto& rows : {cluster_rows(), compare_rows()}) {
    table.insert(table.end(), rows.begin(), rows.end());
  }
  return table;
}

/// All names on the command line that are not those of strategies.
std::vector<std::string> reserved_names() {
  static const std::vector<std::string> reserved = [] {
    std::vector<std::string> names{"help", "config"};
    for (const auto& info : make_table({})) {
      names.push_back(info.name);
      if (info.kind == OptionKind::flag) names.push_back("no-" + info.name);
    }
    return names;
  }();
  return reserved;
}

// Before main(), so that a program cannot register a strategy that makes two options of one name.
[[maybe_unused]] const bool kReserved = reserve_option_names(reserved_names);

}  // namespace

const std::vector<OptionInfo>& train_option_table() {
  static const std::vector<OptionInfo> table = make_table(catalogue_options());
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
  if (o.seconds == 0 && o.average > o.epochs) {
    throw UsageError(fmt::format("--average {} is more than --epochs {}", o.average, o.epochs));
  }
}

std::string strategy_of(const TrainOptions& o) {
  std::string text = o.strategy;
  for (const auto& [name, value] : o.strategy_options) text += ":" + name + "=" + value;
  return text;
}

std::vector<std::string> strategies_of(const TrainOptions& o) {
  if (!kCompareModes.contains(o.mode)) return {o.strategy};
  const char* usual = o.mode == Mode::compare_nodes ? "bsp,asp,ssp,dssp,dasp"
                                                    : "sync,sync:split=speed,adaptive-sgd,auto";
  const std::string list = o.compare.strategies.empty() ? usual : o.compare.strategies;
  std::vector<std::string> strategies;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma > at) strategies.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  if (strategies.empty()) throw UsageError("--strategies: no strategy is named");
  return strategies;
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

RateRule rate_rule_of(const TrainOptions& o) {
  return rate_rule_of(parse_optimizer(o.optimizer), o.reference_batch);
}

TransformOptions transform_of(const TrainOptions& o) {
  return {o.hash_features, o.tfidf, o.normalise};
}

Balance balance_of(const TrainOptions& o) {
  return o.balance == "nnz" ? Balance::nonzeros : Balance::rows;
}

}  // namespace evener
