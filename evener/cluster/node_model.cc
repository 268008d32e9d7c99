#include "evener/cluster/node_model.h"

#include <algorithm>
#include <utility>

#include "evener/cluster/servers.h"

namespace evener {

namespace {

/// What is the same wherever the model is: nodes remember more than it.
class ClusterModel : public NodeModel {
 public:
  ClusterModel(const ModelSetup& setup, std::size_t places, const Compression& compression,
               NodeMemories& memories)
      : size_(layout_of(setup.network).size),
        states_(static_cast<std::size_t>(state_vectors(setup.training.optimizer))),
        compresses_(compression.active()),
        applied_(places, 0),
        memories_(memories),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)) {
    memories_.begin(setup.network);
  }

  void absorb(const Absorb& decision) override {
    for (const int node : decision.workers) applied_[static_cast<std::size_t>(node)] = 1;
  }
  void reject(int node) override { applied_[static_cast<std::size_t>(node)] = 0; }

  KeptVectors keep() override {
    KeptVectors kept;
    keep_momentum(kept);
    std::vector<NodeMemory> memories = memories_.recall(applied_);
    state_.clear();
    for (std::size_t i = 0; i < memories.size(); ++i) {
      for (std::size_t k = 0; k < memories[i].size(); ++k) {
        FloatBuffer& vector = kept[kept_name(i, k + 1)] = std::move(memories[i][k]);
        if (i == 0 && k < states_) std::copy_n(vector.data(), size_, state_of(k).data());
      }
    }
    return kept;
  }
  void restore(KeptVectors kept) override {
    restore_momentum(std::move(kept[kServerMomentum]));
    for (std::size_t k = 0; k < states_; ++k) state_of(k);
    if (compresses_) state_.emplace_back(size_);
    std::vector<NodeMemory> memories;
    for (std::size_t i = 0; i < applied_.size(); ++i) {
      memories.push_back(memory_from(kept, i, state_));
    }
    memories_.remember(std::move(memories));
    state_.clear();
  }
  void resume() override { state_.clear(); }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 protected:
  virtual void keep_momentum(KeptVectors& kept) = 0;
  virtual void restore_momentum(FloatBuffer momentum) = 0;

  Evaluator evaluate(std::span<const float> model) {
    replica_->load(0, model);
    return {replica_.get(), 0};
  }
  // Optimizer state is the nodes' own: this is the first's, for a run that goes on otherwise.
  FloatBuffer take_state(int vector) {
    return std::move(state_of(static_cast<std::size_t>(vector) - 1));
  }
  void give_state(int vector, FloatBuffer values) {
    state_of(static_cast<std::size_t>(vector) - 1) = std::move(values);
  }

  std::size_t size_;

 private:
  FloatBuffer& state_of(std::size_t k) {
    while (state_.size() <= k) state_.emplace_back(size_);
    return state_[k];
  }

  std::size_t states_;  // vectors of the optimizer
  bool compresses_;
  std::vector<char> applied_;  // what became of each node's last push
  NodeMemories& memories_;
  NodeMemory state_;  // between keep and take, and between give and restore
  std::unique_ptr<Replica> replica_;
};

class KeptHere final : public ClusterModel {
 public:
  KeptHere(const ModelSetup& setup, std::size_t places, const Compression& compression,
           NodeMemories& memories)
      : ClusterModel(setup, places, compression, memories),
        served_(whole_shard(setup.network), places, compression, setup.merge_threads) {}

  ServedShard* served() override { return &served_; }
  void absorb(const Absorb& decision) override {
    ClusterModel::absorb(decision);
    store().absorb(decision);
  }
  void reject(int node) override {
    ClusterModel::reject(node);
    store().reject(node);
  }
  void lose(int node) override { store().forget(node); }

  Evaluator evaluator() override { return evaluate(store().model().span()); }
  FloatBuffer take(int vector) override {
    return vector > 0 ? take_state(vector) : std::move(store().model());
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return give_state(vector, std::move(values));
    store().renew_all();
    store().model() = std::move(values);
  }

 private:
  ParameterStore& store() { return served_.store; }
  void keep_momentum(KeptVectors& kept) override {
    keep_copy(store().momentum(), kServerMomentum, kept);
  }
  void restore_momentum(FloatBuffer momentum) override {
    store().set_momentum(std::move(momentum));
  }

  ServedShard served_;
};

/// The copy here is as old as the last evaluation or checkpoint.
class KeptByServers final : public ClusterModel {
 public:
  KeptByServers(const ModelSetup& setup, std::size_t places, const Compression& compression,
                NodeMemories& memories, Servers& servers)
      : ClusterModel(setup, places, compression, memories), servers_(servers), copy_(size_) {
    servers_.keep(setup.network, places, compression);
  }

  int servers() const override { return servers_.count(); }
  void grant(int node, std::uint64_t generation, std::uint64_t sequence) override {
    servers_.grant(node, generation, sequence);
  }
  void absorb(const Absorb& decision) override {
    ClusterModel::absorb(decision);
    has_momentum_ = has_momentum_ || decision.momentum > 0;
    servers_.absorb(decision);
  }
  void reject(int node) override {
    ClusterModel::reject(node);
    servers_.reject(node);
  }
  void lose(int node) override { servers_.forget(node); }

  Evaluator evaluator() override {
    servers_.fetch(0, copy_.span());
    return evaluate(std::as_const(copy_).span());
  }
  FloatBuffer take(int vector) override {
    if (vector > 0) return take_state(vector);
    servers_.fetch(0, copy_.span());
    return std::move(copy_);
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return give_state(vector, std::move(values));
    copy_ = std::move(values);
    servers_.load(0, std::as_const(copy_).span());
  }

 private:
  void keep_momentum(KeptVectors& kept) override {
    if (!has_momentum_) return;
    FloatBuffer momentum(size_);
    servers_.fetch(1, momentum.span());
    kept[kServerMomentum] = std::move(momentum);
  }
  void restore_momentum(FloatBuffer momentum) override {
    has_momentum_ = momentum.size() > 0;
    if (has_momentum_) servers_.load(1, momentum.span());
  }

  Servers& servers_;
  FloatBuffer copy_;
  bool has_momentum_ = false;
};

}  // namespace

std::unique_ptr<NodeModel> make_node_model(const ModelSetup& setup, std::size_t places,
                                           const Compression& compression, NodeMemories& memories) {
  return std::make_unique<KeptHere>(setup, places, compression, memories);
}

std::unique_ptr<NodeModel> make_node_model(const ModelSetup& setup, std::size_t places,
                                           const Compression& compression, NodeMemories& memories,
                                           Servers& servers) {
  return std::make_unique<KeptByServers>(setup, places, compression, memories, servers);
}

}  // namespace evener
