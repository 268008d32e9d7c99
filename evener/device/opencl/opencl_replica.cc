#include "evener/device/opencl/opencl_replica.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <vector>

#include "evener/device/opencl/output_layer.h"
#include "evener/device/opencl/row_copies.h"

namespace evener::opencl {

namespace {

class OpenClReplica final : public Replica {
 public:
  OpenClReplica(std::shared_ptr<Context> context, const Network& network, const Training& training,
                const std::string& cache_directory);

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
    guarded("loading rows", [&] { copies_.load(buffer(vector), blocks, values); });
  }
  void store_blocks(int vector, const Blocks& blocks, std::span<float> values) override {
    guarded("reading rows", [&] { copies_.store(buffer(vector), blocks, values); });
  }
  void clear_blocks(int vector, const Blocks& blocks) override {
    guarded("clearing rows", [&] { copies_.clear(buffer(vector), blocks); });
  }
  bool sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                  std::span<const float> weights, std::span<float> values) override;
  bool adopt_blocks(const Blocks& blocks, Replica& owner) override;

 private:
  const cl::Buffer& buffer(int vector) const {
    return session_.vectors.at(static_cast<std::size_t>(vector));
  }

  /// Puts words to what failed, around everything that talks to the device.
  template <class F>
  std::invoke_result_t<F> guarded(const char* what, F work) {
    try {
      return work();
    } catch (const cl::Error& error) {
      session_.drain();
      fail(session_.context->name, what, error);
    } catch (...) {
      session_.drain();
      throw;
    }
  }

  bool shares_memory_with(const Replica& other) const;
  void reserve();
  void forward(const Step& step);
  void first_layer(const Step& step);
  void activate(Activity& activity, const DropoutMask& mask);
  void fill_rows(Activity& activity);
  void derive(Activity& activity, const DropoutMask& mask);
  void backward(const Step& step, const Rule& rule);
  void update_input(const Rule& rule);
  cl_uint activation() const { return static_cast<cl_uint>(session_.network.activation); }
  /// 1 where layer 0 of the network is sparse: activity i is then the output of layer i.
  std::size_t sparse() const { return session_.network.sparse_input() ? 1 : 0; }

  Session session_;
  DenseLayers dense_;
  OutputLayer output_;
  RowCopies copies_;
  // Activity i is the input of dense layer i: with sparse input, activity 0 is the first hidden
  // layer's; with dense input it is the features themselves.
  std::vector<Activity> activities_;
  cl::Buffer sum_;    // of a merge that was worked out here
  cl::Buffer plain_;  // a sparse first layer's sums, later its errors, as rows
};

OpenClReplica::OpenClReplica(std::shared_ptr<Context> context, const Network& network,
                             const Training& training, const std::string& cache_directory)
    : session_(std::move(context), network, training, cache_directory),
      dense_(session_),
      output_(session_, dense_),
      copies_(session_) {
  if (!network.sparse_input()) {
    activities_.push_back({network.features, padded(network.features), {}, {}, {}});
  }
  for (const std::uint32_t units : network.hidden) {
    activities_.push_back({units, padded(units), {}, {}, {}});
  }
}

FloatBuffer OpenClReplica::take(int vector) {
  FloatBuffer values(session_.layout.size);
  store(vector, values.span());
  return values;
}

void OpenClReplica::load(int vector, std::span<const float> values) {
  assert(values.size() == session_.layout.size);
  guarded("loading the model", [&] {
    write(*session_.context, buffer(vector), values);
    finish(*session_.context);
  });
}

void OpenClReplica::store(int vector, std::span<float> values) {
  assert(values.size() == session_.layout.size);
  guarded("reading the model", [&] {
    read(*session_.context, buffer(vector), values);
    finish(*session_.context);
  });
}

/// Parts of one device: their buffers are in one context.
bool OpenClReplica::shares_memory_with(const Replica& other) const {
  const auto* neighbour = dynamic_cast<const OpenClReplica*>(&other);
  return neighbour != nullptr &&
         neighbour->session_.context->context() == session_.context->context();
}

