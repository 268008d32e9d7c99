// A gossip peer: trains on its own share of the data and exchanges models with other peers
// directly, without a coordinator, until all peers together have done the steps of the run. When a
// peer dies the others go on; a peer that joins late fetches a model first.
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
#include "evener/runtime/timeline.h"

namespace evener {

struct GossipResult {
  FloatBuffer model;  // the mean of the final models of all peers that were connected at the end
  std::vector<std::uint64_t> steps;  // by peer, as far as this one knows
  std::uint64_t exchanges = 0, declined = 0, refused = 0;
  std::uint64_t sent = 0, received = 0;  // bytes of models
  std::uint64_t whole = 0;               // bytes that whole models would have taken
  // Exchanges in which this peer saw both models, and the sum of their squared distances
  // (runtime/replica_distance.h).
  std::uint64_t met = 0;
  double apart = 0;
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
  Seconds patience = 60;  // to wait for the others at the start
  Seconds silence = 10;   // after which a peer is given up
  /// Asked after each step; not 0: a signal has come.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// What is trained: the same for all peers.
struct GossipWork {
  Network network;
  DataFingerprint data;
  std::map<std::string, std::string> options;  // that must be the same, by name
  // In addition, for a process that joins: where the data is and how it is read.
  std::map<std::string, std::string> data_options;
  std::vector<std::uint32_t> rows;  // of the data; every peer trains on each n-th of an epoch
  std::size_t batch = 32;           // rows of a step
  double epochs = 1;                // of all rows, by all peers together
  // Of a run that is resumed: steps done by each peer, and the state of this one; may be empty.
  std::vector<std::uint64_t> steps;
  std::shared_ptr<const PeerReplicaState> memory;
  Schedule schedule;
  std::uint64_t seed = 1;
  std::vector<float> start;  // parameters
};

/// How many rows so many steps of a peer are, and how many epochs the steps of all peers are.
std::uint64_t rows_trained(const GossipWork& work, std::size_t rank, std::size_t peers,
                           std::uint64_t steps);
double epochs_done(const GossipWork& work, const std::vector<std::uint64_t>& steps);

/// One peer of a run. Its methods are called in this order.
class GossipPeer {
 public:
  virtual ~GossipPeer() = default;
  /// Waits for the other peers; where they have begun, fetches a model. Error where no peer is
  /// there, or a peer's list or data is another.
  virtual void join() = 0;
  /// Steps until all peers together have done the run's epochs, or a signal has come, or
  /// `after_step` returns false; may be called again then.
  virtual void train(const std::function<bool()>& after_step) = 0;
  /// Exchanges last models with the other peers. After a signal: says that it leaves, and the
  /// result's model is its own.
  virtual void finish() = 0;
  /// In place of `finish`, after an error: says that it leaves, and why.
  virtual void leave(const std::string& why) = 0;
  /// So far; the model after `finish`, when it may be moved from.
  virtual GossipResult& result() = 0;
};

/// All arguments outlive it.
std::unique_ptr<GossipPeer> make_gossip_peer(const GossipPeerOptions& options,
                                             const GossipWork& work, PeerReplica& replica);

}  // namespace evener
