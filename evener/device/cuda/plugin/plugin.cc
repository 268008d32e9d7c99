// The interface of the shared object, used by evener/device/cuda/cuda_kind.cc.
#include "evener/device/cuda/plugin.h"

#include <cstring>

#include <fmt/format.h>

#include "evener/device/cuda/plugin/cuda_replica.h"
#include "evener/device/cuda/plugin/session.h"

namespace evener::cuda {

namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(int card, const DeviceOptions& options) : card_(open_card(card, options)) {}

  std::string name() const override { return card_->name; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return make_cuda_replica(card_, network, training);
  }
  std::size_t most_rows(const Network& network, const Training& training) const override {
    return Footprint(limits_of(*card_, network), network, training).most_rows();
  }

 private:
  std::shared_ptr<OpenCard> card_;
};

class CudaPlugin final : public Plugin {
 public:
  std::vector<Card> cards() override {
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    if (driver == 0) throw DeviceError("no NVIDIA driver is installed");
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    std::vector<Card> cards;
    for (int i = 0; i < count; ++i) {
      cudaDeviceProp properties{};
      check(cudaGetDeviceProperties(&properties, i), "cudaGetDeviceProperties");
      cards.push_back({fmt::format("cuda:{}", i),
                       fmt::format("{}, compute capability {}.{}", properties.name,
                                   properties.major, properties.minor),
                       properties.totalGlobalMem});
    }
    return cards;
  }
  std::unique_ptr<Device> open(int card, const DeviceOptions& options) override {
    return std::make_unique<CudaDevice>(card, options);
  }
};

}  // namespace

}  // namespace evener::cuda

extern "C" [[gnu::visibility("default")]] evener::cuda::Plugin* evener_cuda_plugin(
    const char* version) {
  static evener::cuda::CudaPlugin plugin;
  return std::strcmp(version, evener::cuda::kPluginVersion) == 0 ? &plugin : nullptr;
}
