#include "evener/policy/parameter_server.h"

#include <algorithm>
#include <utility>

namespace evener {

ParameterServer::ParameterServer(const PolicyConfig& config)
    : config_(config),
      split_(config.shared_batch(), config.values.is("split", "speed")),
      local_steps_(static_cast<std::size_t>(config.values.number("local-steps"))),
      momentum_(config.values.number("server-momentum")) {}

Decisions ParameterServer::on(const Event& event) {
  decisions_.clear();
  dispatch(
      event,
      [&](const Joined& e) {
        nodes_.join(e.worker);
        split_.join(e.worker, e.traits.most_rows);
        if (running_) release(e.worker);
      },
      [&](const Lost& e) {
        now_ = std::max(now_, e.now);
        nodes_.leave(e.worker);
        split_.leave(e.worker);
        if (!running_) return;
        missed(e.worker);
        rows_are_back_ = true;
      },
      [&](const Suspected& e) {
        now_ = std::max(now_, e.now);
        if (e.suspect) {
          nodes_.suspect(e.worker);
        } else {
          nodes_.trust(e.worker);
        }
        if (running_) reconsider();
      },
      [&](const EpochBegan& e) {
        now_ = std::max(now_, e.now);
        running_ = true;
        for (const int node : nodes_.present()) {
          if (!nodes_.at(node).bound()) release(node);
        }
      },
      [&](const Finished& e) {
        now_ = std::max(now_, e.now);
        split_.finished(e.worker, e.rows / local_steps_, e.compute);
        nodes_.push(e.worker, now_);
        pushed(e.worker);
      },
      [&](const InvalidPush& e) {
        now_ = std::max(now_, e.now);
        nodes_.push(e.worker, now_);
        ++nodes_.at(e.worker).rejected;
        rows_are_back_ = true;
        release(e.worker);
      },
      [&](const OutOfRows& e) {
        nodes_.at(e.worker).computing = false;
        nodes_.at(e.worker).out_of_rows = true;
        missed(e.worker);
      },
      [&](const TimerFired& e) {
        now_ = std::max(now_, e.now);
        reconsider();
      },
      [&](const EpochEnded&) {
        running_ = false;
        ended();
      },
      Ignore<Delivered, Measured, Merged>{});
  if (rows_are_back_) release_out_of_rows();
  return decisions_;
}

std::vector<std::string> ParameterServer::standings() const {
  std::vector<std::string> states(static_cast<std::size_t>(nodes_.size()));
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i] = to_string(nodes_.at(static_cast<int>(i)).state);
  }
  return states;
}

void ParameterServer::release_out_of_rows() {
  rows_are_back_ = false;
  for (const int node : nodes_.present()) {
    if (nodes_.at(node).out_of_rows) release(node);
  }
}

void ParameterServer::apply(std::vector<int> group, double share, double damping) {
  for (const int node : group) ++nodes_.at(node).applied;
  decisions_.push_back(ApplyPushes{std::move(group), share, damping, momentum_});
  ++version_;
}

void ParameterServer::apply_group(const std::vector<int>& group) {
  apply(group, static_cast<double>(group.size()) / nodes_.count(), 1);
}

void ParameterServer::reject(int node) {
  ++nodes_.at(node).rejected;
  decisions_.push_back(Reject{node});
  rows_are_back_ = running_;
}

void ParameterServer::release(int node) {
  nodes_.release(node, version_, now_);
  const std::size_t rows = split_.rows(node);
  // The mean of all nodes' pushes is a step on all their rows.
  decisions_.push_back(Assign{node, rows, static_cast<int>(local_steps_), split_.rate(rows),
                              Work::pushed, 0, split_.follows(),
                              config_.update_rows(static_cast<std::size_t>(config_.workers))});
}

void ParameterServer::release_within(int node, double bound) {
  const auto ahead = static_cast<double>(nodes_.at(node).clock - nodes_.least_clock());
  if (ahead > bound) {
    nodes_.move(node, NodeState::bound);
  } else {
    release(node);
  }
}

void ParameterServer::release_bound(double bound) {
  for (const int node : nodes_.present()) {
    const NodeRecord& record = nodes_.at(node);
    if (!record.bound() || record.computing) continue;
    if (static_cast<double>(record.clock - nodes_.least_clock()) > bound) continue;
    nodes_.move(node, NodeState::async);
    release(node);
  }
}

double damping_of(std::uint64_t staleness, int nodes) {
  const auto n = static_cast<double>(nodes);
  const double late = std::max(0.0, static_cast<double>(staleness) - (n - 1));
  return 1 / (1 + late / n);
}

}  // namespace evener
