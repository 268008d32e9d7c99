// Packets between ranks, in order between any two. A packet is one MPI message with the fixed
// fields
// ("front") and the head, and a second one with the body, if it has one. The body is sent from its
// buffer and received into one, without a copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <mpi.h>

#include "evener/cluster/transport/transport.h"

namespace evener::mpi {

struct Packet {
  enum class Kind : std::uint32_t {
    open,     // a connection
    message,  // of it
    end,      // of it; the head has the reason
    heartbeat,
    leave,   // the sender is done, and waits for the others
    failure  // the sender ends at once; the head has the reason
  };
  Kind kind = Kind::heartbeat;
  std::uint32_t connection = 0;  // number, given by the rank that opened it
  bool to_opener = false;        // the receiver opened it
  Message message{};
};

/// Error with the library's message where a call has failed.
void check(int code, const char* call);

/// The queue of packets to a rank.
class Outgoing {
 public:
  Outgoing(MPI_Comm comm, int to) : comm_(comm), to_(to) {}
  void put(Packet packet) { waiting_.push_back(std::move(packet)); }
  /// Starts and completes sends. Returns whether any was started or completed.
  bool move();
  bool empty() const { return waiting_.empty() && under_way_.empty(); }
  /// Drops packets that are not being sent yet.
  void drop() { waiting_.clear(); }

 private:
  struct Sent {
    std::vector<std::byte> front, gathered;
    Message message;
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  };
  void begin(Packet packet);

  MPI_Comm comm_;
  int to_;
  std::deque<Packet> waiting_;
  std::deque<Sent> under_way_;
};

/// Packets that are arriving from a rank.
class Incoming {
 public:
  Incoming(MPI_Comm comm, int from) : comm_(comm), from_(from) {}
  /// MPI_Improbe has found the front of a packet.
  void add(MPI_Message front, int bytes);
  /// Appends complete packets. Returns whether anything has arrived. Error if a packet is
  /// malformed.
  bool move(std::vector<Packet>& complete);
  bool empty() const { return coming_.empty(); }

 private:
  struct Coming {
    std::vector<std::byte> front;
    std::shared_ptr<std::vector<std::byte>> body;
    MPI_Request request = MPI_REQUEST_NULL;
    bool has_front = false;
    Packet packet;
  };
  void read_front(Coming& coming);

  MPI_Comm comm_;
  int from_;
  std::deque<Coming> coming_;
};

inline constexpr int kFrontTag = 1, kBodyTag = 2;

}  // namespace evener::mpi
