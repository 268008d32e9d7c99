#include "evener/policy/node_table.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener {

namespace {

constexpr double kNewest = 0.3;  // weight of the newest cycle

}  // namespace

std::string to_string(NodeState state) {
  switch (state) {
    case NodeState::joining:
      return "joining";
    case NodeState::sync:
      return "sync";
    case NodeState::async:
      return "async";
    case NodeState::bound:
      return "bound";
    case NodeState::catch_up:
      return "catch-up";
    case NodeState::suspect:
      return "suspect";
    case NodeState::dead:
      return "dead";
  }
  return "";
}

bool is_legal(NodeState from, NodeState to) {
  if (to == NodeState::dead) return from != NodeState::dead;
  if (from == NodeState::dead) return to == NodeState::joining;
  return to != NodeState::joining || from == NodeState::suspect;
}

void NodeTable::join(int node) {
  const auto index = static_cast<std::size_t>(node);
  const std::uint64_t clock = least_clock();
  if (nodes_.size() <= index) nodes_.resize(index + 1, NodeRecord{.state = NodeState::dead});
  move(node, NodeState::joining);
  NodeRecord& record = at(node);
  record.computing = record.out_of_rows = false;
  record.clock = clock;
  record.cycle = record.last_interval = 0;  // it may return on another machine
}

void NodeTable::leave(int node) {
  move(node, NodeState::dead);
  at(node).computing = at(node).out_of_rows = false;
}

void NodeTable::suspect(int node) {
  NodeRecord& record = at(node);
  if (!record.present() || record.state == NodeState::suspect) return;
  record.trusted = record.state;
  move(node, NodeState::suspect);
}

void NodeTable::trust(int node) {
  if (at(node).state == NodeState::suspect) move(node, at(node).trusted);
}

void NodeTable::move(int node, NodeState to) {
  NodeRecord& record = at(node);
  if (record.state == to) return;
  if (!is_legal(record.state, to)) {
    throw Error(fmt::format("node {} cannot go from {} to {}", node, to_string(record.state),
                            to_string(to)));
  }
  record.state = to;
}

void NodeTable::release(int node, std::uint64_t version, Seconds now) {
  NodeRecord& record = at(node);
  if (record.pushes > 0 && !record.out_of_rows) record.waited += now - record.pushed;
  record.computing = true;
  record.out_of_rows = false;
  record.version = version;
  record.released = now;
}

void NodeTable::push(int node, Seconds now) {
  NodeRecord& record = at(node);
  record.computing = false;
  const Seconds cycle = now - record.released;
  record.cycle = record.cycle == 0 ? cycle : record.cycle + kNewest * (cycle - record.cycle);
  record.last_interval = record.pushes > 0 ? now - record.pushed : cycle;
  record.pushed = now;
  ++record.clock;
  ++record.pushes;
}

std::vector<int> NodeTable::present() const {
  std::vector<int> nodes;
  for (int i = 0; i < size(); ++i) {
    if (at(i).present()) nodes.push_back(i);
  }
  return nodes;
}

bool NodeTable::any_computing() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& n) { return n.computing; });
}

std::uint64_t NodeTable::least_clock() const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const auto& node : nodes_) {
    if (node.present()) least = std::min(least, node.clock);
  }
  return least == std::numeric_limits<std::uint64_t>::max() ? 0 : least;
}

}  // namespace evener
