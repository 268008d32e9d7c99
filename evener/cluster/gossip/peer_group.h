// The other peers of a gossip peer: their connections, hellos, heartbeats and step counts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/cluster/gossip/gossip_peer.h"
#include "evener/cluster/gossip/peer_event.h"
#include "evener/cluster/membership/line_limit.h"

namespace evener {

/// What a peer knows about another.
struct PeerState {
  std::shared_ptr<Channel> channel;  // to it; null: not connected
  Seconds retry_at = 0;
  bool joined = false;                 // its hello was accepted, and it is not lost
  wire::PeerHeartbeat peer_heartbeat;  // its last
  Seconds heard = 0;
  bool broken = false;  // the connection to it has ended, and no message has arrived since
  bool cut = false;     // a connection, in either direction, has ended: messages may be lost
  bool left = false;    // it has sent a leave message
  std::string refuses;  // why it refuses this peer; empty: it does not, or has not answered
  std::uint64_t incarnation = 0, refused = 0;  // accepted; refused last
  ModelUpdate offer, reply;                    // the last ones, until they are used
  std::uint64_t offer_sequence = 0;            // of the offer
  // The answer to its last offer that was not declined. It may have to be sent again.
  ModelUpdate answered;
  std::uint64_t answered_sequence = 0;
  // Received models. Without numbers where the model was refused.
  std::optional<ModelUpdate> final_model, fetched_model;
  bool final_model_sent = false;  // this peer's final model was sent to it
};

inline constexpr Seconds kHeartbeat = 0.25;  // between heartbeats
inline constexpr Seconds kBroken = 2;        // of silence, after the connection to a peer has ended
inline constexpr Seconds kHelloAgain = 1;    // after a refusal, over a new connection

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
  int joined() const;
  /// Whether all peers are connected to each other.
  bool complete() const;
  /// Why no peer is connected.
  const std::string& why_alone() const { return why_alone_; }
  /// Whether that is a cause that waiting does not remove.
  bool cause_is_known() const { return cause_known_; }
  Seconds now() const { return clock_.elapsed(); }

  /// Handles events. If there is none, waits this long for one. Also reconnects, sends heartbeats
  /// and drops silent peers.
  void poll(Seconds wait);
  /// Sends a leave message to all peers. They stop waiting for this one, and it does not
  /// reconnect.
  void leave(const std::string& why);
  /// This peer handled no events for this long. Heartbeats report it, and other peers allow for it.
  void was_busy(Seconds seconds);
  /// Extra silence that is allowed: a peer sends nothing during a long step.
  static Seconds allowance(const PeerState& other) { return 2 * other.peer_heartbeat.busy(); }
  /// Change what heartbeats report about this peer. has_all sends a heartbeat at once.
  void has_trained();
  void has_all();

 private:
  void connect_missing();
  void beat();
  void send_heartbeat(PeerState& other);
  void take(PeerEvent& event);
  void note_failed_link(const PeerEvent& event);
  void accept_hello(const PeerEvent& event);
  void refuse(const PeerEvent& event, const std::string& why);
  void check_refusals() const;
  void readmit(int peer);
  void lose(int peer, bool for_good, const std::string& how);
  void send_job(const PeerEvent& event);

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
  bool cause_known_ = false;
  LineLimit refusals_;
  PeerEventQueue events_;
  std::unique_ptr<Listener> listener_;  // last: its connections use all of the above
};

}  // namespace evener
