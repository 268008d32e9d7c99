#include "evener/data/dataset.h"

#include <utility>

#include "evener/core/mapping_guard.h"

namespace evener {

Dataset make_dataset(CsrArrays features, std::uint32_t feature_count, CsrArrays labels,
                     std::uint32_t label_count, std::vector<std::string> label_names) {
  struct Owner {
    CsrArrays features, labels;
  };
  auto owner = std::make_shared<Owner>(Owner{std::move(features), std::move(labels)});
  return {owner->features.view(), owner->labels.view(),
          feature_count,          label_count,
          std::move(label_names), owner};
}

Dataset with_candidates(Dataset data, CsrArrays candidates, float share) {
  struct Owner {
    std::shared_ptr<const void> data;
    CsrArrays candidates;
  };
  auto owner = std::make_shared<Owner>(Owner{std::move(data.storage), std::move(candidates)});
  data.candidates = owner->candidates.view();
  data.candidate_share = share;
  data.storage = std::move(owner);
  return data;
}

void check_intact(const Dataset& data) {
  check_mapping(data.features.indices.data());
  check_mapping(data.labels.indices.data());
}

bool is_intact(const Dataset& data) {
  return is_mapping_intact(data.features.indices.data()) &&
         is_mapping_intact(data.labels.indices.data());
}

}  // namespace evener
