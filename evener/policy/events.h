// What a policy is told. Sizes are in nominal rows: where batches are cut by non-zeros, the rows
// that have so many on average.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "evener/core/seconds.h"
#include "evener/policy/gossip_message.h"

namespace evener {

/// What a policy knows of a worker beside its index.
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
/// A worker is gone. The rows that it was training, or had trained since the last merge, are back
/// in the epoch.
struct Lost {
  int worker;
  std::size_t rows = 0;  // how many these are, nominal
  Seconds now = 0;
};
/// A worker gives no sign of life: it may come back, or be Lost soon. With `suspect` false: it
/// gives signs of life again.
struct Suspected {
  int worker;
  bool suspect = true;
  Seconds now = 0;
};
struct EpochBegan {
  std::uint64_t epoch;  // counted from 0
  std::size_t rows;
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
/// What a worker pushed cannot be used (not finite, or of a wrong shape) and is thrown away; its
/// rows are back in the epoch and the worker is idle.
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
/// The answer to Measure: |w_i| / (number of parameters), one a worker; 0 for those that are gone.
struct Measured {
  std::vector<double> norms;
};
/// A Merge, ElasticAverage or Apply has been carried out.
struct Merged {
  Seconds now = 0;
};
/// A time that SetTimer asked for has come; the policy may have changed its mind meanwhile.
struct TimerFired {
  Seconds now = 0;
};
/// Every row of the epoch is trained and every worker idle. Whatever a policy holds back it must
/// bring into the global model now, because that is evaluated and saved next.
struct EpochEnded {};

using Event = std::variant<Joined, Lost, Suspected, EpochBegan, Finished, InvalidPush, Delivered,
                           OutOfRows, Measured, Merged, TimerFired, EpochEnded>;

}  // namespace evener
