// The options of all commands that train or take part in a cluster, each declared once: the command
// line, config files, the run's config.toml, docs/options.md and the Python signature come from the
// table (train_rows.cc, cluster_rows.cc).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evener/data/batches.h"
#include "evener/data/read.h"
#include "evener/data/transform.h"
#include "evener/nn/network.h"
#include "evener/nn/rate_rule.h"
#include "evener/nn/schedule.h"
#include "evener/nn/training.h"
#include "evener/run/options/modes.h"

namespace evener {

/// `auto` (recipe.h chooses) for options in which 0 is a valid value.
inline constexpr std::uint32_t kAutoWidth = 0;
inline constexpr double kAutoDropout = -1;

inline constexpr const char* kGrpcTransport = "grpc";
/// An integer option that was not given.
inline constexpr int kNotGiven = -1;

/// Addresses and authentication of the processes of a cluster. They belong to one call of a
/// command, so config.toml and checkpoints do not hold them (a token is a secret).
struct ClusterOptions {
  int nodes = 0, servers = 0;
  std::string workers;  // "4" or "2:8"
  std::string peers;    // HOST:PORT,...
  std::string coordinator;
  int rank = kNotGiven;
  std::string listen, address;
  bool insecure = false;
  std::string tls, token, token_file;
  double wait_seconds = 60;
  double heartbeat = 1, suspect = 3, evict = 10;  // see HeartbeatLimits
  double stall_timeout = 0;                       // 0: see StallLimits
  int threads = 0;                                // 0: all cores
  std::string transport = kGrpcTransport;
  std::string device_strategy;
};

/// The stages that --ablate can leave out.
inline constexpr std::array<const char*, 6> kShortlistStages{
    "weights", "neighbours", "cooccurrence", "offset", "linear", "network"};

/// The options of `evener compare` that do not concern a single run.
struct CompareArgs {
  std::string strategies, target, virtual_file, tune, reference;
  std::string equal = "seconds";
  std::string grid = "0.3,1,3";
  std::uint32_t seeds = 5, evaluations_per_epoch = 1;
};

/// Plain values; the table has their meaning, units and ranges. Choices are stored as the user
/// writes them, and checked when they are set.
struct TrainOptions {
  std::string data, test;
  double validation_share = 0;
  std::string format = "auto";
  bool normalise = true;
  bool tfidf = false;
  std::uint32_t hash_features = 0;
  bool cache = true;
  std::string cache_dir;
  int read_threads = 0;

  std::string head = "auto";
  /// With --head auto: the line that says which head options chose, and why. Empty: none did.
  std::string head_reason;
  std::string ablate = "none";  // stages of the shortlist head, separated by commas
  std::vector<std::uint32_t> hidden{kAutoWidth};
  std::string activation = "relu";
  std::string loss = "auto";
  std::string input = "auto";

  std::string optimizer = "adam";
  double learning_rate = 0;
  std::uint32_t reference_batch = 256;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double l2 = 0;
  double clip = 0;
  bool prior_bias = true;
  double dropout = kAutoDropout;
  double input_dropout = 0;
  std::uint32_t global_batch_size = 256;
  std::uint32_t batch_size_per_device = 0;
  std::string balance = "rows";
  std::uint32_t epochs = 0;
  /// Not 0: the run ends after this much training. `epochs` is then 0, or (in a comparison) the
  /// number of epochs that the schedule spreads over this time.
  double seconds = 0;
  double warmup_epochs = 0;
  std::string decay = "cosine";
  double decay_epochs = 10;
  double decay_factor = 0.01;
  std::uint32_t average = 0;
  std::uint64_t seed = 1;

  std::string devices = "auto";
  std::string emulate;
  std::string memory_limit;
  std::string strategy = "auto";
  std::map<std::string, std::string> strategy_options;  // only those that were given

  std::uint32_t eval_every = 1;
  std::string early_stop = "none";
  std::uint32_t patience = 5;

  std::string output;
  std::string resume;
  std::uint32_t checkpoint_every = 0;
  double checkpoint_minutes = 5;
  std::uint32_t keep = 2;
  bool json = false;
  bool quiet = false;

  ClusterOptions cluster;
  CompareArgs compare;

  /// Whether --ablate leaves this stage out.
  bool ablates(const std::string& stage) const {
    return ("," + ablate + ",").find("," + stage + ",") != std::string::npos;
  }
  bool has_shortlist() const { return head == "shortlist"; }

  /// The mode that the options select (resolve.h); decides which of them config.toml holds.
  Mode mode = Mode::train;
};

enum class OptionKind { flag, integer, real, text, path, choice, list };

/// Why an option has no effect in some modes, as the end of a message that begins with its name:
/// ": a comparison writes no checkpoints".
struct Exclusion {
  ModeSet modes;
  std::string why;
};

/// Why an option has no effect with the other options as they are, such as "needs --early-stop".
/// Empty: it has an effect.
using Need = std::function<std::string(const TrainOptions&)>;

/// Overrides of a row in one command. Empty: as in the others.
struct CommandText {
  std::string help{}, default_text{}, value_name{};
  bool by_name = false;  // not positional, unlike in other commands
};

/// One row of the table. `set` parses text and throws UsageError naming the option, the valid
/// values and the nearest of them; `get` returns text that `set` accepts.
struct OptionInfo {
  std::string name;   // dashed, without the leading dashes
  std::string group;  // heading in help and docs
  OptionKind kind = OptionKind::text;
  std::string unit;  // "epochs", "rows", ...; empty: none
  std::string help;
  std::string range;  // "0 .. 1", or the choices; for display
  std::vector<std::string> choices;
  std::string default_text;             // for display, if it differs from the option's default
  std::string shorthand;                // "o" for -o; usually empty
  bool positional = false;              // positional on the command line
  bool of_run = true;                   // saved in config.toml and checkpoints
  bool shapes_model = false;            // cannot change when a run is resumed
  std::string value_name;               // "HOST:PORT" in the help; empty: by kind
  std::string question;                 // its heading in the short help
  ModeSet common_modes{};               // whose commands show it in the short help
  ModeSet modes = kTrainingModes;       // in which it has an effect
  std::vector<Exclusion> exclusions{};  // reasons for some of the other modes
  std::vector<Need> needs{};
  std::map<Command, CommandText> texts{};
  std::function<std::string(const TrainOptions&)> get;
  std::function<void(TrainOptions&, const std::string&)> set;
};

const std::vector<OptionInfo>& train_option_table();

/// By name, with dashes or underscores. UsageError names the nearest; `where` begins the message.
const OptionInfo& find_train_option(const std::string& name, const std::string& where = "");

using OptionTexts = std::map<std::string, std::string>;

/// Converts the saved options to texts by name, and back; keys of `texts` must be options.
OptionTexts option_texts(const TrainOptions& options);
void apply_option_texts(const OptionTexts& texts, TrainOptions& options);

/// UsageError if values contradict each other.
void check_options(const TrainOptions& options);

/// Markdown for docs/options.md.
std::string options_markdown();

/// "NAME:option=value:...", as the policy catalogue parses it.
std::string strategy_of(const TrainOptions& options);
/// The strategies that the command trains by, as the user names them: those to compare, or one.
std::vector<std::string> strategies_of(const TrainOptions& options);
Training training_of(const TrainOptions& options);
Schedule schedule_of(const TrainOptions& options);
RateRule rate_rule_of(const TrainOptions& options);
TransformOptions transform_of(const TrainOptions& options);
Balance balance_of(const TrainOptions& options);

}  // namespace evener
