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
  int sees = 0;          // so many others have greeted it
  Seconds heard = 0;
  bool broken = false;  // the connection to it has ended, and nothing has come from it since
  Seconds busy = 0;     // the most that it has been silent for while it trained
  std::uint64_t incarnation = 0, refused = 0;  // the one that was let in; the last that was not
  Parcel offer, reply;                         // that came last
  std::uint64_t offer_sequence = 0;            // of the offer
  Parcel answered;  // what its last offer was answered with, to be sent again if need be
  std::optional<Parcel> final_model, asked;
  bool told = false;  // this node's final model
};

inline constexpr Seconds kBeat = 0.25;  // between signs of life

class PeerCircle {
 public:
  struct Events {
    std::function<void(int peer)> came, went;
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
  /// This one was busy for so long: others do not take it for dead when it is again.
  void was_busy(Seconds seconds);
  /// A peer in the middle of a long step says nothing and answers nothing.
  static Seconds allowance(const Other& other) { return 2 * other.busy; }

 private:
  void connect_missing();
  void beat();
  void send_pulse(Other& other);
  void take(PeerMail& mail);
  void greet(const PeerMail& mail);
  void come_back(int peer);
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
  std::string why_alone_ = "nobody has answered yet";
  PeerMailbox mail_;
  std::unique_ptr<Listener> listener_;  // last: its conversations use all of the above
};

}  // namespace evener
