// What train and simulate print when they are done.
#pragma once

#include "evener/run/train.h"

namespace evener {

void print_result(const TrainResult& result, bool json);

}  // namespace evener
