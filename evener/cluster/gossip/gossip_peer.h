// A node of a cluster without a server: trains on its own share of the data and gossips with the
// others directly, until all together have done the run's steps. Whoever dies is missed by nobody;
// whoever comes later fetches a model first.
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
  FloatBuffer model;                 // the mean of all that were there at the end
  std::vector<std::uint64_t> steps;  // by each peer, as far as is known here
  std::uint64_t exchanges = 0, declined = 0, refused = 0;
  std::uint64_t sent = 0, received = 0;  // bytes of models
  std::uint64_t whole = 0;               // that would have been sent of whole models
  // Exchanges in which both models were seen here, and the sum of the squares of how far apart they
  // were (runtime/replica_distance.h).
  std::uint64_t met = 0;
  double apart = 0;
  double loss = 0;         // mean over the last steps here
  Seconds training = 0;    // time that steps took here
  int models = 1;          // in the mean
  std::vector<bool> lost;  // by peer: it was not there at the end
  Timeline timeline{{}};   // of this peer's steps and exchanges
  int signal = 0;
};

struct GossipPeerOptions {
  int self = 0;
  std::vector<std::string> addresses;  // of all peers, by rank
  std::string listen;                  // empty: its own address
  std::shared_ptr<Transport> transport = make_grpc_transport();
  std::string token;
  GossipRule rule;
  Seconds patience = 60;  // to wait for the others at the start
  Seconds silence = 10;   // after which a peer is taken for dead
  /// Asked after each step; not 0: a signal has come.
  std::function<int()> interrupted;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// What is trained; all of it is the same for all peers.
struct GossipWork {
  Network network;
  DataFingerprint data;
  std::map<std::string, std::string> options;  // what must be the same, by name
  // Beside them, for one who joins and is told what is trained: where the data is, how it is read.
  std::map<std::string, std::string> data_options;
  std::vector<std::uint32_t> rows;  // of the data; every peer trains on each n-th of an epoch
  std::size_t batch = 32;           // rows of a step
  double epochs = 1;                // of all rows, by all peers together
  // Of a run that is resumed: steps by each peer before, and what this one remembers; may be empty.
  std::vector<std::uint64_t> steps;
  std::shared_ptr<const PeerReplicaState> memory;
  Schedule schedule;
  std::uint64_t seed = 1;
  std::vector<float> start;  // parameters
};

/// Rows that so many steps of a peer are, and epochs of all rows that the steps of all make.
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
