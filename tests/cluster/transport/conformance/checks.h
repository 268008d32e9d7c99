// The guarantees of every transport, as checks that all ranks of a test run at the same time.
#pragma once

#include <string>
#include <vector>

#include "tests/cluster/transport/conformance/rendezvous.h"

#include "evener/cluster/transport/transport.h"

namespace evener {

/// One of the processes or threads of a test.
struct Rank {
  int rank = 0, size = 1;
  Transport* transport = nullptr;
  std::string listen;  // where it may: any address of its own
  Rendezvous* rendezvous = nullptr;
  std::size_t large = std::size_t{8} << 20;  // bytes of the largest payload
  bool is_thread = false;

  int next() const { return (rank + 1) % size; }
  /// Waits until all ranks, or so many, have arrived.
  void barrier(int ranks = 0) {
    arrivals += static_cast<std::uint32_t>(ranks == 0 ? size : ranks);
    rendezvous->arrive_and_wait(arrivals);
  }
  std::uint32_t arrivals = 0;
};

/// A thread cannot be killed: instead it stops and sends nothing.
struct Died {};

struct Check {
  std::string name;
  void (*run)(Rank& rank);  // Error: the check failed
};
std::vector<Check> all_checks();

/// The last rank kills itself while its connections are open; all others detect it.
void check_death(Rank& rank);

}  // namespace evener
