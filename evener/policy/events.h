// The events that a policy receives. Sizes are in nominal rows: where batches are cut by non-zeros,
// the rows that have so many non-zeros on average.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "evener/core/seconds.h"
#include "evener/policy/gossip_message.h"

namespace evener {

/// What a policy knows about a worker besides its index.
struct WorkerTraits {
  std::string name;
  bool in_place = false;      // it trains on the shared model itself, in host memory
  int threads = 1;            // of an in-place worker: steps side by side, without locks
  std::size_t most_rows = 0;  // of one batch, by its memory; 0: no limit

  bool operator==(const WorkerTraits&) const = default;
};

/// A worker is present and idle: at the start of a run, or later.
struct Joined {
  int worker;
  WorkerTraits traits;
};
/// A worker is lost. The rows that it was training, or had trained since the last merge, are back
/// in the epoch.
struct Lost {
  int worker;
  std::size_t rows = 0;  // how many rows these are, nominal
  Seconds now = 0;
};
/// The heartbeats of a worker have stopped: it may recover, or be Lost soon. With `suspect` false:
/// the heartbeats have resumed.
struct Suspected {
  int worker;
  bool suspect = true;
  Seconds now = 0;
};
struct EpochBegan {
  std::uint64_t epoch;  // counted from 0
  std::size_t rows;     // that are left of it
  Seconds now = 0;
};
/// A worker has done what it was assigned (all parts of it) and is idle.
struct Finished {
  int worker;
  std::size_t rows;  // nominal, as assigned, or less where the epoch ended
  Seconds seconds;   // from the assignment to now
  Seconds now = 0;
  double change = 0;    // of a gossiping node's model since its last exchange: |x - ref| / |ref|
  Seconds compute = 0;  // of `seconds`: without messages; 0: not known
};
/// A worker's push is invalid (not finite, or of a wrong shape) and is dropped. Its rows are back
/// in the epoch, and the worker is idle.
struct InvalidPush {
  int worker;
  Seconds now = 0;
};
/// A message has reached its node.
struct Delivered {
  GossipMessage message;
  Seconds now = 0;
};
/// There were no rows left for what a worker was assigned: it is idle.
struct OutOfRows {
  int worker;
};
/// The answer to Measure: |w_i| / (number of parameters), one per worker; 0 for lost workers.
struct Measured {
  std::vector<double> norms;
};
/// A Merge, ElasticAverage or Apply has been carried out.
struct Merged {
  Seconds now = 0;
};
/// A timer of SetTimer has fired. The policy may not need it any more.
struct TimerFired {
  Seconds now = 0;
};
/// Every row of the epoch is trained and every worker is idle. The policy must now merge what it
/// has held back into the global model, because that is evaluated and saved next.
struct EpochEnded {};

using Event = std::variant<Joined, Lost, Suspected, EpochBegan, Finished, InvalidPush, Delivered,
                           OutOfRows, Measured, Merged, TimerFired, EpochEnded>;

}  // namespace evener
