// The options of a strategy: how a row of the catalogue declares them, and their values in a run.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace evener {

/// An option of one strategy. Defaults are texts as a user writes them. The policy computes "auto"
/// as described in the help.
struct StrategyOption {
  std::string name;
  std::string value;  // the default
  std::string help;
  std::vector<std::string> choices;  // of words; empty: a number
  double low = 0, high = 0;          // of a number
};

/// The upper bound of counts that have none.
inline constexpr double kMostRows = 1e9;
/// The upper bound of numbers that may be "inf".
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

StrategyOption number_option(std::string name, std::string value, double low, double high,
                             std::string help);
/// The first choice is the default.
StrategyOption word_option(std::string name, std::vector<std::string> choices, std::string help);
/// The first list followed by the second: options of a shared part and a strategy's own.
std::vector<StrategyOption> join_options(std::vector<StrategyOption> first,
                                         const std::vector<StrategyOption>& second);

/// The options' values of one run, each checked.
class StrategyValues {
 public:
  /// UsageError where the option does not take this text.
  void set(const StrategyOption& option, const std::string& text);

  double number(const std::string& name) const;
  /// `otherwise` stands for "auto".
  double number(const std::string& name, double otherwise) const;
  const std::string& word(const std::string& name) const;
  bool on(const std::string& name) const { return word(name) == "on"; }
  bool is(const std::string& name, const char* word_) const { return word(name) == word_; }

 private:
  std::map<std::string, std::string> texts_;
};

/// A named set of defaults, for `preset=NAME`. The first preset of a strategy is the default and
/// changes nothing; each later one lists the options whose defaults it replaces.
struct Preset {
  std::string name;
  std::string source;                           // whose defaults these are, for the help
  std::map<std::string, std::string> values{};  // option -> default
};
/// "evener": the options' own defaults, which the measurements of docs/results chose.
Preset evener_preset();
/// "paper": the defaults of the paper; without values, the options' own.
Preset paper_preset(std::map<std::string, std::string> values = {});
/// "released": the defaults of the code that the paper's authors published.
Preset released_preset(std::map<std::string, std::string> values);

}  // namespace evener
