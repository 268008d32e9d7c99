// The recipe: the values of options that are `auto`, for the given data. The choices and
// the measurements behind them are in docs/results.md.
#pragma once

#include <cstddef>

#include "evener/data/dataset.h"
#include "evener/run/options/options.h"

namespace evener {

/// `options` with every `auto` replaced; given values stay as they are. `rows`: the number of rows
/// of `data` that are trained on.
TrainOptions with_recipe(TrainOptions options, const Dataset& data, std::size_t rows);

/// How the network of a shortlist head is trained: fixed values of the options that only the full
/// head has. They do not depend on the data.
TrainOptions with_shortlist_training(TrainOptions options);

/// `with_recipe` for a resumed run: `auto` options get their values from `earlier`.
TrainOptions with_earlier_recipe(TrainOptions options, const OptionTexts& earlier);

}  // namespace evener
