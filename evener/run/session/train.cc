#include "evener/run/session/train.h"

#include <filesystem>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/run/options/config.h"
#include "evener/run/session/run_session.h"

namespace evener {

namespace {

namespace fs = std::filesystem;

/// `evener train FOLDER` trains on its train.* and evaluates on its test.*, if it has one.
void use_folder(TrainOptions& options) {
  const std::string folder = options.data;
  if (!fs::is_directory(folder)) return;
  options.data = data_file(folder, "train");
  if (options.data.empty()) throw UsageError(folder + ": is a folder without a train.* file");
  if (options.test.empty() && options.validation_share == 0) {
    options.test = data_file(folder, "test");
  }
}

/// An unattended run that diverges, or whose pushes are refused again and again, rolls back to its
/// last checkpoint and continues with a lower learning rate, a few times. Other runs end and say
/// what to do.
TrainResult train_with_rollback(const TrainOptions& given, const TrainingData* data,
                                Backend& backend, const RunContext& context) {
  constexpr int kMostRollbacks = 3;
  constexpr double kRateFactor = 0.1;
  TrainOptions options = given;
  SessionOptions session;
  for (int rollback = 1;; ++rollback) {
    try {
      return run_session(options, data, backend, context, session);
    } catch (const DivergedRun& run) {
      if (!backend.is_unattended() || rollback > kMostRollbacks) {
        backend.give_up(run.what());
        throw;
      }
      options = resolve_options({{"resume", run.directory}}, "");
      options.learning_rate *= kRateFactor;
      options.quiet = given.quiet;
      options.json = given.json;
      session.notes = {
          fmt::format("rolled back to the last checkpoint ({} of {} times), and on with "
                      "--learning-rate {:g}: {}",
                      rollback, kMostRollbacks, options.learning_rate, run.reason)};
    } catch (const std::exception& problem) {
      backend.give_up(problem.what());
      throw;
    }
  }
}

}  // namespace

TrainOptions resolve_options(const OptionTexts& given, const std::string& config) {
  const OptionTexts from_file = config.empty() ? OptionTexts{} : read_config(config);
  std::string resume;
  for (const auto* texts : {&from_file, &given}) {
    if (const auto found = texts->find("resume"); found != texts->end()) resume = found->second;
  }
  TrainOptions options;
  if (!resume.empty()) {
    const std::string path = resume + "/config.toml";
    if (!fs::exists(path)) throw UsageError(resume + ": is not a run directory (no config.toml)");
    apply_option_texts(read_config(path), options);
  }
  apply_option_texts(from_file, options);
  apply_option_texts(given, options);
  if (options.data.empty()) throw UsageError("no training data given: name a file or a folder");
  use_folder(options);
  if (!resume.empty() && !options.output.empty()) {
    throw UsageError("--resume goes on in the same run directory: leave -o out");
  }
  check_options(options);
  return options;
}

TrainResult train(const TrainOptions& options, Backend& backend, const RunContext& context) {
  return train_with_rollback(options, nullptr, backend, context);
}

TrainResult train(const TrainOptions& options, const TrainingData& data, Backend& backend,
                  const RunContext& context) {
  return train_with_rollback(options, &data, backend, context);
}

}  // namespace evener
