#include "evener/device/opencl/session.h"

#include <algorithm>

namespace evener::opencl {

Rule rule_for(const UpdateRule& rule) {
  return {rule.learning_rate, rule.momentum, rule.beta2, rule.root_scale,
          rule.epsilon,       rule.l2,       rule.clip};
}

Dropout dropout_for(const DropoutMask& mask) {
  return {mask.threshold(), mask.key(), mask.scale()};
}

cl_uint2 strides(std::size_t x, std::size_t y) {
  cl_uint2 both;
  both.s[0] = word(x);
  both.s[1] = word(y);
  return both;
}

Session::Session(std::shared_ptr<Context> opened, const Network& for_network,
                 const Training& for_training, const std::string& cache_directory)
    : context(std::move(opened)),
      network(for_network),
      training(for_training),
      layout(layout_of(for_network)),
      footprint(limits_of(*context), for_network, for_training),
      program(context, for_training.optimizer, cache_directory),
      panel(program.tiling().panel()),
      slots_(for_network, for_training, panel) {
  try {
    copies_ = cl::CommandQueue(context->context, context->device);
    for (int v = 0; v <= state_vectors(training.optimizer); ++v) {
      vectors.push_back(make_buffer(*context, layout.size));
    }
    finish(*context);
  } catch (const cl::Error& error) {
    fail(context->name, "making room for the model", error);
  }
}

void Session::drain() const {
  for (const cl::CommandQueue& queue : {context->queue, copies_}) {
    if (queue() != nullptr)
      clFinish(queue());  // fails on a lost device; then nothing is in progress
  }
}

void Session::await_copy(DeviceBatch& batch) {
  if (batch.arrived() != nullptr) batch.arrived.wait();
}

void Session::start_copy(DeviceBatch& batch, const std::vector<std::uint32_t>& words) {
  if (words.size() > batch.words) {
    batch.words = words.size() * 5 / 4;
    before_call("allocation");
    batch.buffer = cl::Buffer(context->context, CL_MEM_READ_WRITE, batch.words * sizeof(cl_uint));
  }
  before_call("copy of a batch");
  copies_.enqueueWriteBuffer(batch.buffer, CL_FALSE, 0, words.size() * sizeof(cl_uint),
                             words.data(), nullptr, &batch.arrived);
  copies_.flush();
}

void Session::hold_for(const DeviceBatch& batch) {
  const std::vector<cl::Event> wait{batch.arrived};
  context->queue.enqueueBarrierWithWaitList(&wait);
}

cl_uint2 Session::columns_of(std::size_t width) const {
  return context->kind == Kind::processor ? strides(width * panel, panel)
                                          : strides(panel, capacity);
}

cl_uint2 Session::rows_of(std::size_t width) const {
  return context->kind == Kind::processor ? strides(capacity * panel, panel)
                                          : strides(panel, width);
}

}  // namespace evener::opencl
