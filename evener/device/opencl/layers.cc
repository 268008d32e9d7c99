#include "evener/device/opencl/layers.h"

namespace evener::opencl {

void Layers::reserve(std::vector<Activity>& activities) {
  const Context& context = *session.context;
  for (auto& activity : activities) {
    const std::size_t size = activity.width * session.capacity;
    activity.columns = make_buffer(context, size);
    activity.rows = make_buffer(context, size);
    activity.error = make_buffer(context, size);
  }
  if (session.network.sparse_input()) {
    plain_ = make_buffer(context, activities.front().width * session.capacity);
  }
}

void Layers::fill_rows(Activity& activity) {
  const std::size_t panels = activity.width / session.panel;
  session.program.run("columns_to_rows", panels, session.groups(), activity.columns,
                      session.columns_of(activity.width), activity.rows,
                      session.rows_of(activity.width), word(panels), word(session.groups()));
}

void Layers::scatter_input(Activity& out) {
  const BatchImage& image = session.image();
  const std::size_t vectors = out.width * session.capacity / session.program.tiling().vec;
  session.program.run("fill", vectors, 1, out.columns, word(vectors), cl_float{0});
  session.program.run("scatter", image.count, 1, session.batch(), image.offsets, image.features,
                      image.values, image.count, out.columns, session.columns_of(out.width));
  fill_rows(out);
}

void Layers::gather_input(Activity& out) {
  const BatchImage& image = session.image();
  const Tiling& tiling = session.program.tiling();
  const LayerSegments& layer = session.layout.layers.front();
  const std::size_t strip = std::size_t{tiling.strip} * tiling.vec;
  session.program.run("gather", (out.width + strip - 1) / strip, image.samples,
                      session.parameters(), offset64(layer.weight.offset),
                      offset64(layer.bias.offset), word(out.width), session.batch(), image.offsets,
                      image.features, image.values, image.count, image.samples, plain_);
  const std::size_t panels = out.width / session.panel;
  session.program.run("rows_to_columns", session.groups(), panels, plain_,
                      session.plain_rows_of(out.width), out.columns, session.columns_of(out.width),
                      word(panels), word(session.groups()));
}

void Layers::forward(std::size_t layer, const Activity& in, Activity& out) {
  dense.forward(session.layout.layers[layer], 0, out.units, in, out.columns,
                session.columns_of(out.width));
}

void Layers::activate(std::size_t layer, Activity& out, const Step& step) {
  session.program.run("activate", session.groups(), out.units, out.columns,
                      session.columns_of(out.width), word(out.units), word(session.groups()),
                      activation(), session.dropout(layer + 1, step));
  fill_rows(out);
}

void Layers::derive(std::size_t layer, Activity& out, const Step& step) {
  session.program.run("derive", session.groups(), out.units, out.columns, out.error,
                      session.columns_of(out.width), word(out.units), word(session.groups()),
                      activation(), session.dropout(layer + 1, step));
}

void Layers::backward(std::size_t layer, const Activity& at, Activity& in) {
  dense.backward(session.layout.layers[layer], 0, at.units, at.error, session.columns_of(at.width),
                 in, true);
}

void Layers::update(std::size_t layer, const Activity& at, const Activity& in, const Rule& rule) {
  dense.update(session.layout.layers[layer], 0, at.units, at.error, session.columns_of(at.width),
               in, rule);
}

void Layers::update_input(const Activity& first, const Rule& rule) {
  const BatchImage& image = session.image();
  const LayerSegments& layer = session.layout.layers.front();
  const std::size_t panels = first.width / session.panel;
  session.program.run("columns_to_rows", panels, session.groups(), first.error,
                      session.columns_of(first.width), plain_, session.plain_rows_of(first.width),
                      word(panels), word(session.groups()));
  session.program.run("sparse_update", first.width / session.program.tiling().vec, image.slots,
                      session.parameters(), session.state(1), session.state(2),
                      offset64(layer.weight.offset), offset64(layer.bias.offset), word(first.width),
                      session.batch(), image.slot_features, image.slot_begins, image.slot_samples,
                      image.slot_values, image.slots, plain_, rule);
}

}  // namespace evener::opencl
