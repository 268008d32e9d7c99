// A trained model: network, parameters, and the other data that prediction needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/data/read.h"
#include "evener/data/transform.h"
#include "evener/nn/network.h"
#include "evener/run/artifacts/model_file.h"

namespace evener {

struct ShortlistHead;  // retrieval/shortlist_head.h

struct Model {
  Network network;
  std::uint32_t raw_features = 0;          // of the data before the transform
  Format text_format = Format::automatic;  // of the training data, if it was text (read.h)
  Transform transform;
  std::vector<std::string> label_names;        // empty, or one per label
  std::vector<float> inverse_propensity;       // of the training labels, for PSP@k; may be empty
  FloatBuffer parameters;                      // in layout_of(network)
  std::shared_ptr<ShortlistHead> shortlist{};  // null: the full head
};

/// One tensor per segment (unpadded: "hidden1.weight" [D, H], "hidden1.bias" [H], ...),
/// "transform.idf", "inverse_propensity", "label_names" (UTF-8, each ended by a line break), and
/// metadata "evener.format", "evener.network" and "evener.transform" (JSON). A shortlist head adds
/// tensors "shortlist.*" and metadata "evener.shortlist" (shortlist_tensors.h).
void save_model(const Model& model, const std::string& path);

/// Error, with the name of the tensor, if the file is damaged or inconsistent. Does not allocate
/// memory for sizes that the file does not hold.
Model load_model(const std::string& path);

/// Error that names the file and the tensor if a number of the model is NaN or infinite: its
/// predictions would mean nothing.
void check_finite(const Model& model, const std::string& path);

/// Vectors in the network's layout as tensors of a file, `prefix` before each segment's name.
void add_segments(const Layout& layout, const FloatBuffer& vector, const std::string& prefix,
                  std::vector<TensorView>& tensors);
/// Checks all shapes, then allocates and reads. The padding of the result is zero.
FloatBuffer read_segments(const TensorFile& file, const Layout& layout, const std::string& prefix);

}  // namespace evener
