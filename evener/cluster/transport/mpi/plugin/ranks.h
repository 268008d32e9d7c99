// The thread that makes all MPI calls. It sends packets to the other ranks, receives theirs, and
// detects silent ranks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "evener/cluster/transport/mpi/plugin/packets.h"
#include "evener/cluster/transport/mpi/world.h"

namespace evener::mpi {

class Ranks {
 public:
  // Callbacks, called on its thread.
  struct Events {
    std::function<void(int from, Packet packet)> packet;  // open, message or end
    std::function<void(int rank, const std::string& why)> lost;
    std::function<bool()> busy;  // receiving pauses while it returns true
  };

  /// Initializes MPI: rank and size are known when the constructor returns.
  Ranks(const WorldOptions& options, Events events);
  /// Stops the thread. Must not be called while the thread is stuck.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int neighbours() const { return neighbours_; }
  const std::string& library() const { return library_; }

  /// Whether the thread is blocked in an MPI call. This can happen when a rank dies that shared
  /// memory with this one. All other ranks then count as lost.
  bool stuck() const { return stuck_; }

  /// Returns at once.
  void send(int to, Packet packet);
  std::string lost() const;
  /// As in World. Only one of them is called, once, as the last call.
  void leave();
  bool fail(const std::string& why);

 private:
  struct RankState {
    RankState(MPI_Comm comm, int rank) : out(comm, rank), in(comm, rank) {}
    Outgoing out;
    Incoming in;
    Stopwatch heard;
    bool has_sent = false;  // a packet has arrived from it
    bool leaving = false;   // it is done
    bool failed = false;    // it ends, but may still receive
    bool lost = false;      // it is lost
  };
  enum class Phase { running, leaving, failing, stopping, over };

  void start_threads();
  void work();
  void watch();
  void begin();
  void run_loop();
  bool take_outgoing();
  bool probe();
  void take(int from, Packet packet);
  void beat();
  /// Records the reason and calls Events::lost.
  void report_lost(int rank, const std::string& why);
  void lose(int rank, const std::string& why);
  void set_phase(Phase phase, const std::string& why);
  /// Whether the thread has nothing left to do.
  bool is_over();
  /// Whether all packets were sent, except those to lost ranks and, unless `to_failed`, to failed
  /// ranks.
  bool all_sent(bool to_failed) const;
  void idle(bool moved);
  void await_end();

  WorldOptions options_;
  Events events_;
  int rank_ = 0, size_ = 1, neighbours_ = 1;
  std::string library_;

  // Used only on the thread.
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::deque<RankState> others_;  // by rank, this one too
  Phase entered_ = Phase::running;
  Stopwatch since_phase_, since_beat_;
  int idle_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<int, Packet>> outgoing_;
  Phase phase_ = Phase::running;
  std::string lost_;
  std::string failure_;        // of this rank
  bool root_reports_ = false;  // rank 0 is another rank and not lost: it reports the failure
  std::promise<void> begun_;
  std::atomic<std::uint64_t> rounds_ = 0;  // of the thread
  std::atomic<bool> stuck_ = false;
  std::thread thread_, watch_;
};

}  // namespace evener::mpi
