#include "evener/device/cuda/plugin/layers.h"

namespace evener::cuda {

void Layers::reserve(std::vector<Activity>& activities) {
  for (auto& activity : activities) {
    for (auto* array : {&activity.values, &activity.error}) {
      array->renew(activity.width * session.capacity);
      fill_zero(session.stream, *array);
    }
  }
}

void Layers::forward(std::size_t layer, const Activity& in, Activity& out) {
  dense.forward(session.layout.layers[layer], 0, out.units, in, out.values.data(), out.width);
}

void Layers::activate(std::size_t layer, Activity& out, const Step& step) {
  cuda::activate(session.stream, out.values.data(), out.width, session.image().count, out.units,
                 session.parameters() + session.layout.layers[layer].bias.offset,
                 session.network.activation, session.dropout(layer + 1, step));
}

void Layers::derive(std::size_t layer, Activity& out, const Step& step) {
  cuda::derive(session.stream, out.values.data(), out.error.data(), out.width,
               session.image().count, out.units, session.network.activation,
               session.dropout(layer + 1, step));
}

void Layers::backward(std::size_t layer, const Activity& at, const Activity& in) {
  dense.backward(session.layout.layers[layer], 0, at.units, at.error.data(), at.width, in, true);
}

void Layers::update(std::size_t layer, const Activity& at, const Activity& in,
                    const UpdateRule& rule) {
  dense.update(session.layout.layers[layer], 0, at.units, at.error.data(), at.width, in, rule);
}

}  // namespace evener::cuda
