// A trained model as a user holds it: network, parameters, and what prediction needs beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/data/transform.h"
#include "evener/nn/network.h"

namespace evener {

struct Model {
  Network network;
  std::uint32_t raw_features = 0;  // of the data before the transform
  Transform transform;
  std::vector<std::string> label_names;   // empty or one a label
  std::vector<float> inverse_propensity;  // of the training labels, for PSP@k; may be empty
  FloatBuffer parameters;                 // in layout_of(network)
};

/// One tensor per segment (unpadded: "hidden1.weight" [D, H], ...), "transform.idf",
/// "inverse_propensity", and metadata: format version, the network, the transform, label names.
void save_model(const Model& model, const std::string& path);
Model load_model(const std::string& path);

}  // namespace evener
