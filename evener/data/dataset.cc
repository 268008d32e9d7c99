#include "evener/data/dataset.h"

#include <utility>

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

}  // namespace evener
