// The coordinator's model in a cluster: a parameter store that nodes pull from and push to, and a
// device of the coordinator's own to evaluate with.
#pragma once

#include <memory>

#include "evener/cluster/payload.h"
#include "evener/runtime/models.h"
#include "evener/runtime/parameter_store.h"

namespace evener {

class NodeModel : public Models {
 public:
  virtual ParameterStore& store() = 0;
  /// What a pull and what a push look like.
  virtual const PayloadFormat& pull_format() const = 0;
  virtual const PayloadFormat& push_format() const = 0;
};

std::unique_ptr<NodeModel> make_node_model(const ModelSetup& setup, std::size_t places,
                                           const Compression& compression);

}  // namespace evener
