// The scheduler carries out a policy. It sends events to the policy, turns the policy's decisions
// into tasks, merges and messages, and keeps the ledger of the epoch's rows. It has no thread and
// no clock of its own: an executor runs the tasks, and Models holds the parameters.
//
// A run of two devices, step by step: run_epoch() sends EpochBegan; the policy returns an Assign
// for each worker; the executor runs the two tasks; each Arrival becomes a Finished event, which
// the policy answers with the next Assign, or with a Merge when it is time for one. When no rows
// are left and no task is under way, EpochEnded lets the policy merge what is not merged yet. The
// timeline records each task and merge.
//
//   scheduler.cc          the epoch loop, events and decisions, merges
//   scheduler_tasks.cc    assignments, tasks that end, pushes
//   scheduler_workers.cc  workers that join, leave and fail
//   scheduler_gossip.cc   messages between peers
//   scheduler_checks.cc   what a policy must not decide
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "evener/policy/policy.h"
#include "evener/runtime/epoch_ledger.h"
#include "evener/runtime/executor.h"
#include "evener/runtime/model_kinds.h"
#include "evener/runtime/plan.h"
#include "evener/runtime/timeline.h"

namespace evener {

class Scheduler {
 public:
  /// Keeps references to all but `workers`, which are the executor's, by index.
  Scheduler(const EpochPlan& plan, Policy& policy, Models& models, Executor& executor,
            std::vector<WorkerTraits> workers, Timeline& timeline);

  /// Trains the rest of the current epoch. Returns true when its last row is trained;
  /// position.next_row is then the row count and position.epoch is unchanged. `after_step` returns
  /// false to pause, and the end of the plan's time is a pause too: the tasks under way end, the
  /// global model gets their results, and a later call continues from there.
  bool run_epoch(Position& position, const std::function<bool(const StepReport&)>& after_step);

  /// How far the replicas were from each other when the last run_epoch ended, before they were
  /// merged; nothing where there are no replicas or the plan does not ask for it.
  std::optional<double> distance() const { return distance_; }
  /// The time that these measurements took, since the start.
  Seconds measuring() const { return measuring_; }

  /// Drops a worker that failed while no task was under way. The global model contains all that it
  /// trained.
  void lose(int worker, const std::string& why);

  /// Steps assigned to each worker so far. A resumed run sets them before its first epoch.
  std::vector<std::uint64_t> steps() const;
  void set_steps(std::span<const std::uint64_t> steps);

  // Messages for the user since the last call; each call clears them.
  /// Dropped workers, each with the reason.
  std::vector<std::string> take_dropped_workers();
  /// Notes of the policy and of the models.
  std::vector<std::string> take_notes();
  /// Workers whose memory is too small for the batches that the policy wanted, once per worker.
  std::vector<std::string> take_cuts();

 private:
  struct WorkerStatus {
    std::uint64_t steps = 0;  // assigned so far
    bool lost = false;
    bool busy = false;          // has a task
    bool pushed = false;        // its push waits for ApplyPushes or Reject
    bool cut_reported = false;  // the user was informed that its memory is too small
  };
  /// A task whose worker prefetches: it starts when its next batch is known.
  struct PrefetchingTask {
    Assign decision;
    Task task;
  };

  // Events and decisions.
  void notify(const Event& event);
  void act(const Decision& decision);
  void merge(const Merge& decision);
  void elastic_average(const ElasticAverage& decision);
  void apply(const Apply& decision);
  void measure_norms();
  /// Runs a merge over all workers and sends Merged. `vectors`: how many each worker sends.
  template <class F>
  void merge_all(F merge, std::size_t vectors = 1);
  /// Whether the next merge is the last one of this call of run_epoch.
  bool is_last_merge() const { return pausing_ || ledger_.exhausted(); }
  /// A worker whose device fails meanwhile is left out, here and in the merge that follows.
  template <class Kind>
  void measure_distance(Kind& models) {
    if (!plan_.measures_distance) return;
    const Seconds begin = executor_.now();
    distance_ = models.distance();
    measuring_ += executor_.now() - begin;
  }

  // What a policy must not decide: each throws an Error that names the decision.
  void check_worker(const char* decision, int worker) const;
  void check_idle(const char* decision, int worker) const;
  void check_all_idle(const char* decision) const;
  /// The weights, with 0 for each worker that the policy does not know: it has not joined yet.
  std::vector<double> checked_weights(const char* decision, std::vector<double> weights) const;
  void check_exchange(const char* decision, int worker, int other) const;
  void check_push(const char* decision, int worker) const;
  void check_assign(const Assign& decision) const;
  /// Call for each event: very many of them without a wait are an endless loop.
  void check_progress();

  // Time.
  /// Of the executor's clock, without measurements of the distance.
  Seconds now() const { return executor_.now() - measuring_; }
  /// As Position::seconds.
  Seconds trained() const { return now() - not_training_; }
  bool is_out_of_time() const { return plan_.is_out_of_time(trained()); }

  // Tasks.
  void assign(const Assign& decision);
  void report_cut(const Assign& decision);
  std::optional<Slice> cut(const Assign& decision);
  float learning_rate();
  Step next_step(const Assign& decision);
  void start_prefetching_tasks();
  void handle(Arrival arrival);
  void complete_task(const Arrival& arrival);
  void refuse_invalid_push(const Arrival& arrival);
  void apply_pushes(const ApplyPushes& decision);
  void reject_push(int worker);

  // Workers.
  WorkerStatus& status(int worker) { return statuses_[static_cast<std::size_t>(worker)]; }
  const WorkerStatus& status(int worker) const {
    return statuses_[static_cast<std::size_t>(worker)];
  }
  void join(int worker);
  void update_membership();
  bool waits_for_workers() const;
  bool rewinds();
  /// `blameless`: these parts, which it was training, are not why the worker is lost.
  void drop(int worker, const std::string& why, std::span<const Part> parts,
            bool blameless = false);
  /// Call after each use of the models: drops the workers whose device failed in it.
  void drop_failures();

  // Gossip messages.
  void offer(const Offer& decision);
  void answer(const Answer& decision);
  void decline(const Decline& decision);
  void complete_exchange(const CompleteExchange& decision);
  void average();
  void send(const GossipMessage& message, std::size_t bytes);
  void deliver(const GossipMessage& message);

  const EpochPlan& plan_;
  Policy& policy_;
  Models& models_;
  const PeerSharing* peers_;  // the models, where they are of this kind
  Executor& executor_;
  std::vector<WorkerTraits> workers_;
  Timeline& timeline_;

  EpochLedger ledger_;
  std::function<bool(const StepReport&)> after_step_;
  std::queue<Event> events_;  // that the policy has not received yet
  bool notifying_ = false;
  std::vector<PrefetchingTask> prefetching_;
  bool pausing_ = false;
  std::size_t under_way_ = 0;  // tasks and messages
  std::size_t events_since_wait_ = 0;
  int present_ = 0;        // workers
  std::size_t known_ = 0;  // workers with a smaller index than this have joined at some time
  std::vector<WorkerStatus> statuses_;
  std::uint64_t steps_assigned_ = 0;
  Step gradient_step_{0, 0};   // of the current round of gradients
  std::uint64_t version_ = 0;  // updates of the shared model, by all workers
  int invalid_in_a_row_ = 0;   // pushes
  std::optional<double> distance_;
  Seconds measuring_ = 0;
  /// now() less the seconds of training so far. In virtual time it is exactly 0, so that a resumed
  /// run computes the same times to the bit.
  Seconds not_training_ = 0;
  std::vector<std::string> dropped_workers_, notes_, cuts_;
};

}  // namespace evener
