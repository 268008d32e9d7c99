// The thread that makes all calls of MPI: sends packets to the other ranks, receives theirs, and
// notices ranks that are silent.
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
  // What its thread calls.
  struct Events {
    std::function<void(int from, Packet packet)> packet;  // open, message or end
    std::function<void(int rank, const std::string& why)> lost;
    std::function<bool()> busy;  // with what has come: nothing more is asked for
  };

  /// MPI's rank and size are known when it is made.
  Ranks(const WorldOptions& options, Events events);
  /// Ends the thread, whatever it was at, unless it is stuck: then it must not go.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int neighbours() const { return neighbours_; }
  const std::string& library() const { return library_; }

  /// Whether the thread does not come back from an MPI call, as may happen when a rank dies
  /// that shared memory with this one. All others are lost to it then.
  bool stuck() const { return stuck_; }

  /// Returns at once.
  void send(int to, Packet packet);
  std::string lost() const;
  /// See World; each is called once at most, and is the last call.
  void leave();
  bool fail(const std::string& why);

 private:
  struct RankState {
    RankState(MPI_Comm comm, int rank) : out(comm, rank), in(comm, rank) {}
    Outgoing out;
    Incoming in;
    Stopwatch heard;
    bool spoke = false;    // anything at all so far
    bool goodbye = false;  // it is done
    bool failed = false;   // it ends, and may still hear
    bool lost = false;     // it is lost
  };
  enum class Phase { talking, leaving, failing, stopping, over };

  void work();
  void watch();
  void begin();
  void talk();
  bool take_orders();
  bool probe();
  void take(int from, Packet packet);
  void beat();
  /// It has failed, and says so; or it is lost.
  void part(int rank, const std::string& why);
  void lose(int rank, const std::string& why);
  void say(Phase phase, const std::string& why);
  /// Whether the thread has nothing left to do.
  bool is_over();
  /// But for those that are lost, and perhaps for those that have failed.
  bool all_sent(bool to_failed) const;
  void rest(bool moved);
  void await_end();

  WorldOptions options_;
  Events events_;
  int rank_ = 0, size_ = 1, neighbours_ = 1;
  std::string library_;

  // Of the thread.
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::deque<RankState> others_;  // by rank, this one too
  Phase told_ = Phase::talking;
  Stopwatch since_told_, since_beat_;
  int idle_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<int, Packet>> orders_;
  Phase phase_ = Phase::talking;
  std::string lost_;
  std::string failure_;        // of this rank
  bool first_speaks_ = false;  // rank 0 is not this one, and not lost
  std::promise<void> begun_;
  std::atomic<std::uint64_t> rounds_ = 0;  // of the thread
  std::atomic<bool> stuck_ = false;
  std::thread thread_, watch_;
};

}  // namespace evener::mpi
