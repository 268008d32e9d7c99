// The recipe: the values of options that are `auto`, for the given data. The choices and
// the measurements behind them are in docs/results.md.
#pragma once

#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

/// `options` with every `auto` replaced; given values stay as they are.
TrainOptions with_recipe(TrainOptions options, const TrainingData& data);

/// The same for a resumed run: `auto` options get their values from `earlier`.
TrainOptions with_earlier_recipe(TrainOptions options, const OptionTexts& earlier);

}  // namespace evener
