// The rows of the option table for the data, the model and its training; result_rows.cc has those
// for evaluation and output.
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "evener/policy/catalogue.h"
#include "evener/run/options/option_builders.h"
#include "evener/run/options/result_rows.h"

namespace evener {

namespace {

using T = TrainOptions;

// Reasons, as the end of a message that begins with the option's name.
constexpr const char* kOneDevice = ": a profile measures one device by itself";
constexpr const char* kFewSteps = ": a profile is a few timed steps of one device";
constexpr const char* kSimulated = ": a simulation has the devices of its cluster file";
constexpr const char* kVirtual = ": with --virtual the devices are those of the cluster file";
constexpr const char* kNodes = ": with --nodes each node is a share of this machine's cores";

Need optimizer_is(const std::string& one, const std::string& other = "") {
  return condition([=](const T& o) { return o.optimizer == one || o.optimizer == other; },
                   "needs --optimizer " + one + (other.empty() ? "" : " or " + other));
}

Need has_hidden_layers() {
  return condition([](const T& o) { return !o.hidden.empty(); },
                   "needs hidden layers: see --hidden");
}

/// The option is of the full head: with --head shortlist the value is fixed.
Need full_head() {
  return condition([](const T& o) { return !o.has_shortlist(); }, kNeedsFullHead);
}

Need shortlist_head() {
  return condition([](const T& o) { return o.has_shortlist(); }, "needs --head shortlist");
}

/// The strategy, or one of several to compare, uses the batch size of the run.
Need uses_batch_size() {
  return [](T o) -> std::string {
    std::string own;
    for (const auto& text : strategies_of(o)) {
      if (text == "auto") return "";  // what it chooses uses it
      o.strategy = text;
      const StrategyChoice choice = parse_strategy(strategy_of(o));
      const auto options = choice.batch_options();
      if (options.empty()) return "";
      own += fmt::format("{}{} has {}", own.empty() ? "" : ", ", choice.strategy->name,
                         fmt::join(options, " and "));
    }
    return "has no effect here: " + own + " instead";
  };
}

std::vector<Row> data_options() {
  return {
      path_option(
          {"data", "", "training data: a file, or a folder with train.* and perhaps test.*"},
          &T::data)
          .positional()
          .also(kWorkerModes)
          .in(Command::worker, {.help = "this machine's copy of the training data",
                                .default_text = "same path",
                                .value_name = "FILE",
                                .by_name = true}),
      path_option({"test", "", "data to evaluate on while training"}, &T::test)
          .common(kWhichData)
          .except(Mode::profile, kNoEvaluation),
      real_option({"validation-share", "of the rows",
                   "without --test: rows held out of the training data to evaluate on"},
                  &T::validation_share, kBelowOne)
          .common(kWhichData)
          .needs(condition([](const T& o) { return o.test.empty(); }, "has no effect with --test"))
          .except(Mode::profile, kNoEvaluation),
      choice_option({"format", "",
                     "format of the data files; auto looks at the content, and reads other text as "
                     "the training data"},
                    &T::format, {"auto", "multilabel", "libsvm", "idx", "npz"})
          .common(kWhichData),
      flag_option({"normalise", "", "scale each row to Euclidean length 1"}, &T::normalise)
          .shaping(),
      flag_option(
          {"tfidf", "",
           "multiply each value v (1 + ln v if above 1) by the inverse document frequency of its "
           "feature"},
          &T::tfidf)
          .common(kWhichData)
          .shaping(),
      integer_option(
          {"hash-features", "features", "hash the features into this many, with signs; 0: off"},
          &T::hash_features, 0, kMany)
          .shaping(),
      flag_option({"cache", "", "keep a binary copy of the data that later runs map"}, &T::cache),
      path_option({"cache-dir", "",
                   "folder of the binary copies; empty: EVENER_CACHE_DIR, else evener in the "
                   "user's cache folder"},
                  &T::cache_dir)
          .needs(condition([](const T& o) { return o.cache; }, "has no effect with --no-cache")),
      integer_option({"read-threads", "threads", "threads that read text data; 0: one per core"},
                     &T::read_threads, 0, 1024),
  };
}

std::vector<Row> network_options() {
  return {
      choice_option(
          {"head", "",
           "output layer: full computes all labels, shortlist only candidates by similar training "
           "rows, which the model contains; auto: by the data"},
          &T::head, {"auto", "full", "shortlist"})
          .common(kWhichNetwork, Mode::train)
          .only({Mode::train, Mode::simulate})
          .except(kCompareModes, ": a comparison trains the full head")
          .except({Mode::train_nodes, Mode::train_peers, Mode::coordinator},
                  ": nodes train the full head")
          .except(kMpiModes, ": ranks train the full head")
          .shaping(),
      ablation_option({"ablate", "",
                       "stages of the shortlist head to leave out, separated by commas, to see "
                       "what each brings: weights (of the similarity), neighbours, cooccurrence, "
                       "offset, linear, network; none: all stages"},
                      &T::ablate)
          .needs(shortlist_head())
          .only({Mode::train, Mode::simulate})
          .shaping(),
      list_option({"hidden", "units",
                   "width of each hidden layer, input side first; auto: 512, 256 for 30000 rows or "
                   "more, 128 with --head shortlist"},
                  &T::hidden)
          .common(kWhichNetwork)
          .or_auto<std::vector<std::uint32_t>>(&T::hidden, {kAutoWidth})
          .shaping(),
      choice_option({"activation", "", "activation function of the hidden layers"}, &T::activation,
                    {"relu", "sigmoid", "tanh"})
          .needs(full_head())
          .shaping()
          .needs(has_hidden_layers()),
      choice_option(
          {"loss", "",
           "softmax: cross-entropy against the row's labels in equal parts; sigmoid: an "
           "independent yes or no for each label; squared: half the squared error; auto: sigmoid "
           "if rows have several labels and labels have ten rows or more on average, else softmax"},
          &T::loss, {"auto", "softmax", "sigmoid", "squared"})
          .needs(full_head())
          .common(kWhichNetwork)
          .shaping(),
      choice_option({"input", "",
                     "first layer: sparse updates only the weights of features that occur, dense "
                     "updates all; auto: dense if more than a quarter of the values are non-zero"},
                    &T::input, {"auto", "sparse", "dense"})
          .needs(full_head())
          .shaping(),
      flag_option({"prior-bias", "", "start the output biases from the labels' frequencies"},
                  &T::prior_bias)
          .needs(full_head()),
  };
}

std::vector<Row> optimizer_options() {
  return {
      choice_option({"optimizer", "", "update rule"}, &T::optimizer,
                    {"sgd", "momentum", "adam", "adagrad"})
          .needs(full_head())
          .shaping(),
      real_option({"learning-rate", "",
                   "learning rate after warm-up and before decay; 0: by head, optimizer and loss "
                   "(adam: 0.01 with sigmoid, else 0.003)"},
                  &T::learning_rate, kNotNegative)
          .common(kWhichNetwork),
      integer_option(
          {"reference-batch", "rows",
           "rows of the update that --learning-rate is for; others get it times the root "
           "(adam, adagrad) or ratio of their rows, at most 4 times; 0: all get it"},
          &T::reference_batch, 0, kMany)
          .needs(full_head()),
      real_option({"momentum", "", "momentum of optimizer momentum"}, &T::momentum, kBelowOne)
          .needs(full_head())
          .needs(optimizer_is("momentum")),
      real_option({"beta1", "", "decay of the mean (optimizer adam)"}, &T::beta1, kBelowOne)
          .needs(full_head())
          .needs(optimizer_is("adam")),
      real_option({"beta2", "", "decay of the mean square (optimizer adam)"}, &T::beta2, kBelowOne)
          .needs(full_head())
          .needs(optimizer_is("adam")),
      real_option({"epsilon", "", "added to the denominator (optimizers adam and adagrad)"},
                  &T::epsilon, kPositive)
          .needs(full_head())
          .needs(optimizer_is("adam", "adagrad")),
      real_option({"l2", "", "L2 penalty on weights"}, &T::l2, kNotNegative).needs(full_head()),
      real_option({"clip", "", "largest length of a gradient row; 0: off"}, &T::clip, kNotNegative)
          .needs(full_head()),
      real_option({"dropout", "of the units",
                   "hidden units dropped in each step; auto: 0.5, or 0.4 below 512 units"},
                  &T::dropout, kBelowOne)
          .needs(full_head())
          .common(kWhichNetwork)
          .or_auto<double>(&T::dropout, kAutoDropout)
          .needs(has_hidden_layers()),
      real_option({"input-dropout", "of the features", "non-zero features dropped in each step"},
                  &T::input_dropout, kBelowOne)
          .needs(full_head()),
  };
}

std::vector<Row> schedule_options() {
  std::vector<Row> rows{
      integer_option({"global-batch-size", "rows", "rows of one update, over all devices"},
                     &T::global_batch_size, 1, kMany)
          .needs(full_head())
          .common(kWhichNetwork)
          .needs(uses_batch_size())
          .needs(condition([](const T& o) { return o.batch_size_per_device == 0; },
                           "has no effect with --batch-size-per-device")),
      integer_option({"batch-size-per-device", "rows",
                      "rows of one device's step, where devices step at the same time; 0: the "
                      "strategy derives it from --global-batch-size"},
                     &T::batch_size_per_device, 0, kMany)
          .needs(full_head())
          .needs(uses_batch_size()),
      choice_option(
          {"balance", "",
           "give batches equal numbers of rows, or about equal numbers of non-zeros (nnz)"},
          &T::balance, {"rows", "nnz"})
          .needs(full_head())
          .except(kGossipModes, kNotForGossip),
      integer_option({"epochs", "epochs",
                      "passes over the training data; 0: 9 to 40, or 5 with --head shortlist"},
                     &T::epochs, 0, kMany)
          .common(kWhichNetwork)
          .needs(condition([](const T& o) { return o.seconds == 0; },
                           "has no effect with --seconds: give one of them")),
      real_option({"seconds", "seconds",
                   "training time instead of --epochs; the learning rate follows it; 0: off"},
                  &T::seconds, kNotNegative)
          .needs(condition([](const T& o) { return !o.has_shortlist() || !o.ablates("network"); },
                           "has no effect with --ablate network: only the network part trains on"))
          .common(kWhichNetwork)
          .except(kGossipModes, kNotForGossip)
          .needs(condition(
              [](const T& o) {
                return !kCompareModes.contains(o.mode) || o.compare.equal == "seconds";
              },
              "has no effect with --equal epochs")),
      real_option(
          {"warmup-epochs", "epochs", "the learning rate rises linearly during these epochs"},
          &T::warmup_epochs, kNotNegative)
          .needs(full_head()),
      choice_option({"decay", "", "how the learning rate falls after warm-up"}, &T::decay,
                    {"constant", "step", "cosine"})
          .needs(full_head()),
      real_option({"decay-epochs", "epochs", "epochs between two cuts (decay step)"},
                  &T::decay_epochs, kPositive)
          .needs(full_head())
          .needs(condition([](const T& o) { return o.decay == "step"; }, "needs --decay step")),
      real_option({"decay-factor", "",
                   "factor of each cut (decay step), or share that is left at the end (cosine)"},
                  &T::decay_factor, {0, 1})
          .needs(full_head())
          .needs(condition([](const T& o) { return o.decay != "constant"; },
                           "needs --decay step or cosine")),
      integer_option(
          {"average", "epochs",
           "average the weights over this many last epochs (with --seconds: about as many); 0: "
           "off"},
          &T::average, 0, kMany)
          .needs(full_head())
          .except(kCompareModes, ": a comparison evaluates the weights as they are")
          .except(kGossipModes, kNotForGossip),
  };
  for (auto& row : rows) row = row.except(Mode::profile, kFewSteps);
  rows.push_back(integer_option({"seed", "", "seed of weights, order and dropout"}, &T::seed, 0,
                                std::numeric_limits<std::uint64_t>::max())
                     .common(kWhichNetwork));
  return rows;
}

std::vector<Row> strategy_options() {
  return {
      text_option({"devices", "",
                   "auto (all cores, and every accelerator that does not run on these cores), or a "
                   "list: cpu, cpu:T for T threads, cpu:1,cpu:1 for two workers of one thread, "
                   "opencl:P.D, opencl:P.D.S, cuda:N (see evener devices)"},
                  &T::devices)
          .common(kWhichHardware)
          .also(kWorkerModes)
          .except(Mode::simulate, kSimulated)
          .except(Mode::compare_virtual, kVirtual)
          .except({Mode::train_nodes, Mode::compare_nodes}, kNodes)
          .except(Mode::profile,
                  ": the device to measure is the first argument: evener profile DEVICE DATA")
          .in(Command::worker, {.help = "one device, or several that train together here",
                                .default_text = "cpu",
                                .value_name = "LIST"}),
      text_option({"emulate", "", "slow devices down, by index or name: 1=x0.25"}, &T::emulate)
          .common(kWhichHardware)
          .also(Mode::worker)
          .except(Mode::simulate, kSimulated)
          .except(Mode::compare_virtual, kVirtual)
          .except({Mode::train_peers, Mode::worker_peers}, ": not with --peers")
          .except(kMpiModes, ": not with --transport mpi")
          .except(Mode::coordinator, ": only workers can be slowed down: evener worker --emulate")
          .except(Mode::profile, ": a profile measures the device as it is")
          .in(Command::worker, {.help = "train as a slower machine would: x0.25 of this one",
                                .value_name = "xSHARE"}),
      text_option({"memory-limit", "MB",
                   "use at most this much of an accelerator's own memory: 512 for all, 1=512 by "
                   "index or name, or both: 512,1=256. Batches that do not fit are cut"},
                  &T::memory_limit)
          .needs(full_head())
          .also(kWorkerModes)
          .except(Mode::simulate, kSimulated)
          .except(Mode::compare_virtual, kVirtual)
          .except({Mode::train_nodes, Mode::compare_nodes}, kNodes)
          .in(Command::worker, {.help = "use at most this much of an accelerator's own memory"}),
      text_option(
          {"strategy", "", "how devices train one model (see evener strategies); auto: by trials"},
          &T::strategy)
          .common(kWhichHardware)
          .also(kWorkerModes)
          .except(kCompareModes, ": name what to compare with --strategies")
          .except(Mode::profile, kOneDevice)
          .in(Command::worker, {.help = "how several devices of this worker train together (see "
                                        "evener strategies)",
                                .value_name = "NAME"}),
  };
}

}  // namespace

std::vector<OptionInfo> train_rows(const std::vector<OptionInfo>& of_strategies) {
  std::vector<OptionInfo> all;
  const auto add = [&](const char* group, const std::vector<Row>& rows) {
    for (const auto& row : rows) {
      all.push_back(row.info);
      all.back().group = group;
    }
  };
  add("Data", data_options());
  add("Network", network_options());
  add("Optimizer", optimizer_options());
  add("Training", schedule_options());
  add("Devices and strategy", strategy_options());
  for (const auto& info : of_strategies) {
    add("Devices and strategy", {Row{info}.except(Mode::profile, kOneDevice)});
  }
  add("Evaluation", evaluation_options());
  add("Output", output_options());
  return all;
}

}  // namespace evener
