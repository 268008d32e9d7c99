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
      imager_(for_network, static_cast<std::uint32_t>(panel)) {
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
    if (queue() != nullptr) clFinish(queue());  // of a lost device: fails, and nothing is under way
  }
}

void Session::begin(const Batch& batch, const Step& step, bool grouped) {
  if (slots_[1 - current_].key.is(batch, step, grouped)) {
    current_ = 1 - current_;
  } else {
    fill(slots_[current_], batch, step, grouped);
  }
  BatchSlot& slot = slots_[current_];
  slot.key.step = 0;  // used up: the same step again would be another batch
  const std::vector<cl::Event> wait{slot.arrived};
  context->queue.enqueueBarrierWithWaitList(&wait);
}

void Session::prepare(const Batch& batch, const Step& step) {
  fill(slots_[1 - current_], batch, step, true);
}

void Session::fill(BatchSlot& slot, const Batch& batch, const Step& step, bool grouped) {
  slot.key.step = 0;  // until all of it is on its way
  // A batch that was prepared and not wanted may still be on its way, from the same memory.
  if (slot.arrived() != nullptr) slot.arrived.wait();
  imager_.make(batch, mask(0, step), grouped, slot.image);
  if (slot.image.words.size() > slot.words) {
    slot.words = slot.image.words.size() * 5 / 4;
    before_call("allocation");
    slot.buffer = cl::Buffer(context->context, CL_MEM_READ_WRITE, slot.words * sizeof(cl_uint));
  }
  before_call("copy of a batch");
  copies_.enqueueWriteBuffer(slot.buffer, CL_FALSE, 0, slot.image.words.size() * sizeof(cl_uint),
                             slot.image.words.data(), nullptr, &slot.arrived);
  copies_.flush();
  slot.key.set(batch, step, grouped);
}

cl_uint2 Session::columns_of(std::size_t width) const {
  return context->kind == Kind::processor ? strides(width * panel, panel)
                                          : strides(panel, capacity);
}

cl_uint2 Session::rows_of(std::size_t width) const {
  return context->kind == Kind::processor ? strides(capacity * panel, panel)
                                          : strides(panel, width);
}

DropoutMask Session::mask(std::size_t layer, const Step& step) const {
  const float rate = layer == 0 ? training.input_dropout : training.dropout;
  return {step.number == 0 ? 0.0F : rate, training.seed, step.number,
          static_cast<std::uint32_t>(layer)};
}

}  // namespace evener::opencl
