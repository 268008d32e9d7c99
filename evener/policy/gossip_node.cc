#include "evener/policy/gossip_node.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace evener {

void GossipNode::meet(int peer) {
  if (peer != self_) others_.try_emplace(peer);
}

void GossipNode::part(int peer) {
  others_.erase(peer);
  if (pending_ && pending_->peer == peer) pending_.reset();
  std::erase_if(waiting_, [&](const Letter& letter) { return letter.from == peer; });
}

void GossipNode::step(double change) {
  ++steps_;
  ++k_;
  if (pending_) ++pending_->steps;
  change_ = change;
}

void GossipNode::receive(const Letter& letter) {
  if (letter.kind == Letter::Kind::offer) {
    if (!others_.contains(letter.from)) return;
    if (std::find(waiting_.begin(), waiting_.end(), letter) == waiting_.end()) {
      waiting_.push_back(letter);
    }
    return;
  }
  // Answers to what it has stopped waiting for came twice, or late.
  if (!pending_ || pending_->peer != letter.from || pending_->sequence != letter.sequence) return;
  if (letter.kind == Letter::Kind::reply) {
    pending_->replied = true;
  } else if (!pending_->replied) {
    pending_.reset();
  }
}

std::vector<NodeAction> GossipNode::rest(Seconds now, bool offers) {
  std::vector<NodeAction> actions;
  take_replies(now, actions);
  answer_offers(actions);
  if (offers && !pending_ && !others_.empty() && due()) {
    pending_ = Pending{pick(), ++offers_, now};
    actions.emplace_back(NodeOffers{pending_->peer, pending_->sequence});
  }
  return actions;
}

std::optional<NodeOffers> GossipNode::remind() const {
  if (!pending_ || pending_->replied) return std::nullopt;
  return NodeOffers{pending_->peer, pending_->sequence, true};
}

void GossipNode::take_replies(Seconds now, std::vector<NodeAction>& actions) {
  if (!pending_ || !pending_->replied) return;
  constexpr double kNewest = 0.3;
  Other& other = others_.at(pending_->peer);
  const double took = now - pending_->since;
  other.seconds = other.seconds > 0 ? std::lerp(other.seconds, took, kNewest) : took;
  actions.emplace_back(NodeSettles{pending_->peer, pending_->sequence});
  pending_.reset();
  k_ = 0;
  change_ = 0;
}

/// One at each rest: a node that all ask at once would train nothing. Two that offer to each other
/// at the same time would only swap their models: the offer of the lower number counts.
void GossipNode::answer_offers(std::vector<NodeAction>& actions) {
  bool answered = false;
  for (const Letter& offer : std::exchange(waiting_, {})) {
    Other& other = others_.at(offer.from);
    if (offer.sequence < other.last) continue;  // long over
    const bool again = offer.sequence == other.last;
    const bool both = pending_ && pending_->peer == offer.from && self_ < offer.from;
    if (!again) other = {offer.sequence, !rule_.push_sum && (answered || both), other.seconds};
    // What was declined stays so: who offered it may have moved on.
    if (other.declined) {
      actions.emplace_back(NodeDeclines{offer.from, offer.sequence});
      continue;
    }
    actions.emplace_back(NodeAnswers{offer.from, offer.sequence, again});
    if (again) continue;
    if (rule_.push_sum) continue;  // what it got is not its own change
    answered = true;
    k_ = 0;
    change_ = 0;
  }
}

bool GossipNode::due() const {
  if (k_ == 0) return false;
  const auto k = static_cast<double>(k_);
  if (!rule_.adaptive) return k_ >= rule_.period;
  return static_cast<double>(steps_) <= rule_.warmup || (k >= rule_.k_min && change_ > rule_.eps) ||
         k >= rule_.k_max;
}

int GossipNode::pick() {
  std::vector<int> peers;
  for (const auto& [peer, other] : others_) peers.push_back(peer);
  const auto at_random = [&] { return peers[random_.below(peers.size())]; };
  switch (rule_.peers) {
    case PeerChoice::uniform:
      return at_random();
    case PeerChoice::ring: {
      const auto above = std::upper_bound(peers.begin(), peers.end(), self_);
      const bool up = offers_ % 2 == 0;
      if (up) return above == peers.end() ? peers.front() : *above;
      return above == peers.begin() ? peers.back() : *std::prev(above);
    }
    case PeerChoice::shift: {
      const auto above = std::upper_bound(peers.begin(), peers.end(), self_) - peers.begin();
      return peers[(static_cast<std::size_t>(above) + offers_) % peers.size()];
    }
    case PeerChoice::fast: {
      const int one = at_random(), two = at_random();
      return others_.at(one).seconds <= others_.at(two).seconds ? one : two;
    }
  }
  return peers.front();
}

}  // namespace evener
