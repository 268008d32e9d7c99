// Carries out a policy: tells it events, turns its decisions into tasks and merges, and keeps the
// ledger of an epoch's rows. Knows neither threads nor clocks: a Executor runs the tasks.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "evener/policy/policy.h"
#include "evener/runtime/executor.h"
#include "evener/runtime/models.h"
#include "evener/runtime/plan.h"
#include "evener/runtime/timeline.h"

namespace evener {

class Scheduler {
 public:
  /// All are kept by reference; `workers` are the executor's, by index.
  Scheduler(const EpochPlan& plan, Policy& policy, Models& models, Executor& executor,
            std::vector<WorkerTraits> workers, Timeline& timeline);

  /// Steps through the rest of the current epoch; true when its last row is done (position.next_row
  /// is then the row count, position.epoch unchanged). `after_step` returns false to pause: what is
  /// under way is finished and brought into the global model, and a later call goes on from there.
  bool run_epoch(Position& position, const std::function<bool(const StepReport&)>& after_step);

  /// Between the replicas when the last run_epoch ended, before they were brought together; nothing
  /// where there are none or the plan does not ask.
  std::optional<double> distance() const { return distance_; }
  /// The time that it took to find that out, since the start.
  Seconds measuring() const { return measuring_; }

  /// A worker that failed while nothing was under way and all it did is in the global model.
  void lose(int worker, const std::string& why);

  /// Steps that each worker was assigned so far; and of an earlier session, before the first epoch.
  std::vector<std::uint64_t> steps() const;
  void set_steps(std::span<const std::uint64_t> steps);

  /// Reasons of workers that were dropped so far, to be told to people; cleared by this.
  std::vector<std::string> take_dropped_workers();
  /// What the policy has to say to people so far; cleared by this.
  std::vector<std::string> take_notes();
  /// Of devices whose memory is too small for the batches they were to get: how large these are
  /// and would have been, once a device; cleared by this.
  std::vector<std::string> take_cuts();

 private:
  struct WorkerLedger {
    std::uint64_t steps = 0;      // assigned to the worker
    std::vector<Slice> unmerged;  // trained by it and not in the global model yet
    double unmerged_loss = 0;
    bool lost = false;
    bool cut = false;  // it was said that its memory is too small for its batches
  };

  void tell(const Event& event);
  void act(const Decision& decision);
  void assign(const Assign& decision);
  void note_cut(const Assign& decision);
  void start_foreseen();
  void apply_pushes(const ApplyPushes& decision);
  void reject(int worker);
  bool write(const Decision& decision);
  void send(GossipMessage::Kind kind, int from, int to, std::uint64_t sequence, std::size_t bytes);
  void close_ledger(int worker);
  void average();
  void measure_distance();
  void join(int worker);
  /// Who came and went.
  void hear();
  bool waits_for_workers() const;
  void reject_push(const Arrival& arrival);
  void complete_task(Arrival arrival);
  void drop(int worker, const std::string& why, std::span<const Part> parts);
  /// After something was done to the models: those whose device failed meanwhile.
  void drop_failures();
  std::optional<Slice> cut(const Assign& decision);
  Step next_step(const Assign& decision);

  const EpochPlan& plan_;
  Policy& policy_;
  Models& models_;
  Executor& executor_;
  std::vector<WorkerTraits> workers_;
  Timeline& timeline_;

  std::optional<EpochRows> rows_;
  Position* position_ = nullptr;
  std::function<bool(const StepReport&)> after_step_;
  std::queue<Event> events_;  // that decisions gave rise to
  bool telling_ = false;
  struct Foreseen {
    Assign decision;
    Task task;
  };
  std::vector<Foreseen> foreseen_;  // about to start, and to be told what comes after
  bool pausing_ = false;
  std::size_t under_way_ = 0;
  int present_;
  std::vector<WorkerLedger> ledgers_;
  std::uint64_t steps_assigned_ = 0;
  Step gradient_step_{0, 0};   // of the round of gradients under way
  std::uint64_t version_ = 0;  // updates of the shared model, by all
  int invalid_in_a_row_ = 0;
  std::optional<double> distance_;
  Seconds measuring_ = 0;
  std::vector<std::string> dropped_workers_, notes_, cuts_;
};

}  // namespace evener
