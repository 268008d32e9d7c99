// How gtest prints the choices of a network.
#pragma once

#include <ostream>

#include "evener/nn/network.h"

namespace evener {

inline void PrintTo(Loss loss, std::ostream* out) {
  *out << to_string(loss);
}
inline void PrintTo(Activation activation, std::ostream* out) {
  *out << to_string(activation);
}
inline void PrintTo(Input input, std::ostream* out) {
  *out << to_string(input);
}

}  // namespace evener
