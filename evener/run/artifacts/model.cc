#include "evener/run/artifacts/model.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "evener/core/error.h"
#include "evener/core/finite.h"
#include "evener/run/artifacts/shortlist_tensors.h"

namespace evener {

namespace {

using nlohmann::json;

// Older programs, which do not know the shortlist head, refuse its version.
constexpr const char* kModelFormat = "1";
constexpr const char* kShortlistFormat = "3";
constexpr std::size_t kMaxModelMetadata = std::size_t{1}
                                          << 20;  // bytes of one JSON text in the metadata

[[noreturn]] void refuse(const TensorFile& file, const std::string& what) {
  throw Error(file.path() + ": " + what);
}

json network_json(const Network& network) {
  json j = {{"features", network.features},    {"hidden", network.hidden},
            {"labels", network.labels},        {"activation", to_string(network.activation)},
            {"loss", to_string(network.loss)}, {"input", to_string(network.input)}};
  if (network.listed_output()) j["output"] = to_string(network.output);
  return j;
}

json transform_json(const Model& model) {
  const TransformOptions& options = model.transform.options;
  return {{"raw_features", model.raw_features},
          {"text_format", to_string(model.text_format)},
          {"hash_features", options.hash_features},
          {"tfidf", options.tfidf},
          {"normalise", options.normalise}};
}

const std::string& metadata_of(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) refuse(file, "is not an evener model: no '" + key + "'");
  if (found->second.size() > kMaxModelMetadata) refuse(file, "metadata '" + key + "' is too long");
  return found->second;
}

/// A size from the metadata, at least `least`. nlohmann's conversion would wrap silently.
std::uint32_t size_from(const json& value, std::uint32_t least) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > UINT32_MAX ||
      value.get<std::uint64_t>() < least) {
    throw Error("a size is not a number from " + std::to_string(least) + " to 2^32-1");
  }
  return value.get<std::uint32_t>();
}

Network network_from(const json& j) {
  Network network;
  network.features = size_from(j.at("features"), 1);
  const json& hidden = j.at("hidden");
  if (!hidden.is_array()) throw Error("'hidden' is not a list");
  for (const json& width : hidden) network.hidden.push_back(size_from(width, 1));
  network.labels = size_from(j.at("labels"), 1);
  network.activation = parse_activation(j.at("activation").get<std::string>());
  network.loss = parse_loss(j.at("loss").get<std::string>());
  network.input = parse_input(j.at("input").get<std::string>());
  network.output = parse_output(j.value("output", to_string(Output::full)));
  layout_of(network);  // Error if its parts do not fit
  return network;
}

void transform_from(const json& j, Model& model) {
  model.raw_features = size_from(j.at("raw_features"), 0);
  model.text_format = parse_format(j.value("text_format", to_string(Format::automatic)));
  TransformOptions& options = model.transform.options;
  options.hash_features = size_from(j.at("hash_features"), 0);
  options.tfidf = j.at("tfidf").get<bool>();
  options.normalise = j.at("normalise").get<bool>();
}

/// Calls `read(json)`; every failure becomes an Error that names the file and the key.
template <class Read>
auto from_metadata(const TensorFile& file, const std::string& key, Read read) {
  const std::string& text = metadata_of(file, key);
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    refuse(file, "metadata '" + key + "': " + error.what());
  } catch (const Error& error) {
    refuse(file, "metadata '" + key + "': " + error.what());
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (name.find('\n') != std::string::npos) {
      throw Error("label name '" + name + "' contains a line break, which a model cannot store");
    }
    text += name + '\n';
  }
  return text;
}

std::vector<std::string> read_names(const TensorFile& file, std::size_t count) {
  const std::string tensor = "label_names";
  const auto found = file.entries().find(tensor);
  if (found == file.entries().end()) return {};
  const auto data = file.bytes(tensor, "U8", {found->second.end - found->second.begin});
  std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) != count ||
      text.back() != '\n') {
    refuse(file, "tensor '" + tensor + "': is not one line for each of the " +
                     std::to_string(count) + " labels");
  }
  std::vector<std::string> names;
  names.reserve(count);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return names;
}

std::vector<float> read_vector(const TensorFile& file, const std::string& name, std::size_t size) {
  file.expect(name, "F32", {size});
  std::vector<float> values(size);
  file.read_floats(name, 1, size, size, values.data());
  return values;
}

std::vector<std::size_t> shape_of(const Segment& segment, bool bias) {
  return bias ? std::vector{segment.cols} : std::vector{segment.rows, segment.cols};
}

