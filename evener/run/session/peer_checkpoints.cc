#include "evener/run/session/peer_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "evener/runtime/models.h"

namespace evener {

namespace {

// Beside the options in a checkpoint: whose it is, its weight and how far it was behind.
constexpr const char* kMemoryKey = "peer memory";

std::string reference_name(int rank, std::size_t optimizer_vectors) {
  return kept_name(static_cast<std::size_t>(rank), optimizer_vectors + 1);
}

}  // namespace

std::shared_ptr<const PeerReplicaState> peer_state_in(Checkpoint& start, int rank) {
  auto memory = std::make_shared<PeerReplicaState>();
  memory->optimizer = std::exchange(start.state, {});
  auto kept = std::exchange(start.kept, {});
  const auto text = start.options.find(kMemoryKey);
  if (text == start.options.end()) return memory;
  int owner = -1;
  std::istringstream(text->second) >> owner >> memory->weight >> memory->behind;
  if (owner != rank) {
    memory->weight = 1;
    memory->behind = 0;
    return memory;
  }
  memory->reference = std::move(kept[reference_name(rank, memory->optimizer.size())]);
  return memory;
}

std::vector<std::uint64_t> steps_in(const Checkpoint& start, const GossipWork& work,
                                    std::size_t peers) {
  const Progress& progress = start.progress;
  if (progress.worker_steps.size() == peers) return progress.worker_steps;
  const std::uint64_t rows = progress.epoch * work.rows.size() + progress.next_row;
  return std::vector<std::uint64_t>(peers, rows / (work.batch * peers));
}

PeerCheckpoints::PeerCheckpoints(const TrainOptions& options, const GossipWork& work, int rank,
                                 Checkpoint& start, const RunDirectory* directory)
    : options_(options),
      work_(work),
      rank_(rank),
      current_(start),
      directory_(directory),
      seconds_before_(start.progress.seconds),
      last_epochs_(epochs_done(work, work.steps)) {}

bool PeerCheckpoints::due(double epochs) const {
  if (directory_ == nullptr) return false;
  const auto every = static_cast<double>(options_.checkpoint_every);
  const Seconds time = 60 * options_.checkpoint_minutes;
  return (every > 0 && std::floor(epochs / every) > std::floor(last_epochs_ / every)) ||
         (time > 0 && clock_.elapsed() - last_ >= time);
}

void PeerCheckpoints::save(std::span<const float> model, PeerReplicaState memory,
                           const std::vector<std::uint64_t>& steps) {
  if (directory_ == nullptr) return;
  std::copy_n(model.data(), model.size(), current_.model.parameters.data());
  current_.options[kMemoryKey] = fmt::format("{} {} {}", rank_, memory.weight, memory.behind);
  current_.state = std::move(memory.optimizer);
  current_.kept.clear();
  if (memory.reference.size() > 0) {
    current_.kept[reference_name(rank_, current_.state.size())] = std::move(memory.reference);
  }
  const double epochs = epochs_done(work_, steps);
  Progress& progress = current_.progress;
  progress.worker_steps = steps;
  progress.step = std::accumulate(steps.begin(), steps.end(), std::uint64_t{0});
  progress.epoch = static_cast<std::uint64_t>(epochs);
  progress.next_row = static_cast<std::uint64_t>((epochs - std::floor(epochs)) *
                                                 static_cast<double>(work_.rows.size()));
  progress.seconds = seconds_before_ + clock_.elapsed();
  save_checkpoint(current_, directory_->checkpoints(), static_cast<int>(options_.keep));
  current_.state.clear();  // the device has it
  current_.kept.clear();
  last_epochs_ = epochs;
  last_ = clock_.elapsed();
}

}  // namespace evener
