#include "evener/run/session/train.h"

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/run/options/config.h"
#include "evener/run/session/run_session.h"

namespace evener {

namespace {

/// An unattended run that diverges, or whose pushes are refused again and again, rolls back to its
/// last checkpoint and continues with a lower learning rate, a few times. Other runs end with a
/// message that says how to continue.
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
      options.mode = given.mode;
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

TrainResult train(const TrainOptions& options, Backend& backend, const RunContext& context) {
  return train_with_rollback(options, nullptr, backend, context);
}

TrainResult train(const TrainOptions& options, const TrainingData& data, Backend& backend,
                  const RunContext& context) {
  return train_with_rollback(options, &data, backend, context);
}

}  // namespace evener