/// Calls `use(segment, shape in the file)` for each segment.
template <class Use>
void for_each_segment(const Layout& layout, Use use) {
  for (const LayerSegments& layer : layout.layers) {
    use(layer.weight, shape_of(layer.weight, false));
    if (layer.bias.rows > 0) use(layer.bias, shape_of(layer.bias, true));
  }
}

}  // namespace

void add_segments(const Layout& layout, const FloatBuffer& vector, const std::string& prefix,
                  std::vector<TensorView>& tensors) {
  if (vector.size() != layout.size) throw Error("a vector does not have the network's layout");
  for_each_segment(layout, [&](const Segment& segment, std::vector<std::size_t> shape) {
    tensors.push_back({prefix + segment.name, "F32", std::move(shape),
                       vector.data() + segment.offset, segment.stride});
  });
}

FloatBuffer read_segments(const TensorFile& file, const Layout& layout, const std::string& prefix) {
  for_each_segment(layout, [&](const Segment& segment, const std::vector<std::size_t>& shape) {
    file.expect(prefix + segment.name, "F32", shape);
  });
  // Every row has a column and is in the file, so `size` cannot have overflowed.
  FloatBuffer vector(layout.size);
  for_each_segment(layout, [&](const Segment& segment, const std::vector<std::size_t>&) {
    file.read_floats(prefix + segment.name, segment.rows, segment.cols, segment.stride,
                     vector.data() + segment.offset);
  });
  return vector;
}

void save_model(const Model& model, const std::string& path) {
  std::vector<TensorView> tensors;
  add_segments(layout_of(model.network), model.parameters, "", tensors);
  const auto add = [&](const char* name, const char* dtype, std::size_t size, const void* data) {
    if (size > 0) tensors.push_back({name, dtype, {size}, data, 0});
  };
  const std::string names = joined(model.label_names);
  const std::vector<float>& idf = model.transform.idf;
  add("transform.idf", "F32", idf.size(), idf.data());
  add("inverse_propensity", "F32", model.inverse_propensity.size(),
      model.inverse_propensity.data());
  add("label_names", "U8", names.size(), names.data());
  std::map<std::string, std::string> metadata{
      {"evener.format", model.shortlist ? kShortlistFormat : kModelFormat},
      {"evener.network", network_json(model.network).dump()},
      {"evener.transform", transform_json(model).dump()}};
  if (model.shortlist) add_shortlist(*model.shortlist, tensors, metadata);
  write_tensors(path, tensors, metadata);
}

Model load_model(const std::string& path) {
  const TensorFile file(path);
  const std::string& format = metadata_of(file, "evener.format");
  if (format != kModelFormat && format != kShortlistFormat) {
    refuse(file, "has format version '" + format + "', this program reads versions " +
                     kModelFormat + " and " + kShortlistFormat);
  }
  if ((format == kShortlistFormat) != (file.metadata().count(kShortlistKey) > 0)) {
    refuse(file, "its format version does not fit its head");
  }
  if (!file.checksummed()) refuse(file, "has no checksums");
  Model model;
  model.network = from_metadata(file, "evener.network", network_from);
  from_metadata(file, "evener.transform", [&](const json& j) { transform_from(j, model); });
  const Network& network = model.network;
  if (network.listed_output() != (format == kShortlistFormat)) {
    refuse(file, "its network does not fit its head");
  }
  if (model.transform.feature_count(model.raw_features) != network.features) {
    refuse(file, "the transform does not make the features that the network takes");
  }
  // Checked first: shows that the file holds as much data as `features` and `labels` claim.
  model.parameters = read_segments(file, layout_of(network), "");
  if (model.transform.options.tfidf) {
    model.transform.idf = read_vector(file, "transform.idf", network.features);
  }
  if (file.contains("inverse_propensity")) {
    model.inverse_propensity = read_vector(file, "inverse_propensity", network.labels);
  }
  model.label_names = read_names(file, network.labels);
  model.shortlist = read_shortlist(file, network);
  return model;
}

void check_finite(const Model& model, const std::string& path) {
  const auto check = [&](const std::string& name, std::span<const float> values) {
    if (!all_finite(values)) throw Error(path + ": tensor '" + name + "': holds NaN or infinity");
  };
  for (const Segment& segment : layout_of(model.network).segments()) {
    for (std::size_t row = 0; row < segment.rows; ++row) {
      check(segment.name,
            model.parameters.span().subspan(segment.offset + row * segment.stride, segment.cols));
    }
  }
  check("transform.idf", model.transform.idf);
  check("inverse_propensity", model.inverse_propensity);
}

}  // namespace evener
