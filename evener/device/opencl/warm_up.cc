#include "evener/device/opencl/warm_up.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "evener/device/opencl/opencl_replica.h"
#include "evener/device/opencl/program.h"

namespace evener::opencl {

namespace {

constexpr std::uint32_t kTiny = 32;  // units of a layer, features, labels: enough for a panel

/// The same layers, small: kernels do not depend on the sizes.
Network tiny(Network network) {
  network.features = std::min(network.features, kTiny);
  network.labels = std::min(network.labels, kTiny);
  for (std::uint32_t& units : network.hidden) units = std::min(units, kTiny);
  return network;
}

void launch_all(const std::shared_ptr<Context>& context, const Network& network,
                const Training& training, const std::string& cache_directory) {
  // Products are measured at the sizes of the run, not here.
  auto plain = std::make_shared<Context>(*context);
  plain->products.reset();
  const auto replica = make_opencl_replica(plain, network, training, cache_directory);
  const Dataset data =
      make_dataset({{0, 1}, {0}, {1.0F}}, network.features, {{0, 1}, {0}, {1.0F}}, network.labels);
  const std::array<std::uint32_t, 1> rows{0};
  replica->step({&data, rows}, {.number = 1, .learning_rate = 0});
  Predictions predictions;
  predictions.k = 1;
  replica->predict({&data, rows}, predictions);
  const Layout layout = layout_of(network);
  FloatBuffer values(layout.size);
  const Blocks blocks = blocks_of(network, layout, rows);
  replica->store_blocks(0, blocks, values.span());
  replica->load_blocks(0, blocks, values.span());
  replica->clear_blocks(0, blocks);
}

}  // namespace

void warm_up(const std::shared_ptr<Context>& context, const Network& network,
             const Training& training, const DeviceOptions& options) {
  using Key = std::tuple<cl_device_id, Kind, Optimizer, Loss, bool, std::size_t>;
  static std::mutex mutex;
  static auto& warm = *new std::set<Key>();  // never released: see shared() in context.cc
  const std::lock_guard lock(mutex);
  const Key key(context->device(), context->kind, training.optimizer, network.loss,
                network.sparse_input(), std::min<std::size_t>(network.hidden.size(), 2));
  if (warm.count(key) > 0) return;
  const std::string mark = options.cache_directory.empty()
                               ? ""
                               : mark_of(*context, training.optimizer, options.cache_directory);
  const bool compiled = !mark.empty() && std::filesystem::exists(mark);
  if (options.say && !compiled) {
    options.say(fmt::format("compiling kernels for {} (once)", context->name));
  }
  launch_all(context, tiny(network), training, options.cache_directory);
  warm.insert(key);
  if (!compiled && !mark.empty()) {
    const std::ofstream left(mark);  // if it fails, the message is shown again next time
  }
}

}  // namespace evener::opencl
