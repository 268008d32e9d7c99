// The rows of the option table for the data, the model and its training.
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "evener/policy/catalogue.h"
#include "evener/run/options/option_builders.h"

namespace evener {

namespace {

using T = TrainOptions;
constexpr auto kMany = std::numeric_limits<std::uint32_t>::max();

constexpr ModeSet kGossipModes{Mode::train_peers, Mode::train_mpi_gossip};

// Reasons, as the end of a message that begins with the option's name.
constexpr const char* kNoEvaluation = ": a profile evaluates nothing";
constexpr const char* kOneDevice = ": a profile measures one device by itself";
constexpr const char* kFewSteps = ": a profile is a few timed steps of one device";
constexpr const char* kNoCheckpoints = ": a comparison writes no checkpoints";
constexpr const char* kNoProfileCheckpoints = ": a profile writes no checkpoints";
constexpr const char* kAllEpochs = ": every run of a comparison trains for all --epochs";
constexpr const char* kNotForGossip = ": not for gossiping peers";
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

Need evaluates() {
  return condition([](const T& o) { return !o.test.empty() || o.validation_share > 0; },
                   "needs something to evaluate on: --test or --validation-share");
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
      list_option({"hidden", "units",
                   "width of each hidden layer, input side first; auto: one layer of 512 units, or "
                   "of 256 for 30000 rows or more"},
                  &T::hidden)
          .common(kWhichNetwork)
          .or_auto<std::vector<std::uint32_t>>(&T::hidden, {kAutoWidth})
          .shaping(),
      choice_option({"activation", "", "activation function of the hidden layers"}, &T::activation,
                    {"relu", "sigmoid", "tanh"})
          .shaping()
          .needs(has_hidden_layers()),
      choice_option(
          {"loss", "",
           "softmax: cross-entropy against the row's labels in equal parts; sigmoid: an "
           "independent yes or no for each label; squared: half the squared error; auto: sigmoid "
           "if rows have several labels and labels have ten rows or more on average, else softmax"},
          &T::loss, {"auto", "softmax", "sigmoid", "squared"})
          .common(kWhichNetwork)
          .shaping(),
      choice_option({"input", "",
                     "first layer: sparse updates only the weights of features that occur, dense "
                     "updates all; auto: dense if more than a quarter of the values are non-zero"},
                    &T::input, {"auto", "sparse", "dense"})
          .shaping(),
      flag_option({"prior-bias", "", "start the output biases from the labels' frequencies"},
                  &T::prior_bias),
  };
}

std::vector<Row> optimizer_options() {
  return {
      choice_option({"optimizer", "", "update rule"}, &T::optimizer,
                    {"sgd", "momentum", "adam", "adagrad"})
          .shaping(),
      real_option({"learning-rate", "",
                   "learning rate after warm-up and before decay; 0: chosen by optimizer and loss "
                   "(adam: 0.01 with sigmoid, else 0.003)"},
                  &T::learning_rate, kNotNegative)
          .common(kWhichNetwork),
      real_option({"momentum", "", "momentum of optimizer momentum"}, &T::momentum, kBelowOne)
          .needs(optimizer_is("momentum")),
      real_option({"beta1", "", "decay of the mean (optimizer adam)"}, &T::beta1, kBelowOne)
          .needs(optimizer_is("adam")),
      real_option({"beta2", "", "decay of the mean square (optimizer adam)"}, &T::beta2, kBelowOne)
          .needs(optimizer_is("adam")),
      real_option({"epsilon", "", "added to the denominator (optimizers adam and adagrad)"},
                  &T::epsilon, kPositive)
          .needs(optimizer_is("adam", "adagrad")),
      real_option({"l2", "", "L2 penalty on weights"}, &T::l2, kNotNegative),
      real_option({"clip", "", "largest length of a gradient row; 0: off"}, &T::clip, kNotNegative),
      real_option({"dropout", "of the units",
                   "hidden units dropped in each step; auto: 0.5, or 0.4 if the widest layer has "
                   "fewer than 512 units"},
                  &T::dropout, kBelowOne)
          .common(kWhichNetwork)
          .or_auto<double>(&T::dropout, kAutoDropout)
          .needs(has_hidden_layers()),
      real_option({"input-dropout", "of the features", "non-zero features dropped in each step"},
                  &T::input_dropout, kBelowOne),
  };
}

std::vector<Row> schedule_options() {
  std::vector<Row> rows{
      integer_option({"global-batch-size", "rows", "rows of one update, over all devices"},
                     &T::global_batch_size, 1, kMany)
          .common(kWhichNetwork)
          .needs(uses_batch_size())
          .needs(condition([](const T& o) { return o.batch_size_per_device == 0; },
                           "has no effect with --batch-size-per-device")),
      integer_option({"batch-size-per-device", "rows",
                      "rows of one device's step, where devices step at the same time; 0: the "
                      "strategy derives it from --global-batch-size"},
                     &T::batch_size_per_device, 0, kMany)
          .needs(uses_batch_size()),
      choice_option(
          {"balance", "",
           "give batches equal numbers of rows, or about equal numbers of non-zeros (nnz)"},
          &T::balance, {"rows", "nnz"})
          .except(kGossipModes, kNotForGossip),
      integer_option({"epochs", "epochs",
                      "passes over the training data; 0: about 800 updates, 9 to 40 epochs"},
                     &T::epochs, 0, kMany)
          .common(kWhichNetwork),
      real_option(
          {"warmup-epochs", "epochs", "the learning rate rises linearly during these epochs"},
          &T::warmup_epochs, kNotNegative),
      choice_option({"decay", "", "how the learning rate falls after warm-up"}, &T::decay,
                    {"constant", "step", "cosine"}),
      real_option({"decay-epochs", "epochs", "epochs between two cuts (decay step)"},
                  &T::decay_epochs, kPositive)
          .needs(condition([](const T& o) { return o.decay == "step"; }, "needs --decay step")),
      real_option({"decay-factor", "",
                   "factor of each cut (decay step), or share that is left at the end (cosine)"},
                  &T::decay_factor, {0, 1})
          .needs(condition([](const T& o) { return o.decay != "constant"; },
                           "needs --decay step or cosine")),
      integer_option(
          {"average", "epochs", "average the weights over this many last epochs; 0: off"},
          &T::average, 0, kMany)
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
          .also(kWorkerModes)
          .except(Mode::simulate, kSimulated)
          .except(Mode::compare_virtual, kVirtual)
          .except({Mode::train_nodes, Mode::compare_nodes}, kNodes)
          .in(Command::worker, {.help = "use at most this much of an accelerator's own memory"}),
      text_option(
          {"strategy", "",
           "how devices train one model (see evener strategies); auto: sequential on one "
           "device; on several, trials choose one device, or several with sync:split=speed"},
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

std::vector<Row> evaluation_options() {
  const std::vector<std::string> metrics{"none",   "loss",     "p@1",    "p@3",   "p@5",
                                         "ndcg@1", "ndcg@3",   "ndcg@5", "psp@1", "psp@3",
                                         "psp@5",  "accuracy", "auc"};
  return {
      integer_option({"eval-every", "epochs", "epochs between two evaluations"}, &T::eval_every, 1,
                     kMany)
          .except(kCompareModes, ": a comparison has --evaluations-per-epoch")
          .except(Mode::profile, kNoEvaluation)
          .needs(evaluates()),
      choice_option({"early-stop", "metric", "stop when this metric no longer improves"},
                    &T::early_stop, metrics)
          .common(kWhichResult)
          .except(kCompareModes, kAllEpochs)
          .except(kGossipModes, kNotForGossip)
          .except(Mode::profile, kNoEvaluation)
          .needs(evaluates()),
      integer_option({"patience", "epochs", "early stop: epochs without a new best"}, &T::patience,
                     1, kMany)
          .common(kWhichResult)
          .except(kCompareModes, kAllEpochs)
          .except(kGossipModes, kNotForGossip)
          .except(Mode::profile, kNoEvaluation)
          .needs(
              condition([](const T& o) { return o.early_stop != "none"; }, "needs --early-stop")),
  };
}

std::vector<Row> output_options() {
  return {
      path_option({"output", "", "run directory to create; empty: a new one in runs/"}, &T::output)
          .common(kWhichResult)
          .short_name("o")
          .per_call()
          .also(Mode::worker_peers)
          .in(Command::compare,
              {.help = "folder to write the results to", .default_text = "comparison"})
          .in(Command::profile, {.help = "cluster file to write; empty: print it"})
          .in(Command::worker,
              {.help = "run directory to create (with --peers); empty: a new one in "
                       "runs/"}),
      path_option(
          {"resume", "", "resume from the last checkpoint in this run directory, with its options"},
          &T::resume)
          .common(kWhichResult)
          .per_call()
          .except(kCompareModes, ": a comparison cannot be resumed")
          .except(Mode::profile, kNoProfileCheckpoints),
      integer_option(
          {"checkpoint-every", "epochs",
           "epochs between two checkpoints; 0: only by time, at the end and on a signal"},
          &T::checkpoint_every, 0, kMany)
          .except(kCompareModes, kNoCheckpoints)
          .except(Mode::profile, kNoProfileCheckpoints),
      real_option({"checkpoint-minutes", "minutes",
                   "time between two checkpoints, also within an epoch; 0: off"},
                  &T::checkpoint_minutes, kNotNegative)
          .except(kCompareModes, kNoCheckpoints)
          .except(Mode::profile, kNoProfileCheckpoints),
      integer_option(
          {"keep", "checkpoints", "number of checkpoints to keep; older ones are removed"},
          &T::keep, 1, kMany)
          .except(kCompareModes, kNoCheckpoints)
          .except(Mode::profile, kNoProfileCheckpoints),
      flag_option({"json", "", "print the result as one JSON object"}, &T::json)
          .common(kWhichResult)
          .per_call()
          .also(Mode::status)
          .in(Command::profile, {.help = "print the device as JSON, keys as in a cluster file"})
          .in(Command::status, {.help = "print JSON"}),
      flag_option({"quiet", "", "print warnings and errors only, no progress"}, &T::quiet)
          .common(kWhichResult)
          .per_call()
          .also(kWorkerModes | Mode::server)
          .except(Mode::profile, ": a profile shows no progress")
          .in(Command::worker, {.help = "print errors only"})
          .in(Command::server, {.help = "print errors only"}),
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
