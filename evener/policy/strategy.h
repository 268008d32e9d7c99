// A strategy is a policy that a user can name, with its options: one row of the catalogue. Each
// file of policy/strategies/ defines one policy and the function that returns its row; the function
// is named after the file, FILE_strategy().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "evener/policy/compression.h"
#include "evener/policy/gossip_rule.h"
#include "evener/policy/policy.h"
#include "evener/policy/strategy_options.h"

namespace evener {

/// The arguments of every policy.
struct PolicyConfig {
  int workers = 1;                   // at the start of the run
  std::size_t batch = 256;           // rows of one update, over all devices
  std::size_t batch_per_device = 0;  // 0: not given
  std::size_t rows = 0;              // of an epoch; 0: not known
  std::uint64_t seed = 1;            // of random choices
  StrategyValues values;

  /// Rows of an update that one device computes.
  std::size_t own_batch() const { return batch_per_device > 0 ? batch_per_device : batch; }
  /// Rows of a device's part of an update that all devices share.
  std::size_t shared_batch() const;
  /// Rows of an update that so many devices share.
  std::size_t update_rows(std::size_t devices) const {
    return batch_per_device > 0 ? batch_per_device * devices : batch;
  }
};

/// The kind of sharing: what a worker trains on. It determines which workers a strategy accepts.
enum class Sharing {
  single,     // one worker, whose replica is the model
  shared,     // CPU workers in place on the shared model; others copy it
  in_place,   // the same, and all must be in place
  replicas,   // each worker has a replica
  gradients,  // each worker computes gradients of one model
  pushes,     // each worker pulls the shared model and pushes what it changed
  peers,      // each worker has a replica and exchanges it with other workers
};

/// The name of what workers do to combine their models: "merges", "pushes" or "exchanges"; empty
/// where they train one model in place.
std::string exchanges_name(Sharing sharing);
/// The name of pushes or offers that are not accepted: "refused" or "offers declined".
std::string refusals_name(Sharing sharing);

/// A choice that `--strategy auto` may make.
enum class AutoFor {
  one_device,
  several_devices,
  dear_exchanges,  // several devices for which an exchange in every update takes too long
  nodes,
  peers
};
struct AutoChoice {
  AutoFor what;
  std::string options = "";  // that differ from the defaults: "option=value:option=value"
};

/// What a strategy's hint depends on.
struct HintSetup {
  std::size_t parameters = 0;     // of the model
  bool has_in_place = false;      // some device trains in place on the shared model
  bool has_accelerators = false;  // some device has its own memory
};

struct Strategy {
  std::string name;        // in --strategy
  std::string line;        // what it does
  std::string paper = "";  // the source
  /// Position in lists for users: lower first, equal ones by name. Without it a strategy is last.
  int order = std::numeric_limits<int>::max();
  Sharing sharing = Sharing::single;
  std::vector<StrategyOption> options = {};
  /// Those of its options that set its batch sizes in place of --global-batch-size and
  /// --batch-size-per-device. If one of them is "auto", the policy derives it from the run's batch
  /// size. Empty: the run's batch size is the strategy's.
  std::vector<std::string> batch_options = {};
  /// Empty: there is one set of defaults, and no option `preset`.
  std::vector<Preset> presets = {};
  std::function<std::unique_ptr<Policy>(const PolicyConfig& config)> make = {};

  /// When `--strategy auto` chooses this strategy.
  std::vector<AutoChoice> automatic = {};
  /// A hint for users whose options make such a run needlessly slow; an empty text: none.
  std::function<std::string(const StrategyValues& values, const HintSetup& setup)> hint = {};

  // Each is for one kind of sharing.
  /// shared: whether a worker's copy replaces the model when it is written back, rather than
  /// adding what changed. Without it: it adds.
  std::function<bool(const StrategyValues& values)> overwrites = {};
  /// pushes: the compression of pushes. Without it: none.
  std::function<Compression(const StrategyValues& values)> compression = {};
  /// peers: when and how they exchange. Required.
  std::function<GossipRule(const StrategyValues& values)> gossip = {};
};

}  // namespace evener
