// What a run with the shortlist head does before its epochs: devices, checks, retrieval, the wide
// part.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/core/team.h"
#include "evener/retrieval/residual_network.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

struct ShortlistDevice {
  std::string name;
  int threads = 1;
  std::vector<std::string> notes;  // for the user: accelerators that are not used
};
/// Of --devices; UsageError unless it names the processor, once.
ShortlistDevice shortlist_device(const std::string& devices, const DeviceContext& context);

/// UsageError if the network does not fit the shortlist head, or DataError if the data does not.
void check_shortlist(const TrainOptions& options, const TrainingData& data, const Network& network);

ResidualOptions residual_options(const TrainOptions& options);

struct ShortlistFitContext {
  Team& team;
  std::function<void(const std::string&)> say;  // a line a stage; may be empty
  Stop stop;                                    // may be empty
};

struct FittedShortlist {
  std::shared_ptr<ShortlistHead> head;
  Shortlist list;                  // of the training rows, each as if it were new
  std::vector<std::string> notes;  // seconds by stage
};
/// Nothing if `stop` ended it.
std::optional<FittedShortlist> fit_shortlist(const Dataset& data, const TrainOptions& options,
                                             const ShortlistFitContext& context);

/// The same list again, for a resumed run. Nothing if `stop` ended it.
std::optional<Shortlist> training_shortlist(const Dataset& data, const ShortlistHead& head,
                                            const ShortlistFitContext& context);

}  // namespace evener
