#include "evener/cluster/node_model.h"

#include <utility>

namespace evener {

namespace {

class ClusterModel final : public NodeModel {
 public:
  ClusterModel(const ModelSetup& setup, std::size_t places, const Compression& compression)
      : size_(layout_of(setup.network).size),
        pull_format_(setup.network, {}),
        push_format_(setup.network, compression),
        store_(setup.network, places, setup.merge_threads),
        replica_(setup.devices.front()->make_replica(setup.network, setup.training)) {}

  ParameterStore& store() override { return store_; }
  const PayloadFormat& pull_format() const override { return pull_format_; }
  const PayloadFormat& push_format() const override { return push_format_; }

  double compute(const Task& /*task*/) override {
    throw Error("tasks of a cluster run on its nodes");
  }
  void absorb(const Absorb& decision) override { store_.absorb(decision); }
  void reject(int node) override { store_.reject(node); }
  void lose(int node) override { store_.forget(node); }

  Evaluator evaluator() override {
    replica_->load(0, store_.model().span());
    return {replica_.get(), 0};
  }
  /// Optimizer state is the nodes' own and stays with them.
  FloatBuffer take(int vector) override {
    if (vector == 0) return std::move(store_.model());
    return FloatBuffer(size_);
  }
  void give(int vector, FloatBuffer values) override {
    if (vector > 0) return;
    store_.renew_all();
    store_.model() = std::move(values);
  }
  std::size_t bytes() const override { return size_ * sizeof(float); }

 private:
  std::size_t size_;
  PayloadFormat pull_format_, push_format_;
  ParameterStore store_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

std::unique_ptr<NodeModel> make_node_model(const ModelSetup& setup, std::size_t places,
                                           const Compression& compression) {
  return std::make_unique<ClusterModel>(setup, places, compression);
}

}  // namespace evener
