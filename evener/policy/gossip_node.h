// One node of gossip SGD: when it exchanges its model, with which peer, and what it does with the
// messages of others. A pure state machine, the same in virtual time and behind a real network.
//
// An exchange is two messages. Node i offers its model s_i and trains on, for `overlap` steps at
// most; node j, at its next rest between two steps, answers with its own model r_j and moves to
//   x_j += (s_i - x_j) / 2,
// and i, at its next rest after the reply, to  x_i += (r_j - s_i) / 2.  Both moves are the same
// number with opposite signs, so the sum of all models is kept whatever was trained meanwhile;
// where nothing was, it is the average of both.
//
// Messages may be lost, late, repeated and out of order: an offer is repeated under its number
// until it is answered, and an answer is given once and repeated as it was.
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

/// What a node does at rest, in this order.
struct NodeCompletes {  // takes the reply to its offer
  int from;
  std::uint64_t sequence;
  bool operator==(const NodeCompletes&) const = default;
};
struct NodeAnswers {  // takes half of the other's model; `again`: sends the old answer once more
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
struct NodeOffers {  // `again`: the same as before
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

  /// Another node is there, or out of reach. An exchange with one out of reach goes on when both
  /// meet again; no node waits for it until then.
  void meet(int peer);
  void part(int peer);
  /// It is gone for good; a node that takes its number knows nothing of earlier messages.
  void forget(int peer);

  /// A step is done; `change` is |x - ref| / |ref|, where ref is the model after the last exchange.
  void step(double change);
  void receive(const GossipMessage& message);

  /// Between two steps: what is to be done now. Without `offers`, only what others wait for.
  std::vector<NodeAction> rest(Seconds now, bool offers = true);
  /// It may begin a step.
  bool may_train() const { return !pending_ || pending_->steps + 1 <= rule_.overlap; }
  /// Whether its offer waits for an answer; and whether a reply would be the one.
  bool waits() const { return pending_.has_value(); }
  bool awaits(int peer, std::uint64_t sequence) const {
    return pending_ && !pending_->replied && pending_->peer == peer &&
           pending_->sequence == sequence;
  }
  /// The answer takes too long: the offer once more.
  std::optional<NodeOffers> remind() const;

  std::size_t silence() const { return k_; }  // steps since the last exchange

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
    std::uint64_t last = 0;              // offer of its that was answered or declined
    bool declined = false;               // that one was
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
  std::size_t k_ = 0;
  bool refused_ = false;  // since the last step
  double change_ = 0;
  std::optional<Pending> pending_;
  std::deque<GossipMessage> waiting_;  // offers of others
};

}  // namespace evener
