// A strategy is a policy that a user can name, with its options: one row of the catalogue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evener/policy/policy.h"

namespace evener {

/// An option of one strategy. Defaults are texts as a user writes them; "auto" is worked out by the
/// policy as the help says.
struct StrategyOption {
  std::string name;
  std::string value;  // the default
  std::string help;
  std::vector<std::string> choices;  // of words; empty: a number
  double low = 0, high = 0;          // of a number
};

/// The upper bound of numbers that have none.
inline constexpr double kMostRows = 1e9;

StrategyOption number_option(std::string name, std::string value, double low, double high,
                             std::string help);
StrategyOption word_option(std::string name, std::vector<std::string> choices, std::string help);

/// The options' values of one run, each checked.
class StrategyValues {
 public:
  void set(const StrategyOption& option, const std::string& text);

  double number(const std::string& name) const;
  /// `otherwise` stands for "auto".
  double number(const std::string& name, double otherwise) const;
  const std::string& word(const std::string& name) const;
  bool on(const std::string& name) const { return word(name) == "on"; }
  bool is(const std::string& name, const char* word_) const { return word(name) == word_; }
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::string> texts_;
};

/// What every policy is made from.
struct PolicyConfig {
  int workers = 1;                   // that the run starts with
  std::size_t batch = 256;           // rows of one update, over all devices
  std::size_t batch_per_device = 0;  // 0: not given
  std::uint64_t seed = 1;            // of what is left to chance
  StrategyValues values;

  /// Rows of an update that one device does alone.
  std::size_t own_batch() const { return batch_per_device > 0 ? batch_per_device : batch; }
  /// Rows of a device's part in an update that all do together.
  std::size_t shared_batch() const;
};

/// Which workers a strategy takes.
enum class Sharing {
  single,     // one worker, whose replica is the model
  shared,     // CPU workers in place on the shared model; others copy it
  in_place,   // the same, and all must be in place
  replicas,   // each worker has a replica
  gradients,  // each worker works gradients out of one model
  pushes,     // each worker pulls the shared model and pushes what it changed
  peers,      // each worker has a replica, and they exchange them among each other
};

/// What workers do to bring together what they have learnt: "merges", "pushes" or "exchanges";
/// empty where they train one model in place.
std::string exchanges_name(Sharing sharing);

struct Strategy {
  std::string name;
  std::string line;   // what it does
  std::string paper;  // where it is from
  Sharing sharing;
  std::vector<StrategyOption> options;
  std::unique_ptr<Policy> (*make)(const PolicyConfig& config);
  /// Other defaults under `preset=released`; empty where the authors' code does as the paper says.
  std::map<std::string, std::string> released = {};
};

}  // namespace evener
