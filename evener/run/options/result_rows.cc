#include "evener/run/options/result_rows.h"

#include <cstdint>
#include <limits>
#include <string>

namespace evener {

namespace {

using T = TrainOptions;

// Reasons, as the end of a message that begins with the option's name.
constexpr const char* kNoCheckpoints = ": a comparison writes no checkpoints";
constexpr const char* kNoProfileCheckpoints = ": a profile writes no checkpoints";
constexpr const char* kToTheEnd = ": every run of a comparison trains to the end";

Need evaluates() {
  return condition([](const T& o) { return !o.test.empty() || o.validation_share > 0; },
                   "needs something to evaluate on: --test or --validation-share");
}

}  // namespace

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
          .except(kCompareModes, kToTheEnd)
          .except(kGossipModes, kNotForGossip)
          .except(Mode::profile, kNoEvaluation)
          .needs(evaluates()),
      integer_option({"patience", "epochs", "early stop: epochs without a new best"}, &T::patience,
                     1, kMany)
          .common(kWhichResult)
          .except(kCompareModes, kToTheEnd)
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
      path_option({"resume", "", "continue the run in this directory, with its options"},
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

}  // namespace evener
