#include "evener/device/opencl/products.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "evener/core/file.h"
#include "evener/core/time.h"
#include "evener/device/opencl/clblast.h"

namespace evener::opencl {

namespace {

constexpr int kRounds = 4;

/// Batches and chunks come in many sizes: those between two powers of two share a verdict.
std::string key_of(const ProductShape& shape) {
  return fmt::format("{} {}x{}x{}", shape.name, std::bit_ceil(shape.m), std::bit_ceil(shape.n),
                     std::bit_ceil(shape.k));
}

}  // namespace

Products::Products(std::string device, std::string identity, ProductsBy by,
                   std::string cache_directory)
    : device_(std::move(device)),
      identity_(std::move(identity)),
      by_(by),
      cache_directory_(std::move(cache_directory)) {}

bool Products::by_library(const ProductShape& shape, const DoProduct& own, const DoProduct& library,
                          const std::function<void()>& finish) {
  if (by_ != ProductsBy::fastest) return by_ == ProductsBy::library;
  const std::string key = key_of(shape);
  const std::lock_guard lock(mutex_);
  const auto known = verdicts_.find(key);
  if (known != verdicts_.end()) return known->second.library;
  Verdict verdict;
  if (!read(key, verdict)) {
    verdict = measure(own, library, finish);
    write(key, verdict);
  }
  verdicts_.emplace(key, verdict);
  notes_.push_back(fmt::format(
      "{} {} ({:.2g} ms, {} {:.2g})", key, verdict.library ? "by CLBlast" : "by own kernel",
      verdict.library ? verdict.library_ms : verdict.own_ms, verdict.library ? "own" : "CLBlast",
      verdict.library ? verdict.own_ms : verdict.library_ms));
  return verdict.library;
}

void Products::give_up(const ProductShape& shape) {
  if (by_ == ProductsBy::library) {
    throw DeviceError(fmt::format("{}: CLBlast failed at {}", device_, key_of(shape)));
  }
  const std::lock_guard lock(mutex_);
  verdicts_[key_of(shape)].library = false;
  notes_.push_back(fmt::format("{}: CLBlast failed, own kernel from here on", key_of(shape)));
}

std::vector<std::string> Products::take_notes() {
  const std::lock_guard lock(mutex_);
  if (notes_.empty()) return {};
  auto line = fmt::format("{}: products {}", device_, fmt::join(notes_, ", "));
  notes_.clear();
  return {std::move(line)};
}

Products::Verdict Products::measure(const DoProduct& own, const DoProduct& library,
                                    const std::function<void()>& finish) const {
  Verdict verdict;
  verdict.own_ms = verdict.library_ms = std::numeric_limits<double>::infinity();
  for (int round = -1; round < kRounds; ++round) {  // the first compiles and does not count
    for (auto [work, best] : {std::pair{&own, &verdict.own_ms}, {&library, &verdict.library_ms}}) {
      const Stopwatch watch;
      const bool done = (*work)();
      finish();
      if (!done) return {false, verdict.own_ms, std::numeric_limits<double>::infinity()};
      if (round >= 0) *best = std::min(*best, watch.elapsed() * 1e3);
    }
  }
  verdict.library = verdict.library_ms < verdict.own_ms;
  return verdict;
}

std::string Products::file_of(const std::string& key) const {
  const std::string all = fmt::format("{}\n{}\n{}", identity_, clblast_file(), key);
  return fmt::format("{}/product-{:016x}.txt", cache_directory_,
                     XXH3_64bits(all.data(), all.size()));
}

bool Products::read(const std::string& key, Verdict& verdict) const {
  if (cache_directory_.empty()) return false;
  std::ifstream in(file_of(key));
  std::string by;
  if (!(in >> by >> verdict.own_ms >> verdict.library_ms)) return false;
  verdict.library = by == "clblast";
  return verdict.library || by == "own";
}

/// A verdict that cannot be kept is found again at the next start.
void Products::write(const std::string& key, const Verdict& verdict) const {
  if (cache_directory_.empty()) return;
  try {
    std::filesystem::create_directories(cache_directory_);
    constexpr double kNever = 1e9;  // streams do not read "inf" back
    const std::string text =
        fmt::format("{} {} {}\n", verdict.library ? "clblast" : "own",
                    std::min(verdict.own_ms, kNever), std::min(verdict.library_ms, kNever));
    write_atomically(file_of(key), std::as_bytes(std::span(text)));
  } catch (const std::exception&) {
  }
}

}  // namespace evener::opencl
