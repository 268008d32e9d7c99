// A gossip peer. It trains on its own share of the data and exchanges models with other peers
// directly, without a coordinator, until all peers together have done the steps of the run. When a
// peer fails, the others continue. A peer that joins late fetches a model first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evener/cluster/transport/transport.h"
#include "evener/cluster/wire/job.h"
#include "evener/core/buffer.h"
#include "evener/core/time.h"
#include "evener/nn/schedule.h"
#include "evener/policy/gossip_node.h"
#include "evener/runtime/peer_replica.h"
#include "evener/runtime/step_counter.h"
#include "evener/runtime/timeline.h"

namespace evener {

struct GossipResult {
  FloatBuffer model;  // the mean of the final models of all peers that were connected at the end
  std::vector<std::uint64_t> steps;  // by peer, as known to this one
  std::uint64_t exchanges = 0, declined = 0, refused = 0;
  std::uint64_t sent = 0, received = 0;  // bytes of models
  std::uint64_t whole = 0;               // bytes that whole models would have taken
  // Exchanges in which this peer had both models, and the sum of their squared distances
  // (runtime/replica_distance.h).
  std::uint64_t measured = 0;
  double squared_distance = 0;
  double loss = 0;         // mean over the last steps here
  Seconds training = 0;    // time of this peer's steps
  int models = 1;          // in the mean
  std::vector<bool> lost;  // by peer: it was not connected at the end
  Timeline timeline{{}};   // of this peer's steps and exchanges
  int signal = 0;
};

struct GossipPeerOptions {
  int self = 0;
  std::vector<std::string> addresses;    // of all peers, by rank
  std::string listen;                    // empty: its own address
  std::shared_ptr<Transport> transport;  // null: gRPC without TLS
  std::string token;
  GossipRule rule;
  Seconds patience = 60;  // timeout for the others to join at the start
  Seconds silence = 10;   // after which a peer is considered lost
  /// Polled after each step. Not 0: this signal was received.
  std::function<int()> interrupted;
  std::shared_ptr<MainSteps> main_steps;  // counts the steps; null: not counted
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// The training job. It is the same for all peers.
struct GossipWork {
  Network network;
  DataFingerprint data;
  std::map<std::string, std::string> options;  // by name; must be equal on all peers
  // For a process that joins: where the data is and how it is read.
  std::map<std::string, std::string> data_options;
  std::vector<std::uint32_t> rows;  // of the data; every peer trains on each n-th of an epoch
  std::size_t batch = 32;           // rows of a step
  double epochs = 1;                // of all rows, by all peers together
  // For a resumed run: steps done by each peer, and the state of this one; may be empty.
  std::vector<std::uint64_t> steps;
  std::shared_ptr<const PeerReplicaState> replica_state;
  Schedule schedule;
  std::uint64_t seed = 1;
  std::vector<float> start;  // parameters
};

/// The rows that a peer trains in so many steps, and the epochs that the steps of all peers make.
std::uint64_t rows_trained(const GossipWork& work, std::size_t rank, std::size_t peers,
                           std::uint64_t steps);
double epochs_done(const GossipWork& work, const std::vector<std::uint64_t>& steps);

/// One peer of a run. Its methods are called in this order.
class GossipPeer {
 public:
  virtual ~GossipPeer() = default;
  /// Waits for the other peers. If they have already started, fetches a model. Error if no peer is
  /// connected, or if a peer has another list of peers or other data.
  virtual void join() = 0;
  /// Trains until all peers together have done the run's epochs, or a signal was received, or
  /// `after_step` returns false. May be called again after that.
  virtual void train(const std::function<bool()>& after_step) = 0;
  /// Exchanges final models with the other peers. After a signal: sends a leave message instead,
  /// and the result has this peer's own model.
  virtual void finish() = 0;
  /// Instead of `finish`, after an error: sends a leave message with the reason.
  virtual void leave(const std::string& why) = 0;
  /// The result so far. It has a model after `finish`, which may be moved from.
  virtual GossipResult& result() = 0;
};

/// All arguments outlive it.
std::unique_ptr<GossipPeer> make_gossip_peer(const GossipPeerOptions& options,
                                             const GossipWork& work, PeerReplica& replica);

}  // namespace evener
