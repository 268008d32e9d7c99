#include "evener/run/peer_checkpoints.h"

#include <algorithm>
#include <cmath>

namespace evener {

PeerCheckpoints::PeerCheckpoints(const TrainOptions& options, const GossipWork& work,
                                 Checkpoint& start, const RunDirectory* directory)
    : options_(options),
      work_(work),
      current_(start),
      directory_(directory),
      seconds_before_(start.progress.seconds),
      last_epochs_(work.done) {}

bool PeerCheckpoints::due(double epochs) const {
  if (directory_ == nullptr) return false;
  const auto every = static_cast<double>(options_.checkpoint_every);
  const Seconds time = 60 * options_.checkpoint_minutes;
  return (every > 0 && std::floor(epochs / every) > std::floor(last_epochs_ / every)) ||
         (time > 0 && clock_.elapsed() - last_ >= time);
}

void PeerCheckpoints::save(std::span<const float> model, double epochs) {
  if (directory_ == nullptr) return;
  std::copy_n(model.data(), model.size(), current_.model.parameters.data());
  const auto rows = static_cast<double>(work_.rows.size());
  Progress& progress = current_.progress;
  progress.step =
      static_cast<std::uint64_t>(std::llround(epochs * rows / static_cast<double>(work_.batch)));
  progress.epoch = static_cast<std::uint64_t>(epochs);
  progress.next_row = static_cast<std::uint64_t>((epochs - std::floor(epochs)) * rows);
  progress.seconds = seconds_before_ + clock_.elapsed();
  save_checkpoint(current_, directory_->checkpoints(), static_cast<int>(options_.keep));
  last_epochs_ = epochs;
  last_ = clock_.elapsed();
}

}  // namespace evener
