// What a run with the shortlist head does before its steps: checks, retrieval, the wide part.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evener/core/team.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

/// Replaces --devices auto by the processor. Returns notes for the user: accelerators that are not
/// used. UsageError if --devices names an accelerator.
std::vector<std::string> choose_shortlist_devices(std::string& devices,
                                                  const DeviceContext& context);

/// UsageError if options contradict the shortlist head.
void check_shortlist(const TrainOptions& options);
/// DataError if the data does not fit it.
void check_shortlist(const TrainOptions& options, const TrainingData& data);

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
