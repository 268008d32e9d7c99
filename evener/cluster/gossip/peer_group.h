// The other peers as one of them sees them: connections, greetings, signs of life, and how many
// steps each has done.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_event.h"

namespace evener {

/// What a peer knows of another.
struct PeerState {
  std::shared_ptr<Channel> channel;  // to it; null: not there, or to be made
  Seconds retry_at = 0;
  bool greeted = false;                // it has connected to here, and has not been silent for long
  wire::PeerHeartbeat peer_heartbeat;  // its last
  Seconds heard = 0;
  bool broken = false;  // the connection to it has ended, and nothing has come from it since
  bool cut = false;     // a connection has ended, either way: what was sent last may be lost
  bool left = false;    // it has said leave
  std::string refuses;  // why it will not have this one; empty: it will, or has not said
  std::uint64_t incarnation = 0, refused = 0;  // the one that was let in; the last that was not
  ModelUpdate offer, reply;                    // that came last, until they are used
  std::uint64_t offer_sequence = 0;            // of the offer
  // What its last offer that was not declined was answered with, to be sent again if need be.
  ModelUpdate answered;
  std::uint64_t answered_sequence = 0;
  // Of a model that was refused: without numbers.
  std::optional<ModelUpdate> final_model, asked;
  bool told = false;  // this node's final model
};

inline constexpr Seconds kHeartbeat = 0.25;  // between signs of life
inline constexpr Seconds kBroken = 2;  // of silence, after the connection to a peer has ended too

class PeerGroup {
 public:
  struct Callbacks {
    std::function<void(int peer)> came;
    std::function<void(int peer, bool for_good)> went;
    std::function<void(PeerEvent& event, PeerState& from)> message;
  };

  /// All outlive it. `steps`: by each peer; those of others are brought up to date here.
  PeerGroup(const GossipPeerOptions& options, const GossipWork& work, const ModelUpdateLayout& map,
            std::vector<std::uint64_t>& steps, Callbacks callbacks);
  ~PeerGroup();
  PeerGroup(const PeerGroup&) = delete;
  PeerGroup& operator=(const PeerGroup&) = delete;

  int count() const { return static_cast<int>(others_.size()); }
  PeerState& at(int peer) { return others_[static_cast<std::size_t>(peer)]; }
  std::vector<PeerState>& others() { return others_; }  // by rank, this one too
  int greeted() const;
  /// All are there and see each other.
  bool complete() const;
  /// Where no peer is there.
  const std::string& why_alone() const { return why_alone_; }
  Seconds now() const { return clock_.elapsed(); }

  /// What has come, after waiting for so long where nothing has; and what time asks for.
  void hear(Seconds wait);
  /// Says leave: nobody waits for this one any more, and it connects to nobody.
  void leave(const std::string& why);
  /// This one was busy for so long: others do not take it for dead when it is again.
  void was_busy(Seconds seconds);
  /// A peer in the middle of a long step says nothing and answers nothing.
  static Seconds allowance(const PeerState& other) { return 2 * other.peer_heartbeat.busy(); }
  /// What pulses say of this one; the second is said at once.
  void has_trained();
  void has_all();

 private:
  void connect_missing();
  void beat();
  void send_pulse(PeerState& other);
  void take(PeerEvent& event);
  void greet(const PeerEvent& event);
  void refuse(const PeerEvent& event, const std::string& why);
  void check_refusals() const;
  void come_back(int peer);
  void lose(int peer, bool for_good, const std::string& how);
  void tell_job(const PeerEvent& event);
  std::string why_no_place(const wire::JoinRequest& join_request) const;

  const GossipPeerOptions& options_;
  const GossipWork& work_;
  std::vector<std::uint64_t>& steps_;
  Callbacks callbacks_;
  std::vector<PeerState> others_;
  std::uint64_t incarnation_;
  Stopwatch clock_;
  Seconds beaten_ = -1, busy_ = 0;
  std::uint64_t trained_ = 0;
  Seconds begun_ = 0;  // to train
  bool has_all_ = false, left_ = false;
  std::string why_alone_ = "nobody has answered yet";
  PeerEventQueue events_;
  std::unique_ptr<Listener> listener_;  // last: its conversations use all of the above
};

}  // namespace evener
