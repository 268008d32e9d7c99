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

/// Batches and chunks have many sizes: those between two powers of two share a choice.
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
  const auto known = choices_.find(key);
  if (known != choices_.end()) return known->second.library;
  Choice choice;
  if (!read(key, choice)) {
    choice = measure(own, library, finish);
    write(key, choice);
  }
  choices_.emplace(key, choice);
  notes_.push_back(fmt::format(
      "{} {} ({:.2g} ms, {} {:.2g})", key, choice.library ? "by CLBlast" : "by own kernel",
      choice.library ? choice.library_ms : choice.own_ms, choice.library ? "own" : "CLBlast",
      choice.library ? choice.own_ms : choice.library_ms));
  return choice.library;
}

void Products::give_up(const ProductShape& shape) {
  if (by_ == ProductsBy::library) {
    throw DeviceError(fmt::format("{}: CLBlast failed at {}", device_, key_of(shape)));
  }
  const std::lock_guard lock(mutex_);
  choices_[key_of(shape)].library = false;
  notes_.push_back(fmt::format("{}: CLBlast failed, own kernel from here on", key_of(shape)));
}

std::vector<std::string> Products::take_notes() {
  const std::lock_guard lock(mutex_);
  if (notes_.empty()) return {};
  auto line = fmt::format("{}: products {}", device_, fmt::join(notes_, ", "));
  notes_.clear();
  return {std::move(line)};
}

Products::Choice Products::measure(const DoProduct& own, const DoProduct& library,
                                   const std::function<void()>& finish) const {
  Choice choice;
  choice.own_ms = choice.library_ms = std::numeric_limits<double>::infinity();
  for (int round = -1; round < kRounds; ++round) {  // the first compiles and is not timed
    for (auto [work, best] : {std::pair{&own, &choice.own_ms}, {&library, &choice.library_ms}}) {
      const Stopwatch watch;
      const bool done = (*work)();
      finish();
      if (!done) return {false, choice.own_ms, std::numeric_limits<double>::infinity()};
      if (round >= 0) *best = std::min(*best, watch.elapsed() * 1e3);
    }
  }
  choice.library = choice.library_ms < choice.own_ms;
  return choice;
}

std::string Products::file_of(const std::string& key) const {
  const std::string all = fmt::format("{}\n{}\n{}", identity_, clblast_file(), key);
  return fmt::format("{}/product-{:016x}.txt", cache_directory_,
                     XXH3_64bits(all.data(), all.size()));
}

bool Products::read(const std::string& key, Choice& choice) const {
  if (cache_directory_.empty()) return false;
  std::ifstream in(file_of(key));
  std::string by;
  if (!(in >> by >> choice.own_ms >> choice.library_ms)) return false;
  choice.library = by == "clblast";
  return choice.library || by == "own";
}

/// A choice that cannot be written is measured again at the next start.
void Products::write(const std::string& key, const Choice& choice) const {
  if (cache_directory_.empty()) return;
  try {
    std::filesystem::create_directories(cache_directory_);
    constexpr double kNever = 1e9;  // streams do not read "inf" back
    const std::string text =
        fmt::format("{} {} {}\n", choice.library ? "clblast" : "own",
                    std::min(choice.own_ms, kNever), std::min(choice.library_ms, kNever));
    write_atomically(file_of(key), std::as_bytes(std::span(text)));
  } catch (const std::exception&) {
  }
}

}  // namespace evener::opencl
