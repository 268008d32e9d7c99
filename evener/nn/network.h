// The shape of a network, and the layout of its parameters in one vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evener {

enum class Activation { relu, sigmoid, tanh };

/// softmax: cross-entropy against the row's labels, each weighing 1/|labels| (no label: no loss).
/// sigmoid: binary cross-entropy summed over all labels. squared: half the squared error to the
/// 0/1 indicator, summed over all labels. All are averaged over the rows of a batch.
enum class Loss { softmax, sigmoid, squared };

/// sparse: the first weight matrix has a row per feature and only touched rows are read or written.
/// dense: it has a row per unit, as every later layer. Dense when there is no hidden layer.
enum class Input { sparse, dense };

/// full: a step computes the scores of all labels. listed: each row of the data lists candidate
/// labels with a fixed part of their scores (Dataset::candidates), and a step reads and updates
/// only their output rows, which have no bias. It needs a sparse input, one hidden layer of relu,
/// and the sigmoid loss, which is summed over the candidates.
enum class Output { full, listed };

struct Network {
  std::uint32_t features = 0;
  std::vector<std::uint32_t> hidden;
  std::uint32_t labels = 0;
  Activation activation = Activation::relu;
  Loss loss = Loss::softmax;
  Input input = Input::sparse;
  Output output = Output::full;

  bool sparse_input() const { return input == Input::sparse && !hidden.empty(); }
  bool listed_output() const { return output == Output::listed; }
};

/// A named matrix inside the parameter vector: `rows` rows of `cols` floats, `stride` floats apart.
/// The padding between cols and stride is zero and stays zero under every optimizer.
struct Segment {
  std::string name;
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  std::size_t size() const { return rows * stride; }
};

/// A layer's two segments. For the sparse input layer weight row f belongs to feature f; for all
/// others weight row u belongs to unit (or label) u. The bias is one row; a listed output has none.
struct LayerSegments {
  Segment weight;
  Segment bias;
};

/// All parameters as one vector: layers in order of data flow, each weight then bias, every segment
/// on a 128-byte boundary.
struct Layout {
  std::vector<LayerSegments> layers;  // hidden.size() + 1 of them
  std::size_t size = 0;               // floats, padding included

  std::vector<Segment> segments() const;
  std::size_t parameters() const;  // floats, padding not included
};

/// Error if the network has a listed output and is not of the shape that it needs.
Layout layout_of(const Network& network);

/// The rows at the beginning of the vector that a step changes only if they occur in its batch: the
/// features of a sparse input. With a listed output these are all rows of the vector, which have
/// one width: the features, the hidden layer's bias (it occurs in every batch), and the labels.
std::size_t sparse_rows(const Network& network);
/// The numbers of two of these rows of a listed output.
inline std::uint32_t bias_row(const Network& network) {
  return network.features;
}
inline std::uint32_t first_label_row(const Network& network) {
  return network.features + 1;
}

/// Up to a multiple of 32 floats: whole panels of the widest kernel, and a cache-line boundary.
std::size_t padded(std::size_t floats);

/// Names as in options and files: "relu", "softmax", ... Parsing throws UsageError naming the
/// valid ones.
std::string to_string(Activation activation);
std::string to_string(Loss loss);
std::string to_string(Input input);
std::string to_string(Output output);
Activation parse_activation(const std::string& name);
Loss parse_loss(const std::string& name);
Input parse_input(const std::string& name);
Output parse_output(const std::string& name);

}  // namespace evener
