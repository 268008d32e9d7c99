// Which pairs of strategies are allowed: one inside a node, another between nodes.
#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/policy/catalogue.h"

namespace evener {

bool is_for_nodes(const Strategy& strategy) {
  return strategy.sharing == Sharing::pushes || strategy.sharing == Sharing::peers;
}

std::vector<std::string> names_of(bool for_nodes) {
  std::vector<std::string> names;
  for (const auto& strategy : strategies()) {
    if (is_for_nodes(strategy) == for_nodes) names.push_back(strategy.name);
  }
  return names;
}

std::vector<std::string> names_of(Sharing sharing) {
  std::vector<std::string> names;
  for (const auto& strategy : strategies()) {
    if (strategy.sharing == sharing) names.push_back(strategy.name);
  }
  return names;
}

bool composes(const Strategy& inside, const Strategy& between) {
  return is_for_nodes(between) && !is_for_nodes(inside);
}

/// A node's step waits for all of its devices: a strategy that lets workers run ahead of each other
/// would gain nothing there.
void check_inside_node(const Strategy& strategy) {
  if (!is_for_nodes(strategy)) return;
  throw UsageError(
      fmt::format("strategy {} is for nodes; the devices of one node train by one of {}",
                  strategy.name, fmt::join(names_of(false), ", ")));
}

}  // namespace evener
