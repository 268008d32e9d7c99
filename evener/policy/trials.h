// Which devices are worth having. Ours: a slow device can cost more than it brings, because the
// others wait for it at every merge, and because averaged replicas learn less from a row than one
// replica that sees them all. So, all of it part of the training:
//   look    every device does two batches of full size, and those that are done train on until all
//           are; smaller batches would be over sooner, but their gradients are noisy, which Adam's
//           second moments remember for hundreds of steps
//   trials  the sets of the fastest n, ..., 2, 1 devices train a mega-batch each, merge included;
//           sets whose speeds do not even add up to enough are not tried
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
  /// `whole`: the batch was as large as the device gets them. A leftover of the epoch tells little.
  void finished(const Finished& event, bool whole);
  /// What began with the last merge is over; `whole`: rows of a mega-batch that the epoch did not
  /// cut short. What was seen and decided comes back in words.
  std::vector<std::string> merged(Seconds now, std::size_t whole);

  /// Those that work now, ascending.
  std::vector<int> active() const;
  bool looking() const { return stage_ == Stage::look; }
  /// Every device has done its batches of the look.
  bool looked() const;
  /// One device, for good: there is nothing to merge before the end of the epoch.
  bool alone() const { return on_ && stage_ == Stage::settled && count_ == 1; }
  /// In words, where the run ends before anything was decided; else empty.
  std::string undecided() const;

 private:
  enum class Stage { look, trial, settled };
  struct Entry {
    int worker;
    double speed = 0;      // rows a second, the best of its batches
    std::size_t done = 0;  // batches of the look
  };

  void begin();
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
  std::vector<Entry> entries_;      // those present; after the look fastest first
  Stage stage_ = Stage::settled;
  std::size_t count_ = 0;          // of the entries, the first so many work
  std::vector<std::size_t> sets_;  // sizes yet to be tried
  std::vector<double> rates_;      // by size of the set; 0: not tried
  std::size_t rows_ = 0;           // since `since_`
  Seconds since_ = 0;
  int slow_ = 0;  // mega-batches in a row that were far slower than on trial
};

}  // namespace evener
