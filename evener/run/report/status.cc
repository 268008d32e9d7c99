#include "evener/run/report/status.h"

#include <nlohmann/json.hpp>

#include "evener/run/report/worker_result.h"

namespace evener {

std::string status_json(const Engine& engine, const ProgressState& state, double seconds,
                        std::uint64_t ignored) {
  nlohmann::ordered_json json{{"strategy", engine.strategy().text()},
                              {"epoch", state.epoch},
                              {"epochs", state.epochs},
                              {"training_seconds", state.training_seconds},
                              {"total_seconds", state.total_seconds},
                              {"epoch_share", state.epoch_share},
                              {"loss", state.loss},
                              {"samples_per_second", state.samples_per_second},
                              {"metrics", state.metrics},
                              {"seconds", state.seconds},
                              {"ignored_pushes", ignored}};
  const auto standings = engine.standings();
  const auto workers = worker_results(engine.timeline(), seconds);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const WorkerResult& worker = workers[i];
    json["nodes"].push_back({{"name", worker.name},
                             {"state", i < standings.size() ? standings[i] : "absent"},
                             {"pushes", worker.tasks},
                             {"updates", worker.updates},
                             {"rows", worker.rows},
                             {"busy_share", worker.compute + worker.transfer},
                             {"transfer_share", worker.transfer},
                             {"mean_staleness", worker.staleness},
                             {"bytes", worker.bytes},
                             {"rejected", worker.rejected}});
  }
  return json.dump();
}

}  // namespace evener
