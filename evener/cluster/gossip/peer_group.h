// The other peers as one of them sees them: connections, hellos, heartbeats, and how many steps
// each has done.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_event.h"

namespace evener {

/// What a peer knows about another.
struct PeerState {
  std::shared_ptr<Channel> channel;  // to it; null: not connected
  Seconds retry_at = 0;
  bool greeted = false;                // it has connected and is not lost
  wire::PeerHeartbeat peer_heartbeat;  // its last
  Seconds heard = 0;
  bool broken = false;  // the connection to it has ended, and it was not heard since
  bool cut = false;     // a connection has ended, either way: the last messages may be lost
  bool left = false;    // it has sent a leave message
  std::string refuses;  // why it refuses this peer; empty: it does not, or is not heard yet
  std::uint64_t incarnation = 0, refused = 0;  // accepted; refused last
  ModelUpdate offer, reply;                    // the last ones, until they are used
  std::uint64_t offer_sequence = 0;            // of the offer
  // The answer to its last offer that was not declined, which may have to be sent again.
  ModelUpdate answered;
  std::uint64_t answered_sequence = 0;
  // Without numbers where the model was refused.
  std::optional<ModelUpdate> final_model, asked;
  bool told = false;  // this peer's final model was sent to it
};

inline constexpr Seconds kHeartbeat = 0.25;  // between heartbeats
inline constexpr Seconds kBroken = 2;        // of silence, after the connection to a peer has ended

class PeerGroup {
 public:
  struct Callbacks {
    std::function<void(int peer)> joined;
    std::function<void(int peer, bool for_good)> left;
    std::function<void(PeerEvent& event, PeerState& from)> message;
  };

  /// All outlive it. `steps`: by peer; the group updates those of other peers.
  PeerGroup(const GossipPeerOptions& options, const GossipWork& work,
            const ModelUpdateLayout& layout, std::vector<std::uint64_t>& steps,
            Callbacks callbacks);
  ~PeerGroup();
  PeerGroup(const PeerGroup&) = delete;
  PeerGroup& operator=(const PeerGroup&) = delete;

  int count() const { return static_cast<int>(others_.size()); }
  PeerState& at(int peer) { return others_[static_cast<std::size_t>(peer)]; }
  std::vector<PeerState>& others() { return others_; }  // by rank, this one too
  int greeted() const;
  /// Whether all are connected to each other.
  bool complete() const;
  /// Why no peer is connected.
  const std::string& why_alone() const { return why_alone_; }
  Seconds now() const { return clock_.elapsed(); }

  /// Handles events, and waits this long for one where there is none. Also reconnects, sends
  /// heartbeats and gives up silent peers.
  void hear(Seconds wait);
  /// Sends a leave message to all peers. They do not wait for this one any more, and it does not
  /// connect again.
  void leave(const std::string& why);
  /// This peer was busy this long. Heartbeats say so, and others wait that long next time.
  void was_busy(Seconds seconds);
  /// A peer in the middle of a long step sends nothing.
  static Seconds allowance(const PeerState& other) { return 2 * other.peer_heartbeat.busy(); }
  /// What heartbeats say about this peer. has_all is sent at once.
  void has_trained();
  void has_all();

 private:
  void connect_missing();
  void beat();
  void send_heartbeat(PeerState& other);
  void take(PeerEvent& event);
  void greet(const PeerEvent& event);
  void refuse(const PeerEvent& event, const std::string& why);
  void check_refusals() const;
  void readmit(int peer);
  void lose(int peer, bool for_good, const std::string& how);
  void tell_job(const PeerEvent& event);

  const GossipPeerOptions& options_;
  const GossipWork& work_;
  std::vector<std::uint64_t>& steps_;
  Callbacks callbacks_;
  std::vector<PeerState> others_;
  std::uint64_t incarnation_;
  Stopwatch clock_;
  Seconds last_beat_ = -1, busy_ = 0;
  std::uint64_t trained_ = 0;
  Seconds begun_ = 0;  // of training
  bool has_all_ = false, left_ = false;
  std::string why_alone_ = "no peer has answered yet";
  PeerEventQueue events_;
  std::unique_ptr<Listener> listener_;  // last: its connections use all of the above
};

}  // namespace evener
