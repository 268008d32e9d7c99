// Builds a row of the option table from a member of the options: parsing, printing and range checks
// by the member's type, and the modes in which the option applies.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "evener/run/options/options.h"

namespace evener {

/// The texts of a row.
struct OptionHead {
  const char* name;
  const char* unit;
  const char* help;
};

/// The member that holds an option's value, in TrainOptions or one of its parts.
template <class V>
class Field {
 public:
  Field(V TrainOptions::*member) : own_(member) {}           // NOLINT: a member is a field
  Field(V ClusterOptions::*member) : of_cluster_(member) {}  // NOLINT
  Field(V CompareArgs::*member) : of_compare_(member) {}     // NOLINT

  V& in(TrainOptions& options) const {
    if (of_cluster_ != nullptr) return options.cluster.*of_cluster_;
    return of_compare_ != nullptr ? options.compare.*of_compare_ : options.*own_;
  }
  const V& in(const TrainOptions& options) const {
    if (of_cluster_ != nullptr) return options.cluster.*of_cluster_;
    return of_compare_ != nullptr ? options.compare.*of_compare_ : options.*own_;
  }

 private:
  V TrainOptions::*own_ = nullptr;
  V ClusterOptions::*of_cluster_ = nullptr;
  V CompareArgs::*of_compare_ = nullptr;
};

/// "" while the condition holds, else `what`.
Need condition(std::function<bool(const TrainOptions&)> holds, std::string what);

/// Why an option of the full head has no effect with --head shortlist.
inline constexpr const char* kNeedsFullHead = "needs --head full";

/// The questions of the short help (`evener train --help`).
inline constexpr const char* kWhichData = "Which data?";
inline constexpr const char* kWhichNetwork = "Which network, trained how long?";
inline constexpr const char* kWhichHardware = "On which hardware?";
inline constexpr const char* kWhichResult = "When to stop, and what to keep?";
inline constexpr const char* kWhichComparison = "What to compare?";

/// Builder of a row: each function returns the row with one property added.
struct Row {
  OptionInfo info;

  /// The option shapes the model: a resumed run cannot change it.
  Row shaping() const;
  /// The option belongs to one call of the command: it is not saved in config.toml or checkpoints.
  Row per_call() const;
  Row short_name(const char* shorthand) const;
  Row positional() const;
  Row value(const char* name) const;
  /// Most people need the option: the short help of the commands with these modes shows it below
  /// this question.
  Row common(const char* question, ModeSet modes = kTrainingModes) const;
  Row default_is(const char* text) const;
  /// The option has an effect only in these modes (only), or also in these (also).
  Row only(ModeSet modes) const;
  Row also(ModeSet modes) const;
  /// The option has no effect in these modes; `why` ends a message that begins with its name.
  Row except(ModeSet modes, const std::string& why) const;
  Row needs(const Need& need) const;
  Row in(Command command, CommandText text) const;
  /// Also accepts `auto`, stored as `value`.
  template <class V>
  Row or_auto(Field<V> field, V value) const;
};

Row flag_option(OptionHead head, Field<bool> field);
Row text_option(OptionHead head, Field<std::string> field);
Row path_option(OptionHead head, Field<std::string> field);
Row choice_option(OptionHead head, Field<std::string> field, std::vector<std::string> choices);
/// Stages of the shortlist head separated by commas, or "none".
Row ablation_option(OptionHead head, Field<std::string> field);
/// Positive integers separated by commas, or "none".
Row list_option(OptionHead head, Field<std::vector<std::uint32_t>> field);

/// The valid range is [low, high]; `open_high` excludes high.
struct RealRange {
  double low = 0;
  double high = 0;
  bool open_low = false;
  bool open_high = false;
};
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();
inline constexpr RealRange kNotNegative{0, kUnlimited};
inline constexpr RealRange kPositive{0, kUnlimited, true};
inline constexpr RealRange kBelowOne{0, 1, false, true};
Row real_option(OptionHead head, Field<double> field, RealRange range);

Row integer_option(OptionHead head, Field<std::uint32_t> field, std::uint32_t low,
                   std::uint32_t high);
Row integer_option(OptionHead head, Field<std::uint64_t> field, std::uint64_t low,
                   std::uint64_t high);
Row integer_option(OptionHead head, Field<int> field, int low, int high);

/// Parses an integer option outside the table, with the same UsageError as the table.
int parse_whole_number(const std::string& name, const std::string& text, int low, int high);

/// The parts of the table: training, with the options of strategies among them; the processes of a
/// cluster; comparisons.
std::vector<OptionInfo> train_rows(const std::vector<OptionInfo>& of_strategies);
std::vector<OptionInfo> cluster_rows();
std::vector<OptionInfo> compare_rows();
/// One option for each option name in the catalogue of strategies. Its help lists the strategies
/// that have it, and its meaning in each.
std::vector<OptionInfo> catalogue_options();

template <class V>
Row Row::or_auto(Field<V> field, V value) const {
  Row row = *this;
  row.info.range = "auto, " + info.range;
  row.info.get = [get = info.get, field, value](const TrainOptions& options) {
    return field.in(options) == value ? std::string("auto") : get(options);
  };
  row.info.set = [set = info.set, field, value](TrainOptions& options, const std::string& text) {
    if (text == "auto") {
      field.in(options) = value;
    } else {
      set(options, text);
    }
  };
  return row;
}

}  // namespace evener
