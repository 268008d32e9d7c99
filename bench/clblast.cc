// Is CLBlast faster than our own products? Compares its GEMM alone with a whole prediction of a
// network without hidden layers (the same product, then the search for the best labels), in turns,
// on each OpenCL device. Built if libclblast-dev is installed.
//   build/release/bench/clblast
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include <clblast_c.h>

#include "evener/core/random.h"
#include "evener/core/time.h"
#include "evener/device/device.h"
#include "evener/device/opencl/context.h"
#include "evener/device/opencl/list.h"

namespace evener {
namespace {

constexpr std::size_t kBatch = 256;
constexpr int kRounds = 9;

struct Shape {
  std::size_t inputs, labels;
};

Dataset dense_rows(std::size_t features, std::uint32_t labels) {
  CsrArrays x, y;
  Random random(1);
  for (std::size_t row = 0; row < kBatch; ++row) {
    for (std::size_t i = 0; i < features; ++i) {
      x.indices.push_back(static_cast<std::uint32_t>(i));
      x.values.push_back(static_cast<float>(random.below(100)) / 100.0F);
    }
    x.offsets.push_back(x.indices.size());
    y.indices.push_back(0);
    y.offsets.push_back(y.indices.size());
  }
  return make_dataset(std::move(x), static_cast<std::uint32_t>(features), std::move(y), labels);
}

class Gemm {
 public:
  Gemm(const opencl::DeviceId& id, const Shape& shape)
      : context_(opencl::open(id, {})),
        shape_(shape),
        input_(floats(kBatch * shape.inputs)),
        weights_(floats(shape.inputs * shape.labels)),
        out_(floats(kBatch * shape.labels)) {}

  /// Seconds of one call, or less than 0 where CLBlast refuses.
  double run() {
    const Stopwatch watch;
    cl_command_queue queue = context_->queue();
    const auto status =
        CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, kBatch,
                     shape_.labels, shape_.inputs, 1.0F, input_(), 0, shape_.inputs, weights_(), 0,
                     shape_.inputs, 0.0F, out_(), 0, shape_.labels, &queue, nullptr);
    context_->queue.finish();
    return status == CLBlastSuccess ? watch.elapsed() : -1;
  }

 private:
  cl::Buffer floats(std::size_t count) const {
    return {context_->context, CL_MEM_READ_WRITE, count * sizeof(float)};
  }

  std::shared_ptr<opencl::Context> context_;
  Shape shape_;
  cl::Buffer input_, weights_, out_;
};

void measure(const opencl::DeviceId& id, const Shape& shape) {
  const Network network{.features = static_cast<std::uint32_t>(shape.inputs),
                        .hidden = {},
                        .labels = static_cast<std::uint32_t>(shape.labels),
                        .input = Input::dense};
  const Dataset data = dense_rows(shape.inputs, network.labels);
  std::vector<std::uint32_t> rows(kBatch);
  std::iota(rows.begin(), rows.end(), 0U);
  const auto device = make_device(opencl::to_string(id));
  const auto replica = device->make_replica(network, {});
  Gemm gemm(id, shape);
  const double first = gemm.run();
  std::vector<double> own, theirs;
  for (int i = 0; i < kRounds; ++i) {
    const Stopwatch watch;
    Predictions out;
    out.k = 1;
    replica->predict({&data, rows}, out);
    own.push_back(watch.elapsed());
    theirs.push_back(gemm.run());
  }
  const double operations = 2.0 * kBatch * static_cast<double>(shape.inputs * shape.labels);
  const auto speed = [&](std::vector<double> seconds) {
    std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
    return operations / seconds[kRounds / 2] / 1e9;
  };
  std::printf(
      "%-14s [%zu x %zu][%zu x %zu]  own prediction %6.1f GFLOP/s   CLBlast %6.1f, "
      "its first call %.1f s\n",
      opencl::to_string(id).c_str(), kBatch, shape.inputs, shape.inputs, shape.labels, speed(own),
      speed(theirs), first);
}

}  // namespace
}  // namespace evener

int main() {
  for (const auto& listed : evener::opencl::list()) {
    if (!listed.why_not.empty()) continue;
    for (const evener::Shape& shape : {evener::Shape{128, 4000}, {512, 512}, {512, 4000}}) {
      evener::measure(listed.id, shape);
    }
  }
}
