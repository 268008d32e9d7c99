#include "evener/policy/gossip_node.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evener {

void GossipNode::connected(int peer) {
  if (peer != self_) others_[peer].present = true;
}

void GossipNode::disconnected(int peer) {
  const auto found = others_.find(peer);
  if (found == others_.end()) return;
  found->second.present = false;
  if (pending_ && pending_->peer == peer) {
    found->second.suspended = std::exchange(pending_, std::nullopt);
  }
  std::erase_if(waiting_, [&](const GossipMessage& message) { return message.from == peer; });
}

void GossipNode::forget(int peer) {
  disconnected(peer);
  others_.erase(peer);
}

std::vector<Candidate> GossipNode::present() const {
  std::vector<Candidate> candidates;
  for (const auto& [peer, other] : others_) {
    if (other.present) candidates.push_back({peer, other.seconds});
  }
  return candidates;
}

void GossipNode::step(double change) {
  ++steps_;
  ++k_;
  refused_ = false;
  if (pending_) ++pending_->steps;
  change_ = change;
}

void GossipNode::receive(const GossipMessage& message) {
  if (message.kind == GossipMessage::Kind::offer) {
    const auto found = others_.find(message.from);
    if (found == others_.end() || !found->second.present) return;
    if (std::find(waiting_.begin(), waiting_.end(), message) == waiting_.end()) {
      waiting_.push_back(message);
    }
    return;
  }
  // An answer that the node does not wait for any more is repeated or late.
  if (!pending_ || pending_->peer != message.from || pending_->sequence != message.sequence) return;
  if (message.kind == GossipMessage::Kind::reply) {
    pending_->replied = true;
  } else if (!pending_->replied) {
    pending_.reset();
    refused_ = true;
  }
}

std::vector<NodeAction> GossipNode::actions(Seconds now, bool offers) {
  std::vector<NodeAction> actions;
  take_replies(now, actions);
  answer_offers(actions);
  if (pending_ || resume(actions) || !offers || !due()) return actions;
  if (const auto candidates = present(); !candidates.empty()) {
    const int peer = choose_peer(rule_.peers, candidates, self_, offers_, random_);
    pending_ = Pending{peer, ++offers_, now};
    actions.emplace_back(NodeOffers{pending_->peer, pending_->sequence});
  }
  return actions;
}

/// Both nodes may have moved for it, or only one. It is completed before a new exchange begins.
bool GossipNode::resume(std::vector<NodeAction>& actions) {
  for (auto& [peer, other] : others_) {
    if (!other.present || !other.suspended) continue;
    pending_ = std::exchange(other.suspended, std::nullopt);
    actions.emplace_back(NodeOffers{peer, pending_->sequence, true});
    return true;
  }
  return false;
}

std::optional<NodeOffers> GossipNode::remind() const {
  if (!pending_ || pending_->replied) return std::nullopt;
  return NodeOffers{pending_->peer, pending_->sequence, true};
}

void GossipNode::take_replies(Seconds now, std::vector<NodeAction>& actions) {
  if (!pending_ || !pending_->replied) return;
  constexpr double kNewest = 0.3;
  PeerState& other = others_.at(pending_->peer);
  const double took = now - pending_->since;
  other.seconds = other.seconds > 0 ? std::lerp(other.seconds, took, kNewest) : took;
  actions.emplace_back(NodeCompletes{pending_->peer, pending_->sequence});
  pending_.reset();
  k_ = 0;
  change_ = 0;
}

/// One answer between two steps: a node with many offers would not train otherwise. Two nodes that
/// offer to each other at the same time would only swap their models, so only the offer of the
/// lower number is used.
void GossipNode::answer_offers(std::vector<NodeAction>& actions) {
  bool answered = false;
  for (const GossipMessage& offer : std::exchange(waiting_, {})) {
    PeerState& other = others_.at(offer.from);
    if (offer.sequence < other.last) continue;  // an old offer
    const bool again = offer.sequence == other.last;
    const bool both = pending_ && pending_->peer == offer.from && self_ < offer.from;
    if (!again) {
      other.last = offer.sequence;
      other.declined = !rule_.push_sum && (answered || both);
    }
    // A declined offer stays declined: its node may have continued.
    if (other.declined) {
      actions.emplace_back(NodeDeclines{offer.from, offer.sequence});
      continue;
    }
    actions.emplace_back(NodeAnswers{offer.from, offer.sequence, again});
    if (again) continue;
    if (rule_.push_sum) continue;  // what it received is not its own change
    answered = true;
    k_ = 0;
    change_ = 0;
  }
}

/// A node whose offer was declined trains a step before it offers again.
bool GossipNode::due() const {
  if (k_ == 0 || refused_) return false;
  const auto k = static_cast<double>(k_);
  if (!rule_.adaptive) return k_ >= rule_.period;
  return static_cast<double>(steps_) <= rule_.warmup || (k >= rule_.k_min && change_ > rule_.eps) ||
         k >= rule_.k_max;
}

}  // namespace evener
