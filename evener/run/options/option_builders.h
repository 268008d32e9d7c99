// How a row of the option table is made from a member of the options: parsing, printing and range
// checks by the member's type; then where the option applies.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "evener/run/options/options.h"

namespace evener {

/// What every row says beside its member.
struct OptionHead {
  const char* name;
  const char* unit;
  const char* help;
};

/// Where an option's value is kept: a member of TrainOptions or of one of its parts.
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

/// A row under construction: each function gives the row with one thing more said of it.
struct Row {
  OptionInfo info;

  /// It shapes the model: a resumed run cannot change it.
  Row shaping() const;
  /// It belongs to one call of the command: config.toml and checkpoints do not hold it.
  Row per_call() const;
  Row letter(const char* shorthand) const;
  Row positional() const;
  Row value(const char* name) const;
  Row default_is(const char* text) const;
  /// It has an effect only in these modes, or in these too.
  Row only(ModeSet modes) const;
  Row also(ModeSet modes) const;
  /// It has none in these; `why` ends a message that begins with the option's name.
  Row except(ModeSet modes, const std::string& why) const;
  Row needs(const Need& need) const;
  Row in(Command command, CommandText text) const;
  /// `auto` beside its own values, kept as `value`.
  template <class V>
  Row or_auto(Field<V> field, V value) const;
};

Row flag_option(OptionHead head, Field<bool> field);
Row text_option(OptionHead head, Field<std::string> field);
Row path_option(OptionHead head, Field<std::string> field);
Row choice_option(OptionHead head, Field<std::string> field, std::vector<std::string> choices);
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

/// A whole number of an option that is not in the table. UsageError as those of the table.
int parse_whole_number(const std::string& name, const std::string& text, int low, int high);

/// The parts of the table: what is trained and how; the processes of a cluster; comparisons.
std::vector<OptionInfo> train_rows();
std::vector<OptionInfo> cluster_rows();
std::vector<OptionInfo> compare_rows();
/// One option for each name in the catalogue of strategies; which of them have it, and what each
/// makes of it, is in its help.
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
