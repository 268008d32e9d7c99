#include "evener/data/read_arrays.h"

#include <memory>
#include <utility>

namespace evener {

Dataset dataset_of(ReadArrays<std::uint32_t> data, std::uint32_t feature_count,
                   std::uint32_t label_count, std::vector<std::string> label_names) {
  auto owner = std::make_shared<ReadArrays<std::uint32_t>>(std::move(data));
  owner->feature_offsets.shrink_to_fit();
  owner->label_offsets.shrink_to_fit();
  owner->indices.shrink_to_fit();
  owner->values.shrink_to_fit();
  owner->labels.shrink_to_fit();
  const CsrView features{owner->feature_offsets.span(), owner->indices.span(),
                         owner->values.span()};
  const CsrView labels{owner->label_offsets.span(), owner->labels.span(), {}};
  return {features, labels, feature_count, label_count, std::move(label_names), owner};
}

}  // namespace evener
