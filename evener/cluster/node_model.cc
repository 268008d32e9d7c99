#include "evener/cluster/node_model.h"

#include <utility>

#include "evener/cluster/servers.h"

namespace evener {

namespace {

/// Optimizer state is the nodes' own and stays with them.
class KeptHere final : public NodeModel {
 public:
  KeptHere(const ModelSetup& setup, std::size_t places, const Compression& compression)
      : served_(whole_shard(setup.network), places, compression, setup.merge_threads),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)) {}

  ServedShard* served() override { return &served_; }
  void absorb(const Absorb& decision) override { store().absorb(decision); }
  void reject(int node) override { store().reject(node); }
  void lose(int node) override { store().forget(node); }

  Evaluator evaluator() override {
    replica_->load(0, store().model().span());
    return {replica_.get(), 0};
  }
  FloatBuffer take(int vector) override {
    if (vector == 0) return std::move(store().model());
    return FloatBuffer(bytes() / sizeof(float));
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return;
    store().renew_all();
    store().model() = std::move(values);
  }
  std::size_t bytes() const override { return served_.pull_format.shard().size() * sizeof(float); }

 private:
  ParameterStore& store() { return served_.store; }

  ServedShard served_;
  std::unique_ptr<Replica> replica_;
};

/// The copy here is as old as the last evaluation or checkpoint.
class KeptByServers final : public NodeModel {
 public:
  KeptByServers(const ModelSetup& setup, std::size_t places, const Compression& compression,
                Servers& servers)
      : servers_(servers),
        size_(layout_of(setup.network).size),
        copy_(size_),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)) {
    servers_.keep(setup.network, places, compression);
  }

  int servers() const override { return servers_.count(); }
  void grant(int node, std::uint64_t generation, std::uint64_t sequence) override {
    servers_.grant(node, generation, sequence);
  }
  void absorb(const Absorb& decision) override { servers_.absorb(decision); }
  void reject(int node) override { servers_.reject(node); }
  void lose(int node) override { servers_.forget(node); }

  Evaluator evaluator() override {
    servers_.fetch(copy_.span());
    replica_->load(0, std::as_const(copy_).span());
    return {replica_.get(), 0};
  }
  FloatBuffer take(int vector) override {
    if (vector > 0) return FloatBuffer(size_);
    servers_.fetch(copy_.span());
    return std::move(copy_);
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return;
    copy_ = std::move(values);
    servers_.load(std::as_const(copy_).span());
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  Servers& servers_;
  std::size_t size_;
  FloatBuffer copy_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

std::unique_ptr<NodeModel> make_node_model(const ModelSetup& setup, std::size_t places,
                                           const Compression& compression) {
  return std::make_unique<KeptHere>(setup, places, compression);
}

std::unique_ptr<NodeModel> make_node_model(const ModelSetup& setup, std::size_t places,
                                           const Compression& compression, Servers& servers) {
  return std::make_unique<KeptByServers>(setup, places, compression, servers);
}

}  // namespace evener
