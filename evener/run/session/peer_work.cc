#include "evener/run/session/peer_work.h"

#include <algorithm>
#include <numeric>

#include "evener/policy/catalogue.h"
#include "evener/run/session/cluster_job.h"
#include "evener/run/session/new_run.h"

namespace evener {

namespace {

/// Steps of each peer: those in the checkpoint. If the checkpoint has another number of peers, its
/// epochs are divided evenly.
std::vector<std::uint64_t> steps_in(const Progress& progress, const GossipWork& work,
                                    std::size_t peers) {
  if (progress.worker_steps.size() == peers) return progress.worker_steps;
  const std::uint64_t rows = progress.epoch * work.rows.size() + progress.next_row;
  return std::vector<std::uint64_t>(peers, rows / (work.batch * peers));
}

}  // namespace

GossipWork gossip_work(const TrainOptions& options, const TrainingData& data,
                       const Checkpoint& start, std::size_t peers) {
  GossipWork work;
  work.network = start.model.network;
  work.data = fingerprint_of(data);
  work.rows = data.rows;
  if (work.rows.empty()) {
    work.rows.resize(data.train.rows());
    std::iota(work.rows.begin(), work.rows.end(), 0U);
  }
  PolicyConfig config;
  config.workers = static_cast<int>(peers);
  config.batch = options.global_batch_size;
  config.batch_per_device = options.batch_size_per_device;
  work.batch = config.shared_batch();
  // Each peer has its own devices, evaluations and checkpoints.
  const TrainOptions elsewhere = with_absolute_paths(options);
  const auto own = {"cache", "cache-dir", "read-threads"};
  for (const auto& info : train_option_table()) {
    const bool shared =
        info.group == "Network" || info.group == "Optimizer" || info.group == "Training";
    if (shared && info.of_run) work.options[info.name] = info.get(options);
    const bool is_own = std::find(own.begin(), own.end(), info.name) != own.end();
    if (info.group == "Data" && !is_own) work.data_options[info.name] = info.get(elsewhere);
  }
  work.options["strategy"] = parse_strategy(strategy_of(options)).text();
  work.epochs = static_cast<double>(options.epochs);
  work.steps = steps_in(start.progress, work, peers);
  work.schedule = schedule_of(options);
  work.schedule.learning_rate *=
      static_cast<float>(rate_factor(rate_rule_of(options), config.update_rows(peers)));
  work.seed = options.seed;
  const FloatBuffer& parameters = start.model.parameters;
  work.start.assign(parameters.data(), parameters.data() + parameters.size());
  return work;
}

}  // namespace evener
