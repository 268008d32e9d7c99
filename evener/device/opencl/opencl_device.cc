#include "evener/device/opencl/opencl_device.h"

#include "evener/device/opencl/clblast.h"
#include "evener/device/opencl/opencl_replica.h"
#include "evener/device/opencl/products.h"
#include "evener/device/opencl/source.h"
#include "evener/device/opencl/warm_up.h"

namespace evener::opencl {

namespace {

class OpenClDevice final : public Device {
 public:
  OpenClDevice(const DeviceId& id, const DeviceOptions& options)
      : context_(open(id, options)), options_(options) {
    const bool choice = options.products != ProductsBy::own && !clblast_file().empty();
    if (context_->kind == Kind::processor || !choice) return;
    const std::string identity = identity_of(*context_) + "\n" + kForwardSource;
    context_->products = std::make_shared<Products>(context_->name, identity, options.products,
                                                    options.cache_directory);
  }

  std::string name() const override { return context_->name; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    warm_up(context_, network, training, options_);
    return make_opencl_replica(context_, network, training, options_.cache_directory);
  }
  std::size_t most_rows(const Network& network, const Training& training) const override {
    return Footprint(limits_of(*context_), network, training).most_rows();
  }
  std::vector<std::string> take_notes() override {
    return context_->products ? context_->products->take_notes() : std::vector<std::string>{};
  }

 private:
  std::shared_ptr<Context> context_;
  DeviceOptions options_;
};

}  // namespace

std::unique_ptr<Device> make_opencl_device(const DeviceId& id, const DeviceOptions& options) {
  return std::make_unique<OpenClDevice>(id, options);
}

}  // namespace evener::opencl
