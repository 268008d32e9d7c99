#include "evener/device/cpu/shortlist_kernels.h"

#include "evener/device/vector/vector_kernels.h"

// An SSSE3 version would add only compile time over SSE4.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "evener/device/cpu/shortlist_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target:
#include "hwy/highway.h"

#include "evener/device/vector/racing-inl.h"

HWY_BEFORE_NAMESPACE();
namespace evener::cpu::shortlist {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<float> kFloat;
constexpr hn::RebindToSigned<decltype(kFloat)> kIndex;
using Vec = hn::Vec<decltype(kFloat)>;

HWY_NOINLINE float sparse_dot(const std::uint32_t* indices, const float* values, std::size_t count,
                              const float* dense) {
  const std::size_t n = hn::Lanes(kFloat);
  Vec even = hn::Zero(kFloat), odd = hn::Zero(kFloat);
  std::size_t i = 0;
  const auto* signed_indices = reinterpret_cast<const std::int32_t*>(indices);
  for (; i + 2 * n <= count; i += 2 * n) {
    const auto a = hn::LoadU(kIndex, signed_indices + i);
    const auto b = hn::LoadU(kIndex, signed_indices + i + n);
    even = hn::MulAdd(hn::LoadU(kFloat, values + i), hn::GatherIndex(kFloat, dense, a), even);
    odd = hn::MulAdd(hn::LoadU(kFloat, values + i + n), hn::GatherIndex(kFloat, dense, b), odd);
  }
  for (; i + n <= count; i += n) {
    const auto a = hn::LoadU(kIndex, signed_indices + i);
    even = hn::MulAdd(hn::LoadU(kFloat, values + i), hn::GatherIndex(kFloat, dense, a), even);
  }
  float sum = hn::GetLane(hn::SumOfLanes(kFloat, hn::Add(even, odd)));
  for (; i < count; ++i) sum += values[i] * dense[indices[i]];
  return sum;
}

HWY_NOINLINE void sparse_add(const std::uint32_t* indices, const float* values, std::size_t count,
                             float factor, float* dense) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float a = dense[indices[i]] + factor * values[i];
    const float b = dense[indices[i + 1]] + factor * values[i + 1];
    const float c = dense[indices[i + 2]] + factor * values[i + 2];
    const float d = dense[indices[i + 3]] + factor * values[i + 3];
    dense[indices[i]] = a;
    dense[indices[i + 1]] = b;
    dense[indices[i + 2]] = c;
    dense[indices[i + 3]] = d;
  }
  for (; i < count; ++i) dense[indices[i]] += factor * values[i];
}

HWY_NOINLINE std::size_t above(const float* values, std::size_t count, float threshold,
                               std::uint32_t* out) {
  const std::size_t n = hn::Lanes(kFloat);
  const Vec least = hn::Set(kFloat, threshold);
  std::size_t found = 0, i = 0;
  for (; i + n <= count; i += n) {
    const auto larger = hn::Gt(hn::LoadU(kFloat, values + i), least);
    if (hn::AllFalse(kFloat, larger)) continue;
    for (std::size_t j = i; j < i + n; ++j) {
      out[found] = static_cast<std::uint32_t>(j);
      found += values[j] > threshold ? 1 : 0;
    }
  }
  for (; i < count; ++i) {
    if (values[i] > threshold) out[found++] = static_cast<std::uint32_t>(i);
  }
  return found;
}

HWY_NOINLINE std::size_t add_cells(const std::uint32_t* labels, const float* sums,
                                   std::size_t count, const float* factor, const float* constant,
                                   float* cells, std::uint32_t* touched) {
  constexpr hn::CappedTag<float, 4> kCell;  // a whole cell, except where vectors have one lane
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    float* cell = cells + 4 * std::size_t{labels[i]};
    touched[found] = labels[i];
    found += cell[2] == 0 ? 1 : 0;
    const auto sum = hn::Set(kCell, sums[i]);
    for (std::size_t j = 0; j < 4; j += hn::Lanes(kCell)) {
      const auto added =
          hn::MulAdd(sum, hn::LoadU(kCell, factor + j), hn::LoadU(kCell, constant + j));
      hn::StoreU(hn::Add(hn::LoadU(kCell, cell + j), added), kCell, cell + j);
    }
  }
  return found;
}

HWY_NOINLINE float dot(const float* weights, const float* values, std::size_t width) {
  namespace vector = evener::HWY_NAMESPACE;
  const std::size_t n = vector::lanes();
  vector::Vec even = hn::Zero(vector::kFloats), odd = hn::Zero(vector::kFloats);
  for (std::size_t i = 0; i < width; i += 2 * n) {
    even =
        hn::MulAdd(vector::racing_load(weights + i), hn::Load(vector::kFloats, values + i), even);
    odd = hn::MulAdd(vector::racing_load(weights + i + n),
                     hn::Load(vector::kFloats, values + i + n), odd);
  }
  return hn::GetLane(hn::SumOfLanes(vector::kFloats, hn::Add(even, odd)));
}

ShortlistKernels shortlist_table() {
  return {&sparse_dot, &sparse_add, &above, &add_cells, &dot};
}

}  // namespace HWY_NAMESPACE
}  // namespace evener::cpu::shortlist
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace evener::cpu {

namespace shortlist {
HWY_EXPORT(shortlist_table);
namespace {
ShortlistKernels& chosen() {
  static ShortlistKernels kernels = HWY_DYNAMIC_DISPATCH(shortlist_table)();
  return kernels;
}
}  // namespace
}  // namespace shortlist

const ShortlistKernels& shortlist_kernels() {
  return shortlist::chosen();
}

void use_shortlist_instruction_set(const std::string& name) {
  using namespace shortlist;
  use_instruction_set(name, [] { chosen() = HWY_DYNAMIC_DISPATCH(shortlist_table)(); });
}

}  // namespace evener::cpu
#endif
