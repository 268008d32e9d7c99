#include "evener/device/device.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace evener {

void Replica::load(int vector, std::span<const float> values) {
  FloatBuffer buffer = take(vector);
  assert(values.size() == buffer.size());
  std::copy(values.begin(), values.end(), buffer.data());
  give(vector, std::move(buffer));
}

void Replica::store(int vector, std::span<float> values) {
  FloatBuffer buffer = take(vector);
  assert(values.size() == buffer.size());
  std::copy(buffer.data(), buffer.data() + buffer.size(), values.begin());
  give(vector, std::move(buffer));
}

}  // namespace evener
