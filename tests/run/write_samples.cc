// Writes a model, a checkpoint and TensorBoard events for the Python tests, which read them with
// the packages that users have. Usage: write_samples DIRECTORY
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "evener/core/error.h"
#include "evener/run/artifacts/checkpoint.h"
#include "evener/run/report/sinks.h"

namespace {

using namespace evener;

/// Element (r, c) of the s-th segment is base + 1000 s + r + c / 64, exact in a float.
FloatBuffer numbered(const Network& network, float base) {
  const Layout layout = layout_of(network);
  FloatBuffer vector(layout.size);
  float start = base;
  for (const Segment& segment : layout.segments()) {
    for (std::size_t r = 0; r < segment.rows; ++r) {
      for (std::size_t c = 0; c < segment.cols; ++c) {
        vector[segment.offset + r * segment.stride + c] =
            start + static_cast<float>(r) + static_cast<float>(c) / 64;
      }
    }
    start += 1000;
  }
  return vector;
}

Model sample_model() {
  Model model;
  model.network = {9, {5}, 3, Activation::relu, Loss::softmax, Input::sparse};
  model.raw_features = 9;
  model.text_format = Format::libsvm;
  model.transform.options = {0, true, true};
  for (int f = 0; f < 9; ++f) model.transform.idf.push_back(0.5F * static_cast<float>(f));
  model.label_names = {"tree", "grün", "漢字"};
  model.inverse_propensity = {1.25F, 2.5F, 5};
  model.parameters = numbered(model.network, 0);
  return model;
}

void write_samples(const std::string& directory) {
  save_model(sample_model(), directory + "/model.safetensors");
  Checkpoint checkpoint;
  checkpoint.model = sample_model();
  for (const float base : {0.5F, 0.25F}) {
    checkpoint.state.push_back(numbered(checkpoint.model.network, base));
  }
  checkpoint.progress.step = 12;
  save_checkpoint(checkpoint, directory + "/checkpoints");

  const auto sink = make_tensorboard_sink(directory + "/tensorboard");
  for (std::uint64_t step = 0; step < 200; ++step) {
    const double loss = 1.0 / static_cast<double>(step + 1);
    sink->write({"step", step * 1000, 0.5, {{"loss", loss}, {"rows", std::int64_t{-5}}}});
  }
  sink->write({"eval", 1ULL << 40, 1, {{"p@1", 0.75}, {"set", "test"}, {"worst", std::nan("")}}});
  std::fputs(sink->take_warning().c_str(), stderr);

  // A run that was killed at step 9 and goes on after a checkpoint at step 5.
  const std::string resumed = directory + "/resumed";
  const auto before = make_tensorboard_sink(resumed);
  for (std::uint64_t step = 0; step < 10; ++step) before->write({"step", step, 1, {{"loss", 1.0}}});
  const auto after = make_tensorboard_sink(resumed, 6);
  for (std::uint64_t step = 6; step < 12; ++step) after->write({"step", step, 2, {{"loss", 2.0}}});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw Error("usage: write_samples DIRECTORY");
    write_samples(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
