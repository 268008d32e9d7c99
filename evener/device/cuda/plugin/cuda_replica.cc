#include "evener/device/cuda/plugin/cuda_replica.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "evener/device/cuda/plugin/input_layer.h"
#include "evener/device/cuda/plugin/merges.h"
#include "evener/device/cuda/plugin/output_layer.h"
#include "evener/device/cuda/plugin/row_copies.h"

namespace evener::cuda {

namespace {

/// Puts words to what failed, around everything that talks to the card.
template <class F>
std::invoke_result_t<F> worded(const OpenCard& card, const char* what, F work) {
  try {
    use(card);
    return work();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{}: {}: {}", card.name, what, error.what()));
  }
}

class CudaReplica final : public Replica {
 public:
  CudaReplica(std::shared_ptr<OpenCard> card, const Network& network, const Training& training);

  using Replica::step;
  double step(const Batch& batch, const Step& step, const NextStep* next) override;
  void predict(const Batch& batch, Predictions& out) override;
  int vectors() const override { return static_cast<int>(session_.vectors.size()); }
  FloatBuffer take(int vector) override;
  void give(int vector, FloatBuffer values) override { load(vector, values.span()); }
  void load(int vector, std::span<const float> values) override;
  void store(int vector, std::span<float> values) override;
  bool remote() const override { return true; }
  void load_blocks(int vector, const Blocks& blocks, std::span<const float> values) override {
    guarded("loading rows", [&] { copies_.load(data_of(vector), blocks, values); });
  }
  void store_blocks(int vector, const Blocks& blocks, std::span<float> values) override {
    guarded("reading rows", [&] { copies_.store(data_of(vector), blocks, values); });
  }
  void clear_blocks(int vector, const Blocks& blocks) override {
    guarded("clearing rows", [&] { copies_.clear(data_of(vector), blocks); });
  }
  bool sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                  std::span<const float> weights, std::span<float> values) override;
  bool adopt_blocks(const Blocks& blocks, Replica& owner) override;

 private:
  float* data_of(int vector) const {
    return session_.vectors.at(static_cast<std::size_t>(vector)).data();
  }
  template <class F>
  std::invoke_result_t<F> guarded(const char* what, F work) {
    try {
      return worded(*session_.card, what, std::move(work));
    } catch (...) {
      session_.drain();
      throw;
    }
  }

  /// Makes `merges_` one between these replicas; false where there is none.
  bool connect(std::span<CudaReplica* const> replicas);

  void reserve();
  void allocate();
  void forward(const Step& step);
  void backward(const Step& step, const UpdateRule& rule);
  void activate_layer(std::size_t layer, Activity& activity, const Step& step);
  void derive_layer(std::size_t layer, Activity& activity, const Step& step);
  /// 1 where layer 0 of the network is sparse: activity i is then the output of layer i.
  std::size_t sparse() const { return session_.network.sparse_input() ? 1 : 0; }

  Session session_;
  InputLayer input_;
  DenseLayers dense_;
  OutputLayer output_;
  RowCopies copies_;
  // Activity i is the input of dense layer i: with sparse input, activity 0 is the first hidden
  // layer's; with dense input it is the features themselves.
  std::vector<Activity> activities_;
  CardArray<float> merged_;         // blocks, packed
  std::unique_ptr<Merges> merges_;  // of the replica that was asked to sum
  std::vector<int> merging_;        // the cards it is between
};

CudaReplica::CudaReplica(std::shared_ptr<OpenCard> card, const Network& network,
                         const Training& training)
    : session_(std::move(card), network, training),
      input_(session_),
      dense_(session_),
      output_(session_, dense_),
      copies_(session_) {
  if (!network.sparse_input()) {
    activities_.push_back({network.features, padded(network.features), {}, {}});
  }
  for (const std::uint32_t units : network.hidden) {
    activities_.push_back({units, padded(units), {}, {}});
  }
}

FloatBuffer CudaReplica::take(int vector) {
  FloatBuffer values(session_.layout.size);
  store(vector, values.span());
  return values;
}

void CudaReplica::load(int vector, std::span<const float> values) {
  assert(values.size() == session_.layout.size);
  guarded("loading the model", [&] {
    copy_to_card(session_.stream, data_of(vector), values);
    session_.stream.wait();
  });
}

void CudaReplica::store(int vector, std::span<float> values) {
  assert(values.size() == session_.layout.size);
  guarded("reading the model", [&] {
    copy_to_host<float>(session_.stream, values, data_of(vector));
    session_.stream.wait();
  });
}

bool CudaReplica::connect(std::span<CudaReplica* const> replicas) {
  std::vector<int> cards;
  for (const CudaReplica* replica : replicas) cards.push_back(replica->session_.card->number);
  if (cards == merging_) return merges_ != nullptr;
  merges_.reset();
  merging_ = cards;
  std::sort(cards.begin(), cards.end());
  if (std::adjacent_find(cards.begin(), cards.end()) != cards.end()) return false;
  merges_ = make_merges(merging_);
  return merges_ != nullptr;
}

// Each card packs its blocks; NCCL leaves their weighted sum on all of them.
bool CudaReplica::sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                             std::span<const float> weights, std::span<float> values) {
  const std::size_t size = copies_.packed_size(blocks);
  std::vector<CudaReplica*> all;
  for (Replica* replica : replicas) {
    auto* on_card = dynamic_cast<CudaReplica*>(replica);
    if (on_card == nullptr) return false;
    if (on_card->merged_.size() < size &&
        !on_card->session_.footprint.has_room_for(session_.layout.size * sizeof(float))) {
      return false;
    }
    all.push_back(on_card);
  }
  return guarded("merging replicas", [&] {
    if (!connect(all)) return false;
    std::vector<Merges::Member> members;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CudaReplica& replica = *all[i];
      replica.guarded("merging replicas", [&] {
        if (replica.merged_.size() < size) replica.merged_.renew(session_.layout.size);
        replica.copies_.pack(replica.data_of(0), blocks, replica.merged_.data());
      });
      members.push_back({replica.merged_.data(), weights[i], replica.session_.stream});
    }
    merges_->merge(members, size);
    for (CudaReplica* replica : all) {
      replica->guarded("merging replicas", [&] { replica->session_.stream.wait(); });
    }
    use(*session_.card);
    copies_.unpack(data_of(0), blocks, merged_.data());
    copies_.store(data_of(0), blocks, values);
    return true;
  });
}

