// Durations and points in time are double seconds everywhere: what the virtual clock computes and
// reports print. This header has the type alone, for code that must not read a clock.
#pragma once

namespace evener {

using Seconds = double;

}  // namespace evener