bool OpenClReplica::sum_blocks(const Blocks& blocks, std::span<Replica* const> replicas,
                               std::span<const float> weights, std::span<float> values) {
  const bool shared = std::all_of(replicas.begin(), replicas.end(), [&](const Replica* replica) {
    return shares_memory_with(*replica);
  });
  const std::size_t bytes = session_.layout.size * sizeof(float);
  if (!shared || (sum_() == nullptr && !session_.footprint.has_room_for(bytes))) return false;
  guarded("merging replicas", [&] {
    if (sum_() == nullptr) sum_ = make_buffer(*session_.context, session_.layout.size);
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const auto& from = static_cast<OpenClReplica*>(replicas[i])->buffer(0);
      copies_.merge(sum_, from, blocks, i == 0 ? 0.0F : 1.0F, weights[i]);
    }
    copies_.store(sum_, blocks, values);
  });
  return true;
}

bool OpenClReplica::adopt_blocks(const Blocks& blocks, Replica& owner) {
  if (!shares_memory_with(owner)) return false;
  guarded("merging replicas", [&] {
    copies_.merge(buffer(0), static_cast<OpenClReplica&>(owner).sum_, blocks, 0.0F, 1.0F);
  });
  return true;
}

void OpenClReplica::reserve() {
  const Context& context = *session_.context;
  if (session_.image().samples <= session_.capacity) return;
  session_.capacity = session_.image().samples;
  std::size_t widest = 0;
  for (auto& activity : activities_) {
    const std::size_t size = activity.width * session_.capacity;
    activity.columns = make_buffer(context, size);
    activity.rows = make_buffer(context, size);
    activity.error = make_buffer(context, size);
    widest = std::max(widest, activity.width);
  }
  if (sparse() == 1) plain_ = make_buffer(context, activities_[0].width * session_.capacity);
  output_.reserve();
  dense_.reserve(std::max(output_.chunk_labels(), widest), widest);
}

void OpenClReplica::activate(Activity& activity, const DropoutMask& mask) {
  session_.program.run("activate", session_.groups(), activity.units, activity.columns,
                       session_.columns_of(activity.width), word(activity.units),
                       word(session_.groups()), activation(), dropout_for(mask));
  fill_rows(activity);
}

void OpenClReplica::derive(Activity& activity, const DropoutMask& mask) {
  session_.program.run("derive", session_.groups(), activity.units, activity.columns,
                       activity.error, session_.columns_of(activity.width), word(activity.units),
                       word(session_.groups()), activation(), dropout_for(mask));
}

void OpenClReplica::fill_rows(Activity& activity) {
  const std::size_t panels = activity.width / session_.panel;
  session_.program.run("columns_to_rows", panels, session_.groups(), activity.columns,
                       session_.columns_of(activity.width), activity.rows,
                       session_.rows_of(activity.width), word(panels), word(session_.groups()));
}

void OpenClReplica::first_layer(const Step& step) {
  const BatchImage& image = session_.image();
  Program& program = session_.program;
  const Tiling& tiling = program.tiling();
  Activity& out = activities_.front();
  const cl_uint2 columns = session_.columns_of(out.width);
  if (sparse() == 0) {
    const std::size_t vectors = out.width * session_.capacity / tiling.vec;
    program.run("fill", vectors, 1, out.columns, word(vectors), cl_float{0});
    program.run("scatter", image.count, 1, session_.batch(), image.offsets, image.features,
                image.values, image.count, out.columns, columns);
    fill_rows(out);
    return;
  }
  const LayerSegments& layer = session_.layout.layers.front();
  const std::size_t strip = std::size_t{tiling.strip} * tiling.vec;
  program.run("gather", (out.width + strip - 1) / strip, image.samples, session_.parameters(),
              offset64(layer.weight.offset), offset64(layer.bias.offset), word(out.width),
              session_.batch(), image.offsets, image.features, image.values, image.count,
              image.samples, plain_);
  const std::size_t panels = out.width / session_.panel;
  program.run("rows_to_columns", session_.groups(), panels, plain_,
              session_.plain_rows_of(out.width), out.columns, columns, word(panels),
              word(session_.groups()));
  activate(out, session_.mask(1, step));
}

