// The other peers as one of them sees them: connections, greetings, signs of life, and how many
// steps each has done.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/cluster/gossip_peer.h"
#include "evener/cluster/peer_mail.h"

namespace evener {

/// What a peer knows of another.
struct Other {
  std::shared_ptr<Channel> channel;  // to it; null: not there, or to be made
  Seconds retry_at = 0;
  bool greeted = false;  // it has connected to here, and has not been silent for long
  wire::Pulse pulse;     // its last
  Seconds heard = 0;
  bool broken = false;  // the connection to it has ended, and nothing has come from it since
  bool cut = false;     // a connection has ended, either way: what was sent last may be lost
  bool left = false;    // it has said farewell
  std::string refuses;  // why it will not have this one; empty: it will, or has not said
  std::uint64_t incarnation = 0, refused = 0;  // the one that was let in; the last that was not
  Parcel offer, reply;                         // that came last, until they are used
  std::uint64_t offer_sequence = 0;            // of the offer
  // What its last offer that was not declined was answered with, to be sent again if need be.
  Parcel answered;
  std::uint64_t answered_sequence = 0;
  // Of a model that was refused: without numbers.
  std::optional<Parcel> final_model, asked;
  bool told = false;  // this node's final model
};

inline constexpr Seconds kBeat = 0.25;  // between signs of life
inline constexpr Seconds kBroken = 2;   // of silence, after the connection to a peer has ended too

class PeerCircle {
 public:
  struct Events {
    std::function<void(int peer)> came;
    std::function<void(int peer, bool for_good)> went;
    std::function<void(PeerMail& mail, Other& from)> letter;
  };

  /// All outlive it. `steps`: by each peer; those of others are brought up to date here.
  PeerCircle(const GossipPeerOptions& options, const GossipWork& work, const ParcelMap& map,
             std::vector<std::uint64_t>& steps, Events events);
  ~PeerCircle();
  PeerCircle(const PeerCircle&) = delete;
  PeerCircle& operator=(const PeerCircle&) = delete;

  int count() const { return static_cast<int>(others_.size()); }
  Other& at(int peer) { return others_[static_cast<std::size_t>(peer)]; }
  std::vector<Other>& others() { return others_; }  // by rank, this one too
  int greeted() const;
  /// All are there and see each other.
  bool complete() const;
  /// Where no peer is there.
  const std::string& why_alone() const { return why_alone_; }
  Seconds now() const { return clock_.elapsed(); }

  /// What has come, after waiting for so long where nothing has; and what time asks for.
  void hear(Seconds wait);
  /// Says farewell: nobody waits for this one any more, and it connects to nobody.
  void leave(const std::string& why);
  /// This one was busy for so long: others do not take it for dead when it is again.
  void was_busy(Seconds seconds);
  /// A peer in the middle of a long step says nothing and answers nothing.
  static Seconds allowance(const Other& other) { return 2 * other.pulse.busy(); }
  /// What pulses say of this one; the second is said at once.
  void has_trained();
  void has_all();

 private:
  void connect_missing();
  void beat();
  void send_pulse(Other& other);
  void take(PeerMail& mail);
  void greet(const PeerMail& mail);
  void refuse(const PeerMail& mail, const std::string& why);
  void check_refusals() const;
  void come_back(int peer);
  void lose(int peer, bool for_good, const std::string& how);
  void tell_job(const PeerMail& mail);
  std::string why_no_place(const wire::Enquiry& enquiry) const;

  const GossipPeerOptions& options_;
  const GossipWork& work_;
  std::vector<std::uint64_t>& steps_;
  Events events_;
  std::vector<Other> others_;
  std::uint64_t incarnation_;
  Stopwatch clock_;
  Seconds beaten_ = -1, busy_ = 0;
  std::uint64_t trained_ = 0;
  Seconds begun_ = 0;  // to train
  bool has_all_ = false, left_ = false;
  std::string why_alone_ = "nobody has answered yet";
  PeerMailbox mail_;
  std::unique_ptr<Listener> listener_;  // last: its conversations use all of the above
};

}  // namespace evener
