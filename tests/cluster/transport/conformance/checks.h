// What every transport promises, as checks that all ranks of a test run at the same time.
#pragma once

#include <string>
#include <vector>

#include "tests/cluster/transport/conformance/board.h"

#include "evener/cluster/transport/transport.h"

namespace evener {

/// One of the processes or threads that talk.
struct Rank {
  int rank = 0, size = 1;
  Transport* transport = nullptr;
  std::string listen;  // where it may: any address of its own
  Board* board = nullptr;
  std::size_t large = std::size_t{8} << 20;  // bytes of the largest payload
  bool is_thread = false;

  int next() const { return (rank + 1) % size; }
  /// Until all ranks are here, or so many.
  void meet(int ranks = 0) {
    met += static_cast<std::uint32_t>(ranks == 0 ? size : ranks);
    board->arrive_and_wait(met);
  }
  std::uint32_t met = 0;
};

/// A thread cannot be killed: it leaves everything as it is, and says nothing.
struct Died {};

struct Check {
  std::string name;
  void (*run)(Rank& rank);  // Error: the transport does not keep its promise
};
std::vector<Check> all_checks();

/// The last rank kills itself in the middle of its connections; all others see that.
void check_death(Rank& rank);

}  // namespace evener
