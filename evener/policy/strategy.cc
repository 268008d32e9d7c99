#include "evener/policy/strategy.h"

#include <algorithm>

namespace evener {

std::string exchanges_name(Sharing sharing) {
  switch (sharing) {
    case Sharing::single:
    case Sharing::shared:
    case Sharing::in_place:
      return "";
    case Sharing::replicas:
    case Sharing::gradients:
      return "merges";
    case Sharing::pushes:
      return "pushes";
    case Sharing::peers:
      return "exchanges";
  }
  return "";
}

std::string refusals_name(Sharing sharing) {
  return sharing == Sharing::peers ? "offers declined" : "refused";
}

std::size_t PolicyConfig::shared_batch() const {
  if (batch_per_device > 0) return batch_per_device;
  return std::max<std::size_t>(1, batch / static_cast<std::size_t>(std::max(workers, 1)));
}

}  // namespace evener
