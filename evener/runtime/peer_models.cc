// One replica per gossip peer, in one process, and no shared model: two peers at a time exchange
// their replicas (peer_replica.h). The global model is the mean of all; it is only evaluated and
// saved.
#include <algorithm>
#include <map>
#include <utility>

#include "evener/runtime/model_kinds.h"
#include "evener/runtime/peer_replica.h"
#include "evener/runtime/replica_distance.h"

namespace evener {

namespace {

struct Peer {
  PeerReplica replica;
  bool present = true;
  ModelUpdate offered{};  // its last offer
};

class PeerModels final : public PeerSharing {
 public:
  PeerModels(const ModelSetup& setup, const PeerOptions& options)
      : size_(layout_of(setup.network).size), global_(size_) {
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      peers_.push_back({PeerReplica(
          setup.devices[i]->make_replica(setup.network, training_of_worker(setup.training, i)),
          setup.network, *setup.data, options)});
    }
  }

  double compute(const Task& task) override { return at(task.worker).replica.train(task); }
  bool prefetches(int worker) const override {
    return peers_[static_cast<std::size_t>(worker)].replica.device().remote();
  }
  double change(int worker) const override {
    return peers_[static_cast<std::size_t>(worker)].replica.change();
  }

  std::size_t offer(const Offer& decision) override {
    Peer& peer = at(decision.worker);
    on_device(decision.worker, [&] { peer.offered = peer.replica.offer(); });
    offers_[{decision.worker, decision.to}] = peer.offered;
    return peer.offered.bytes();
  }
  std::size_t answer(const Answer& decision) override {
    const ModelUpdate& offer = offers_[{decision.to, decision.worker}];
    ModelUpdate mine;
    on_device(decision.worker, [&] { mine = at(decision.worker).replica.answer(offer); });
    const std::size_t bytes = mine.bytes();
    replies_[{decision.worker, decision.to}] = std::move(mine);
    return bytes;
  }
  void complete_exchange(const CompleteExchange& decision) override {
    Peer& peer = at(decision.worker);
    const ModelUpdate& reply = replies_[{decision.from, decision.worker}];
    on_device(decision.worker, [&] { peer.replica.complete_exchange(peer.offered, reply); });
  }

  void average() override {
    while (!average_of_present()) first();  // a device has failed: repeat without it
  }
  double distance() override {
    std::vector<FloatBuffer> models(peers_.size());
    for (int i = 0; i < static_cast<int>(peers_.size()); ++i) {
      FloatBuffer& own = models[static_cast<std::size_t>(i)];
      on_device(i, [&] { own = at(i).replica.device().take(0); });
    }
    const double distance = replica_distance(models);
    for (int i = 0; i < static_cast<int>(peers_.size()); ++i) {
      FloatBuffer& own = models[static_cast<std::size_t>(i)];
      if (own.size() > 0) {
        on_device(i, [&] { at(i).replica.device().give(0, std::move(own)); });
      }
    }
    return distance;
  }

  void lose(int worker) override {
    at(worker).present = false;
    if (evaluating_ == worker) evaluating_ = -1;
  }

  Evaluator evaluator() override {
    while (evaluating_ < 0) {
      const int worker = first();
      Replica& replica = at(worker).replica.device();
      on_device(worker, [&] {
        kept_ = replica.take(0);
        FloatBuffer mean(size_);
        std::copy_n(global_.data(), size_, mean.data());
        replica.give(0, std::move(mean));
      });
      if (at(worker).present) evaluating_ = worker;
    }
    return {&at(evaluating_).replica.device(), evaluating_};
  }
  void resume() override {
    if (evaluating_ >= 0) {
      const int worker = std::exchange(evaluating_, -1);
      on_device(worker, [&] {
        at(worker).replica.device().take(0);
        at(worker).replica.device().give(0, std::move(kept_));
      });
    }
    if (!std::exchange(stale_, false)) return;
    for (int i = 0; i < static_cast<int>(peers_.size()); ++i) {
      on_device(i, [&] { at(i).replica.start_from(global_.span()); });
    }
  }

  /// Each peer has its own optimizer state: this is the state of the first peer.
  FloatBuffer take(int vector) override {
    if (evaluating_ >= 0) resume();
    if (vector == 0) return std::move(global_);
    for (;;) {
      const int worker = first();
      FloatBuffer values;
      on_device(worker, [&] { values = at(worker).replica.device().take(vector); });
      if (at(worker).present) return values;
    }
  }
  void give(int vector, FloatBuffer values) override {
    if (vector == 0) {
      global_ = std::move(values);
      return;
    }
    const int owner = first();
    for (int i = 0; stale_ && i < static_cast<int>(peers_.size()); ++i) {
      if (i != owner) on_device(i, [&] { at(i).replica.device().load(vector, values.span()); });
    }
    on_device(owner, [&] { at(owner).replica.device().give(vector, std::move(values)); });
  }
  void restart() override { stale_ = true; }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  bool average_of_present() {
    std::fill_n(global_.data(), size_, 0.0F);
    double sum = 0;
    for (const auto& peer : peers_) sum += peer.present ? peer.replica.weight() : 0;
    bool all_there = true;
    for (int i = 0; i < static_cast<int>(peers_.size()); ++i) {
      if (!at(i).present) continue;
      const auto share = static_cast<float>(at(i).replica.weight() / sum);
      look(i, [&](std::span<const float> own) {
        for (std::size_t j = 0; j < size_; ++j) global_[j] += share * own[j];
      });
      all_there = all_there && at(i).present;
    }
    return all_there;
  }
  Peer& at(int worker) { return peers_[static_cast<std::size_t>(worker)]; }
  int first() const {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (peers_[i].present) return static_cast<int>(i);
    }
    throw DeviceError("every device has failed");
  }
  template <class F>
  void on_device(int worker, F work) {
    Peer& peer = at(worker);
    if (peer.present) peer.present = attempt(static_cast<std::size_t>(worker), true, work);
  }
  template <class F>
  void look(int worker, F read) {
    on_device(worker, [&] { at(worker).replica.look(read); });
  }

  std::size_t size_;
  FloatBuffer global_;
  std::vector<Peer> peers_;
  std::map<std::pair<int, int>, ModelUpdate> offers_, replies_;  // the last one, by from and to
  FloatBuffer kept_;  // parameters of the replica that evaluates, until resume()
  int evaluating_ = -1;
  bool stale_ = true;  // resume() must load the global model into the replicas
};

}  // namespace

std::unique_ptr<PeerSharing> make_peer_models(const ModelSetup& setup, const PeerOptions& options) {
  return std::make_unique<PeerModels>(setup, options);
}

}  // namespace evener
