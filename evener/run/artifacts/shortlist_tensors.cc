#include "evener/run/artifacts/shortlist_tensors.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "evener/core/error.h"
#include "evener/core/finite.h"

namespace evener {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxMetadata = std::size_t{1} << 16;  // bytes of the JSON text
constexpr std::uint32_t kMostRescored = 1U << 20;           // bounds what a file can ask for

// The offset network as one tensor: mean, scale, hidden, hidden bias, out, skip, bias.
static_assert(std::is_trivially_copyable_v<OffsetNetwork> &&
              sizeof(OffsetNetwork) % sizeof(float) == 0);
constexpr std::size_t kOffsetSize = sizeof(OffsetNetwork) / sizeof(float);

template <class T>
constexpr const char* dtype_of() {
  if constexpr (std::is_same_v<T, float>) return "F32";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "U32";
  return "U64";
}

template <class T>
void add(const char* name, std::span<const T> values, std::vector<TensorView>& tensors) {
  tensors.push_back(
      {std::string("shortlist.") + name, dtype_of<T>(), {values.size()}, values.data(), 0});
}

class Reader {
 public:
  explicit Reader(const TensorFile& file) : file_(file) {}

  [[noreturn]] void refuse(const std::string& name, const std::string& what) const {
    throw Error(file_.path() + ": tensor 'shortlist." + name + "': " + what);
  }

  template <class T>
  std::vector<T> read(const char* name) const {
    const std::string full = std::string("shortlist.") + name;
    const auto found = file_.entries().find(full);
    if (found == file_.entries().end()) refuse(name, "is missing");
    const std::size_t size = (found->second.end - found->second.begin) / sizeof(T);
    const auto bytes = file_.bytes(full, dtype_of<T>(), {size});
    std::vector<T> values(size);
    if (size > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    if constexpr (std::is_same_v<T, float>) {
      if (!all_finite(values)) refuse(name, "holds NaN or infinity");
    }
    return values;
  }

  template <class T>
  std::vector<T> read(const char* name, std::size_t size) const {
    std::vector<T> values = read<T>(name);
    if (values.size() != size) {
      refuse(name,
             "has " + std::to_string(values.size()) + " entries, expected " + std::to_string(size));
    }
    return values;
  }

  /// Offsets of `rows` rows (any number: not given) into an array of `size` entries.
  std::vector<std::uint64_t> offsets(const char* name, std::size_t size,
                                     const std::size_t* rows = nullptr) const {
    auto values =
        rows == nullptr ? read<std::uint64_t>(name) : read<std::uint64_t>(name, *rows + 1);
    if (values.empty() || values.front() != 0 || values.back() != size) {
      refuse(name, "does not span its entries");
    }
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (values[i] < values[i - 1]) refuse(name, "does not ascend");
    }
    return values;
  }

  std::vector<std::uint32_t> indices(const char* name, std::uint32_t bound) const {
    auto values = read<std::uint32_t>(name);
    for (const std::uint32_t value : values) {
      if (value >= bound) {
        refuse(name,
               "holds " + std::to_string(value) + ", but there are only " + std::to_string(bound));
      }
    }
    return values;
  }

  /// Within each row the indices ascend strictly.
  void check_rows(const char* name, std::span<const std::uint64_t> offsets,
                  std::span<const std::uint32_t> indices) const {
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (auto i = offsets[row] + 1; i < offsets[row + 1]; ++i) {
        if (indices[i] <= indices[i - 1]) refuse(name, "a row does not ascend");
      }
    }
  }

 private:
  const TensorFile& file_;
};

json sizes_of(const ShortlistHead& head) {
  const RetrievalModel& model = head.retriever->model();
  return {{"query_entries", model.neighbours.query_entries},
          {"postings_a_feature", model.neighbours.postings_a_feature},
          {"rescored", model.neighbours.rescored},
          {"by_neighbours", model.candidates.by_neighbours},
          {"by_cooccurrence", model.candidates.by_cooccurrence},
          {"least_margin", model.least_margin},
          {"wide_share", head.wide_share},
          {"network_share", head.network_share}};
}

std::uint32_t count_from(const json& j, const char* key) {
  const json& value = j.at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMostRescored) {
    throw Error(std::string(key) + " is not a number from 0 to " + std::to_string(kMostRescored));
  }
  return value.get<std::uint32_t>();
}

float share_from(const json& j, const char* key) {
  const json& value = j.at(key);
  if (!value.is_number()) throw Error(std::string(key) + " is not a number");
  const auto number = value.get<float>();
  if (!all_finite(std::span(&number, 1))) throw Error(std::string(key) + " is not finite");
  return number;
}

}  // namespace

