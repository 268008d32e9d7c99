// Synchronous data parallelism, what MirroredStrategy and DDP do: each batch is cut into one part a
// worker, and one update is made from the gradient of all parts. g = sum_i (rows_i / sum rows) g_i.
// split=equal is what they do. Ours: split=speed (parts_by_speed.h). Until the speeds are known the
// batch is cut into small pieces (batch_pieces.h), and the next one goes to the worker that is
// free. The updates are the same.
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "evener/policy/batch_pieces.h"
#include "evener/policy/parts_by_speed.h"
#include "evener/policy/rounds.h"

namespace evener {

namespace {

class Sync final : public Rounds {
 public:
  explicit Sync(const PolicyConfig& config)
      : Rounds(1, config.shared_batch(), Work::gradient),
        by_speed_(config.values.is("split", "speed")),
        config_(config) {}

 private:
  Decision end_of_round(const std::vector<std::size_t>& rows) override {
    const auto total =
        static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::size_t{0}));
    Apply apply;
    for (const std::size_t part : rows) apply.weights.push_back(static_cast<double>(part) / total);
    return apply;
  }

  void finished(const Finished& event) override { speeds_.finished(event); }
  /// A demoted worker may be the only one now.
  void left(int /*worker*/) override { speeds_.reset(); }

  std::size_t update_rows(std::size_t workers) const override {
    return config_.update_rows(workers);
  }
  std::vector<std::size_t> parts(const std::vector<int>& workers) override {
    if (!by_speed_) return Rounds::parts(workers);
    const std::size_t batch = update_rows(workers.size());
    const bool known = workers.size() == 1 || speeds_.knows(workers);
    pieces_ = known ? BatchPieces{} : split_into_pieces(batch, workers.size());
    if (pieces_.pieces > 0) {
      pieces_.pieces -= workers.size();
      return std::vector(workers.size(), pieces_.rows);
    }
    PartsBySpeed::Parts split = speeds_.split(batch, workers);
    for (const auto& [worker, share] : split.demotions) {
      note(
          fmt::format("decided: {} is demoted: it did {:.1f} % of the rows, and each round "
                      "waits for it",
                      name(worker), 100 * share));
    }
    return std::move(split.rows);
  }
  std::size_t again(std::size_t /*done*/) override {
    if (pieces_.pieces == 0) return 0;
    --pieces_.pieces;
    return pieces_.rows;
  }

  bool by_speed_;
  PolicyConfig config_;
  PartsBySpeed speeds_;
  BatchPieces pieces_;  // the rest of a batch that is assigned in pieces
};

}  // namespace

Strategy sync_strategy() {
  return {.name = "sync",
          .line = "a part of each batch on every device, one update from the sum of gradients",
          .paper = "what PyTorch DDP and TensorFlow MirroredStrategy do",
          .order = 50,
          .sharing = Sharing::gradients,
          .options = {word_option("split", {"equal", "speed"},
                                  "parts of a batch: equal, or by the devices' speed (ours)")},
          .make = [](const PolicyConfig& config) { return std::make_unique<Sync>(config); },
          // The updates that one device would make: decision 11.
          .automatic = {{AutoFor::several_devices, "split=speed"}}};
}

}  // namespace evener
