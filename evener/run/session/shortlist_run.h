// The shortlist head of a run: prepared before the first step, then used by its steps and
// evaluations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evener/core/team.h"
#include "evener/device/device.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/artifacts/model.h"
#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

class ShortlistRun {
 public:
  /// `data` must outlive it.
  ShortlistRun(const TrainOptions& options, const TrainingData& data, int threads);

  /// Fits what the model lacks, or finds the candidates of a resumed run again. False: `stop` ended
  /// it.
  bool prepare(Model& model, const std::function<void(const std::string&)>& say, const Stop& stop);
  /// Seconds by stage and the number of candidates, for the user; once.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

  /// The training rows with their candidates.
  const TrainingData& data() const { return data_; }
  double candidates_a_row() const;

  /// Calls use(replica) with a replica that predicts rows without candidates, by a replica of the
  /// network.
  void evaluate(Replica& network, const std::function<void(Replica&)>& use);

 private:
  TrainOptions options_;
  int threads_;
  TrainingData data_;
  KeptCandidates kept_;  // of the evaluation rows
  std::shared_ptr<ShortlistHead> head_;
  std::vector<std::string> notes_;
};

}  // namespace evener