void add_shortlist(const ShortlistHead& head, std::vector<TensorView>& tensors,
                   std::map<std::string, std::string>& metadata) {
  const RetrievalModel& model = head.retriever->model();
  const Cooccurrence& co = model.cooccurrence;
  add<float>("feature_weights", model.feature_weights, tensors);
  add<std::uint64_t>("rows.offsets", model.rows.offsets, tensors);
  add<std::uint32_t>("rows.features", model.rows.indices, tensors);
  add<float>("rows.values", model.rows.values, tensors);
  add<std::uint64_t>("labels.offsets", model.labels.offsets, tensors);
  add<std::uint32_t>("labels.labels", model.labels.indices, tensors);
  add<std::uint64_t>("cooccurrence.offsets", co.offsets, tensors);
  add<std::uint32_t>("cooccurrence.labels", co.labels, tensors);
  add<float>("cooccurrence.sums", co.sums, tensors);
  add<float>("cooccurrence.feature_sums", co.feature_sums, tensors);
  add<std::uint32_t>("cooccurrence.label_rows", co.label_rows, tensors);
  const auto* offset = reinterpret_cast<const float*>(&model.offset);
  add<float>("offset", std::span(offset, kOffsetSize), tensors);
  add<std::uint64_t>("wide.offsets", head.wide.offsets, tensors);
  add<std::uint32_t>("wide.features", head.wide.features, tensors);
  add<float>("wide.weights", head.wide.values, tensors);
  metadata[kShortlistKey] = sizes_of(head).dump();
}

std::shared_ptr<ShortlistHead> read_shortlist(const TensorFile& file, const Network& network) {
  const auto text = file.metadata().find(kShortlistKey);
  if (text == file.metadata().end()) return nullptr;
  RetrievalModel model;
  float wide_share = 0, network_share = 0;
  try {
    if (text->second.size() > kMaxMetadata) throw Error("is too long");
    const json j = json::parse(text->second);
    model.neighbours = {count_from(j, "query_entries"), count_from(j, "postings_a_feature"),
                        count_from(j, "rescored")};
    model.candidates = {count_from(j, "by_neighbours"), count_from(j, "by_cooccurrence")};
    model.least_margin = share_from(j, "least_margin");
    wide_share = share_from(j, "wide_share");
    network_share = share_from(j, "network_share");
  } catch (const std::exception& problem) {
    throw Error(file.path() + ": metadata '" + kShortlistKey + "': " + problem.what());
  }
  const Reader reader(file);
  const std::size_t features = network.features, labels = network.labels;
  model.feature_count = network.features;
  model.label_count = network.labels;
  model.feature_weights = reader.read<float>("feature_weights", features);
  model.rows.indices = reader.indices("rows.features", network.features);
  model.rows.values = reader.read<float>("rows.values", model.rows.indices.size());
  model.rows.offsets = reader.offsets("rows.offsets", model.rows.indices.size());
  reader.check_rows("rows.features", model.rows.offsets, model.rows.indices);
  const std::size_t rows = model.rows.offsets.size() - 1;
  model.labels.indices = reader.indices("labels.labels", network.labels);
  model.labels.offsets = reader.offsets("labels.offsets", model.labels.indices.size(), &rows);
  reader.check_rows("labels.labels", model.labels.offsets, model.labels.indices);
  Cooccurrence& co = model.cooccurrence;
  co.labels = reader.indices("cooccurrence.labels", network.labels);
  co.sums = reader.read<float>("cooccurrence.sums", co.labels.size());
  co.offsets = reader.offsets("cooccurrence.offsets", co.labels.size(), &features);
  co.feature_sums = reader.read<float>("cooccurrence.feature_sums", features);
  co.label_rows = reader.read<std::uint32_t>("cooccurrence.label_rows", labels);
  const auto offset = reader.read<float>("offset", kOffsetSize);
  std::memcpy(static_cast<void*>(&model.offset), offset.data(), sizeof(model.offset));
  WideWeights wide;
  wide.features = reader.indices("wide.features", network.features);
  wide.values = reader.read<float>("wide.weights", wide.features.size());
  wide.offsets = reader.offsets("wide.offsets", wide.features.size(), &labels);
  Team team(1);
  auto head = std::make_shared<ShortlistHead>(std::make_unique<Retriever>(std::move(model), team));
  head->wide = std::move(wide);
  head->wide_share = wide_share;
  head->network_share = network_share;
  return head;
}

}  // namespace evener
