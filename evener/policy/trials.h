// Which devices are worth having. Ours: a slow device can cost more than it brings, because the
// others wait for it at every merge, and because averaged replicas learn less from a row than one
// replica that sees them all. So, all of it part of the training:
//   first look   every device does two small batches
//   second look  one of full size, those that are not hopelessly slow
//   trials       the sets of the fastest n, ..., 2, 1 devices train a mega-batch each, merge
//                included; sets whose speeds do not even add up to enough are not tried
// and the set that trains most rows a second stays: several devices only if they are `worth` times
// as fast as the best one alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evener/policy/policy.h"

namespace evener {

class Trials {
 public:
  Trials(bool on, double worth) : on_(on), worth_(worth) {}

  void join(int worker, const std::string& name);
  void leave(int worker);
  void epoch_began(Seconds now) { since_ = now; }
  void finished(const Finished& event);
  /// What began with the last merge is over; `whole`: rows of a mega-batch that the epoch did not
  /// cut short. What was seen and decided comes back in words.
  std::vector<std::string> merged(Seconds now, std::size_t whole);

  /// Those that work now, ascending.
  std::vector<int> active() const;
  /// A look is under way: each does a few batches for it, and then whatever else until all have.
  /// look() counts one of a worker's, false if it has been given them all.
  bool looking() const { return stage_ == Stage::first_look || stage_ == Stage::second_look; }
  bool look(int worker);
  bool looked() const;  // all have
  bool looks_closely() const { return stage_ == Stage::second_look; }
  /// One device, for good: there is nothing to merge before the end of the epoch.
  bool alone() const { return on_ && stage_ == Stage::settled && count_ == 1; }

 private:
  enum class Stage { first_look, second_look, trial, settled };
  struct Entry {
    int worker;
    double speed = 0;       // rows a second, the best of its batches in this look
    std::size_t looks = 0;  // that it has yet to be given
    std::size_t done = 0;   // batches of this look
  };

  void begin();
  std::size_t looks() const;
  void sort_by_speed();
  void plan_trials();
  std::vector<std::string> settle();
  std::vector<std::string> watch(double rate);
  std::string name(std::size_t entry) const {
    return names_[static_cast<std::size_t>(entries_[entry].worker)];
  }
  std::string names(std::size_t count) const;
  std::vector<std::string> notes() const;

  bool on_;
  double worth_;
  std::vector<std::string> names_;  // by worker
  std::vector<Entry> entries_;      // those present; after a look fastest first
  Stage stage_ = Stage::settled;
  std::size_t count_ = 0;          // of the entries, the first so many work
  std::vector<std::size_t> sets_;  // sizes yet to be tried
  std::vector<double> rates_;      // by size of the set; 0: not tried
  std::size_t rows_ = 0;           // since `since_`
  Seconds since_ = 0;
  int slow_ = 0;  // mega-batches in a row that were far slower than on trial
};

}  // namespace evener
