// A cluster that diverges, or whose pushes are refused again and again, goes back to its last
// checkpoint and on with a lower learning rate, a few times. On one machine somebody is looking: it
// ends, and says what to do.
#include <fmt/format.h>

#include "evener/run/session/peer_session.h"
#include "evener/run/session/session.h"

namespace evener {

TrainResult train(const TrainOptions& given, const RunContext& context) {
  if (context.peers) return train_peer(given, context);
  constexpr int kMostCuts = 3;
  constexpr double kCut = 0.1;
  TrainOptions options = given;
  std::vector<std::string> notes;
  for (int cut = 1;; ++cut) {
    try {
      return train_session(options, context, notes);
    } catch (const DivergedRun& run) {
      if (context.nodes && cut > kMostCuts) context.nodes->fail(run.what());
      if (!context.nodes || cut > kMostCuts) throw;
      options = resolve_options({{"resume", run.directory}}, "");
      options.learning_rate *= kCut;
      options.quiet = given.quiet;
      options.json = given.json;
      options.mode = given.mode;
      notes = {
          fmt::format("rolled back to the last checkpoint ({} of {} times), and on with "
                      "--learning-rate {:g}: {}",
                      cut, kMostCuts, options.learning_rate, run.reason)};
    } catch (const std::exception& problem) {
      if (context.nodes) context.nodes->fail(problem.what());
      throw;
    }
  }
}

}  // namespace evener
