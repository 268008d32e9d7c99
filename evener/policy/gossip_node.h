// One node of gossip SGD: when it exchanges its model, with which peer, and how it handles the
// messages of others. A pure state machine, the same in virtual time and on a real network.
//
// An exchange is two messages. Node i offers its model s_i and continues to train, for at most
// `overlap` steps. Node j, between its next two steps, answers with its own model r_j and moves:
//   x_j += (s_i - x_j) / 2.
// Node i, between the next two steps after the reply, moves:  x_i += (r_j - s_i) / 2.  Both moves
// are the same number with opposite signs, so the exchange keeps the sum of all models, whatever
// was trained meanwhile. If nothing was trained, both models become their average.
//
// Messages may be lost, late, repeated and out of order. An offer is repeated with the same
// sequence number until it is answered. An answer is computed once and repeated unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "evener/core/random.h"
#include "evener/core/seconds.h"
#include "evener/policy/gossip_message.h"
#include "evener/policy/gossip_rule.h"

namespace evener {

/// What a node does between two steps, in this order.
struct NodeCompletes {  // applies the reply to its offer
  int from;
  std::uint64_t sequence;
  bool operator==(const NodeCompletes&) const = default;
};
struct NodeAnswers {  // moves halfway to the other's model; `again`: repeats the last answer
  int to;
  std::uint64_t sequence;
  bool again = false;
  bool operator==(const NodeAnswers&) const = default;
};
struct NodeDeclines {
  int to;
  std::uint64_t sequence;
  bool operator==(const NodeDeclines&) const = default;
};
struct NodeOffers {  // `again`: repeats the last offer
  int to;
  std::uint64_t sequence;
  bool again = false;
  bool operator==(const NodeOffers&) const = default;
};
using NodeAction = std::variant<NodeCompletes, NodeAnswers, NodeDeclines, NodeOffers>;

class GossipNode {
 public:
  GossipNode(int self, const GossipRule& rule, std::uint64_t seed)
      : self_(self), rule_(rule), random_(seed, static_cast<std::uint64_t>(self)) {}

  /// Another node is connected, or disconnected. An exchange with a disconnected node continues
  /// when it reconnects; this node does not wait for it until then.
  void connected(int peer);
  void disconnected(int peer);
  /// It is lost for good. A node that takes its number does not have earlier messages.
  void forget(int peer);

  /// A step is done; `change` is |x - ref| / |ref|, where ref is the model after the last exchange.
  void step(double change);
  void receive(const GossipMessage& message);

  /// Between two steps: what to do now. Without `offers`, only what other nodes wait for.
  std::vector<NodeAction> actions(Seconds now, bool offers = true);
  /// Whether it may begin a step.
  bool may_train() const { return !pending_ || pending_->steps + 1 <= rule_.overlap; }
  /// Whether its offer waits for an answer, and whether it waits for this one.
  bool waits() const { return pending_.has_value(); }
  bool waits_for(int peer, std::uint64_t sequence) const {
    return pending_ && !pending_->replied && pending_->peer == peer &&
           pending_->sequence == sequence;
  }
  /// The answer takes too long: repeat the offer.
  std::optional<NodeOffers> remind() const;

 private:
  struct Pending {
    int peer;
    std::uint64_t sequence;
    Seconds since;
    bool replied = false;
    double steps = 0;  // since then
  };
  struct PeerState {
    bool present = true;
    std::uint64_t last = 0;              // its last offer that was answered or declined
    bool declined = false;               // that offer was declined
    double seconds = 0;                  // that it took to answer, smoothed; 0: not known
    std::optional<Pending> suspended{};  // the offer that was under way when it was lost
  };

  bool due() const;
  std::vector<Candidate> present() const;
  bool resume(std::vector<NodeAction>& actions);
  void take_replies(Seconds now, std::vector<NodeAction>& actions);
  void answer_offers(std::vector<NodeAction>& actions);

  int self_;
  GossipRule rule_;
  Random random_;
  std::map<int, PeerState> others_;
  std::uint64_t steps_ = 0, offers_ = 0;
  std::size_t k_ = 0;     // steps since the last exchange
  bool refused_ = false;  // since the last step
  double change_ = 0;
  std::optional<Pending> pending_;
  std::deque<GossipMessage> waiting_;  // offers of others
};

}  // namespace evener