void OpenClReplica::forward(const Step& step) {
  first_layer(step);
  for (std::size_t i = 0; i + 1 < activities_.size(); ++i) {
    Activity& out = activities_[i + 1];
    const std::size_t layer = i + sparse();
    dense_.forward(session_.layout.layers[layer], 0, out.units, activities_[i], out.columns,
                   session_.columns_of(out.width));
    activate(out, session_.mask(layer + 1, step));
  }
}

// Below the output layer, which left the error of the last activity.
void OpenClReplica::backward(const Step& step, const Rule& rule) {
  for (std::size_t i = activities_.size() - 1; i > 0; --i) {
    Activity& at = activities_[i];
    Activity& in = activities_[i - 1];
    const LayerSegments& layer = session_.layout.layers[i - 1 + sparse()];
    const cl_uint2 columns = session_.columns_of(at.width);
    derive(at, session_.mask(i + sparse(), step));
    const bool is_input = i == 1 && sparse() == 0;  // the features need no error
    if (!is_input) dense_.backward(layer, 0, at.units, at.error, columns, in, true);
    dense_.update(layer, 0, at.units, at.error, columns, in, rule);
  }
  if (sparse() == 0) return;
  derive(activities_.front(), session_.mask(1, step));
  update_input(rule);
}

void OpenClReplica::update_input(const Rule& rule) {
  const BatchImage& image = session_.image();
  const Activity& first = activities_.front();
  const LayerSegments& layer = session_.layout.layers.front();
  const std::size_t panels = first.width / session_.panel;
  session_.program.run("columns_to_rows", panels, session_.groups(), first.error,
                       session_.columns_of(first.width), plain_,
                       session_.plain_rows_of(first.width), word(panels), word(session_.groups()));
  session_.program.run("sparse_update", first.width / session_.program.tiling().vec, image.slots,
                       session_.parameters(), session_.state(1), session_.state(2),
                       offset64(layer.weight.offset), offset64(layer.bias.offset),
                       word(first.width), session_.batch(), image.slot_features, image.slot_begins,
                       image.slot_samples, image.slot_values, image.slots, plain_, rule);
}

double OpenClReplica::step(const Batch& batch, const Step& step, const NextStep* next) {
  return guarded("training step", [&] {
    const Rule rule = rule_for(update_rule(session_.training, step));
    session_.begin(batch, step, true);
    reserve();
    forward(step);
    const bool wants_error = activities_.size() > 1 || sparse() == 1;
    output_.train(activities_.back(), rule, wants_error);
    backward(step, rule);
    output_.read_losses();
    session_.context->queue.flush();
    if (next != nullptr) session_.prepare(next->batch, next->step);
    finish(*session_.context);
    return output_.total_loss() / static_cast<double>(batch.rows.size());
  });
}

void OpenClReplica::predict(const Batch& batch, Predictions& out) {
  const Step no_step{.number = 0};
  session_.footprint.in_pieces(batch, [&](const Batch& piece) {
    guarded("prediction", [&] {
      session_.begin(piece, no_step, false);
      reserve();
      forward(no_step);
      output_.search(activities_.back(), out.k);
      output_.read_losses();
      output_.read_best();
      finish(*session_.context);
    });
    output_.append(out);
  });
}

}  // namespace

std::unique_ptr<Replica> make_opencl_replica(std::shared_ptr<Context> context,
                                             const Network& network, const Training& training,
                                             const std::string& cache_directory) {
  return std::make_unique<OpenClReplica>(std::move(context), network, training, cache_directory);
}

}  // namespace evener::opencl
