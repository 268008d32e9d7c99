// What a run with the shortlist head does before its epochs: devices, checks, retrieval, the wide
// part.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "evener/core/team.h"
#include "evener/retrieval/residual_network.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

struct ShortlistDevice {
  std::string name;
  int threads = 1;
};
/// UsageError unless --devices names the processor, once.
ShortlistDevice shortlist_device(const TrainOptions& options);

/// UsageError if the network does not fit the shortlist head, or DataError if the data does not.
void check_shortlist(const TrainOptions& options, const TrainingData& data, const Network& network);

ResidualOptions residual_options(const TrainOptions& options);

struct ShortlistFitContext {
  Team& team;
  std::function<void(const std::string&)> say;  // a line a stage; may be empty
};

struct FittedShortlist {
  std::shared_ptr<ShortlistHead> head;
  Shortlist list;                  // of the training rows, each as if it were new
  std::vector<std::string> notes;  // seconds by stage
};
FittedShortlist fit_shortlist(const Dataset& data, const TrainOptions& options,
                              const ShortlistFitContext& context);

/// The same list again, for a resumed run.
Shortlist training_shortlist(const Dataset& data, const ShortlistHead& head,
                             const ShortlistFitContext& context);

}  // namespace evener
