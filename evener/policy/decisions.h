// The decisions that a policy returns. Sizes are in nominal rows, as in events.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "evener/core/seconds.h"

namespace evener {

enum class Work {
  local,     // one step on the worker's own replica
  in_place,  // `parts` steps side by side on the shared model
  copied,    // copy the shared model in, one step, write the result back
  gradient,  // no step: the batch's gradient, for the next Apply
  pushed,    // pull the shared model, `parts` steps one after the other, push what changed; the
             // push waits for ApplyPushes or Reject
};

inline constexpr std::size_t kAnyRows = static_cast<std::size_t>(-1);

struct Assign {
  int worker;
  std::size_t rows;  // of each part
  int parts = 1;
  double rate = 1;  // factor of the learning rate of an update of these rows
  Work work = Work::local;
  std::size_t wanted =
      0;                 // rows that the policy wanted, if its memory holds fewer; 0: it holds them
  bool by_rows = false;  // the rate is for all these rows: with fewer it is scaled down
  /// Rows of the update that decide its learning rate (nn/rate_rule.h), where the step is a part of
  /// a larger update; 0: those of the step. kAnyRows: the learning rate as it is.
  std::size_t update_rows = 0;

  bool operator==(const Assign&) const = default;
};
/// w_new = sum a_i w_i + gamma (w - w_prev); every replica becomes w_new. All workers are idle.
struct Merge {
  std::vector<double> weights;  // a_i; 0 for lost workers
  double momentum = 0;          // gamma
  bool moments = false;         // also average the second moments of the optimizer, if it has them

  bool operator==(const Merge&) const = default;
};
/// With d_i = w_i - z: w_i -= pull d_i and z += pull sum d_i + momentum (z - z_prev), where z is
/// the global model. All workers are idle.
struct ElasticAverage {
  double pull;
  double momentum = 0;

  bool operator==(const ElasticAverage&) const = default;
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
struct ApplyPushes {
  std::vector<int> workers;  // ascending; the sum is taken in this order
  double share = 1;
  double damping = 1;
  double momentum = 0;

  bool operator==(const ApplyPushes&) const = default;
};
/// The worker's push is dropped; its rows are back in the epoch.
struct Reject {
  int worker;

  bool operator==(const Reject&) const = default;
};
/// Requests a TimerFired event at this time.
struct SetTimer {
  Seconds at;

  bool operator==(const SetTimer&) const = default;
};
/// Answered by Measured before anything else happens.
struct Measure {
  bool operator==(const Measure&) const = default;
};

// Between gossip nodes; gossip_node.h has the arithmetic. The node is idle.
/// The node sends its current model to another.
struct Offer {
  int worker, to;
  std::uint64_t sequence;

  bool operator==(const Offer&) const = default;
};
/// The node moves halfway to the other's model and sends its own as it was before.
struct Answer {
  int worker, to;
  std::uint64_t sequence;

  bool operator==(const Answer&) const = default;
};
struct Decline {
  int worker, to;
  std::uint64_t sequence;

  bool operator==(const Decline&) const = default;
};
/// The node applies the answer to its offer.
struct CompleteExchange {
  int worker, from;
  std::uint64_t sequence;

  bool operator==(const CompleteExchange&) const = default;
};
/// The global model becomes the mean of all nodes' models, which do not change.
struct Average {
  bool operator==(const Average&) const = default;
};

/// A message for the user about what the policy measured and decided.
struct Note {
  std::string text;

  bool operator==(const Note&) const = default;
};

using Decision = std::variant<Assign, Merge, ElasticAverage, Apply, ApplyPushes, Reject, SetTimer,
                              Measure, Note, Offer, Answer, Decline, CompleteExchange, Average>;
using Decisions = std::vector<Decision>;  // carried out in this order

}  // namespace evener
