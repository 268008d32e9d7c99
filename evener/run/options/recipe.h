// The recipe: the values of options that are `auto`, for the data at hand. The choices and
// the measurements behind them are in docs/results.md.
#pragma once

#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

/// `options` with nothing left open; what was given stays as it is.
TrainOptions with_recipe(TrainOptions options, const TrainingData& data);

/// The same for a run that is resumed: open options get their values of `earlier`.
TrainOptions with_earlier_recipe(TrainOptions options, const OptionTexts& earlier);

}  // namespace evener
