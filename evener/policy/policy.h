// A policy decides and does not act: which batch goes where, how large, when replicas merge. It is
// told events and answers decisions; there is no clock, thread, device or random number inside, so
// one and the same policy runs real devices, runs in virtual time and is tested in tables.
//
// Sizes are in nominal rows: where batches are cut by non-zeros, so many rows' worth of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "evener/core/time.h"

namespace evener {

/// What a policy knows of a worker beside its index.
struct WorkerTraits {
  std::string name;
  bool in_place = false;      // it trains on the shared model itself, in host memory
  int threads = 1;            // of an in-place worker: steps side by side, without locks
  std::size_t most_rows = 0;  // of one batch, by its memory; 0: no limit

  bool operator==(const WorkerTraits&) const = default;
};

// ---- Events ----

/// A worker is there and idle: at the start of a run, or later.
struct Joined {
  int worker;
  WorkerTraits traits;
};
/// A worker is gone. Rows that it had, or had trained without a merge since, are back in the epoch.
struct Lost {
  int worker;
  std::size_t rows = 0;  // so many, nominal
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
};
/// There were no rows left for what a worker was assigned: it is idle.
struct Dry {
  int worker;
};
/// The answer to Measure: |w_i| / (number of parameters), one a worker; 0 for those that are gone.
struct Measured {
  std::vector<double> norms;
};
/// A Merge, Attract or Apply has been carried out.
struct Merged {
  Seconds now = 0;
};
/// A time that Wake asked for has come; the policy may have changed its mind meanwhile.
struct Woken {
  Seconds now = 0;
};
/// Every row of the epoch is trained and every worker idle. Whatever a policy holds back it must
/// bring into the global model now, because that is evaluated and saved next.
struct EpochEnded {};

using Event =
    std::variant<Joined, Lost, EpochBegan, Finished, Dry, Measured, Merged, Woken, EpochEnded>;

// ---- Decisions ----

enum class Work {
  local,     // one step on the worker's own replica
  in_place,  // `parts` steps side by side on the shared model
  copied,    // copy the shared model in, one step, give the result back
  gradient,  // no step: the batch's gradient, for the next Apply
  pushed,  // pull the shared model, `parts` steps one after the other, and hand over what changed,
           // which waits for Absorb or Reject
};

struct Assign {
  int worker;
  std::size_t rows;  // of each part
  int parts = 1;
  double rate = 1;  // factor of the learning rate
  Work work = Work::local;

  bool operator==(const Assign&) const = default;
};
/// w_new = sum a_i w_i + gamma (w - w_prev); every replica becomes w_new. All workers are idle.
struct Merge {
  std::vector<double> weights;  // a_i; 0 for workers that are gone
  double momentum = 0;          // gamma

  bool operator==(const Merge&) const = default;
};
/// With d_i = w_i - z: w_i -= pull d_i and z += pull sum d_i + momentum (z - z_prev), where z is
/// the global model. All workers are idle.
struct Attract {
  double pull;
  double momentum = 0;

  bool operator==(const Attract&) const = default;
};
/// One step of the optimizer on the global model with gradient sum a_i g_i; every replica becomes
/// the result. All workers are idle.
struct Apply {
  std::vector<double> weights;

  bool operator==(const Apply&) const = default;
};
/// The shared model moves by the mean d of what these workers have pushed, as `share` of a step:
/// m = mu^share m + damping (1 - mu^share) / (1 - mu) d and w += share m, with mu = momentum. With
/// share 1 that is momentum as usual; without momentum it is w += share damping d.
struct Absorb {
  std::vector<int> workers;  // ascending; the sum is taken in this order
  double share = 1;
  double damping = 1;
  double momentum = 0;

  bool operator==(const Absorb&) const = default;
};
/// What the worker has pushed is thrown away; its rows are back in the epoch.
struct Reject {
  int worker;

  bool operator==(const Reject&) const = default;
};
/// To be told Woken then.
struct Wake {
  Seconds at;

  bool operator==(const Wake&) const = default;
};
/// Answered by Measured before anything else happens.
struct Measure {
  bool operator==(const Measure&) const = default;
};

/// For people: what the policy saw and decided.
struct Note {
  std::string text;

  bool operator==(const Note&) const = default;
};

using Decision = std::variant<Assign, Merge, Attract, Apply, Absorb, Reject, Wake, Measure, Note>;
using Decisions = std::vector<Decision>;  // carried out in this order

class Policy {
 public:
  virtual ~Policy() = default;
  virtual Decisions on(const Event& event) = 0;
  /// For people, when the run ends: what it was about to decide; empty: nothing.
  virtual std::string undecided() const { return ""; }
};

/// For std::visit: one lambda a case.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

}  // namespace evener