bool CudaReplica::adopt_blocks(const Blocks& blocks, Replica& owner) {
  if (&owner == this) return true;  // has it already
  if (dynamic_cast<CudaReplica*>(&owner) == nullptr) return false;
  guarded("merging replicas", [&] { copies_.unpack(data_of(0), blocks, merged_.data()); });
  return true;
}

void CudaReplica::reserve() {
  if (session_.image().count > session_.capacity) {
    session_.capacity = session_.image().count;
    try {
      allocate();
    } catch (...) {
      session_.capacity = 0;  // some of it is there; the next batch must not count on the rest
      throw;
    }
  }
  output_.begin();
}

void CudaReplica::allocate() {
  std::size_t widest = 0;
  for (auto& activity : activities_) {
    for (auto* array : {&activity.values, &activity.error}) {
      array->renew(activity.width * session_.capacity);
      fill_zero(session_.stream, *array);
    }
    widest = std::max(widest, activity.units);
  }
  output_.reserve();
  dense_.reserve(std::max(output_.chunk_labels(), widest));
}

void CudaReplica::activate_layer(std::size_t layer, Activity& activity, const Step& step) {
  activate(session_.stream, activity.values.data(), activity.width, session_.image().count,
           activity.units, session_.parameters() + session_.layout.layers[layer].bias.offset,
           session_.network.activation, dropout_for(session_.mask(layer + 1, step)));
}

void CudaReplica::derive_layer(std::size_t layer, Activity& activity, const Step& step) {
  derive(session_.stream, activity.values.data(), activity.error.data(), activity.width,
         session_.image().count, activity.units, session_.network.activation,
         dropout_for(session_.mask(layer + 1, step)));
}

void CudaReplica::forward(const Step& step) {
  if (sparse() == 0) {
    input_.scatter_to(activities_.front());
  } else {
    input_.multiply(activities_.front());
    activate_layer(0, activities_.front(), step);
  }
  for (std::size_t i = 0; i + 1 < activities_.size(); ++i) {
    Activity& out = activities_[i + 1];
    const std::size_t layer = i + sparse();
    dense_.forward(session_.layout.layers[layer], 0, out.units, activities_[i], out.values.data(),
                   out.width);
    activate_layer(layer, out, step);
  }
}

// Below the output layer, which left the error of the last activity.
void CudaReplica::backward(const Step& step, const UpdateRule& rule) {
  for (std::size_t i = activities_.size() - 1; i > 0; --i) {
    Activity& at = activities_[i];
    const Activity& in = activities_[i - 1];
    const std::size_t layer = i - 1 + sparse();
    const LayerSegments& segments = session_.layout.layers[layer];
    derive_layer(layer, at, step);
    const bool is_input = i == 1 && sparse() == 0;  // the features need no error
    if (!is_input) {
      dense_.backward(segments, 0, at.units, at.error.data(), at.width, in, true);
    }
    dense_.update(segments, 0, at.units, at.error.data(), at.width, in, rule);
  }
  if (sparse() == 0) return;
  derive_layer(0, activities_.front(), step);
  input_.update(activities_.front(), rule);
}

double CudaReplica::step(const Batch& batch, const Step& step, const NextStep* next) {
  return guarded("training step", [&] {
    const UpdateRule rule = update_rule(session_.training, step);
    session_.begin(batch, step, true);
    reserve();
    forward(step);
    const bool wants_error = activities_.size() > 1 || sparse() == 1;
    output_.train(activities_.back(), rule, wants_error);
    backward(step, rule);
    output_.read_losses();
    if (next != nullptr) session_.prepare(next->batch, next->step);
    session_.stream.wait();
    return output_.total_loss() / static_cast<double>(batch.rows.size());
  });
}

void CudaReplica::predict(const Batch& batch, Predictions& out) {
  const Step no_step{.number = 0};
  session_.footprint.in_pieces(batch, [&](const Batch& piece) {
    guarded("prediction", [&] {
      session_.begin(piece, no_step, false);
      reserve();
      forward(no_step);
      output_.search(activities_.back(), out.k);
      output_.read_losses();
      output_.read_best();
      session_.stream.wait();
    });
    output_.append(out);
  });
}

}  // namespace

std::unique_ptr<Replica> make_cuda_replica(std::shared_ptr<OpenCard> card, const Network& network,
                                           const Training& training) {
  const OpenCard& opened = *card;
  return worded(opened, "making room for the model", [&]() -> std::unique_ptr<Replica> {
    return std::make_unique<CudaReplica>(card, network, training);
  });
}

}  // namespace evener::cuda
