#include "evener/run/devices/profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "evener/core/random.h"
#include "evener/core/time.h"

namespace evener {

namespace {

struct Sample {
  double rows = 0, nonzeros = 0, seconds = 0;
};

constexpr std::array<std::size_t, 6> kSizes{32, 64, 128, 256, 512, 1024};
constexpr std::size_t kRepeats = 7;

/// Rows sorted by their number of non-zeros.
std::vector<std::uint32_t> by_nonzeros(const Dataset& data) {
  std::vector<std::uint32_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  const auto& offsets = data.features.offsets;
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return offsets[a + 1] - offsets[a] < offsets[b + 1] - offsets[b];
  });
  return rows;
}

double nonzeros_of(const Dataset& data, std::span<const std::uint32_t> rows) {
  double sum = 0;
  for (const std::uint32_t row : rows) {
    sum += static_cast<double>(data.features.row(row).indices.size());
  }
  return sum;
}

/// Least squares of the relative error: x minimises sum ((a x - t) / t)^2, by the normal equations;
/// a column whose best coefficient is negative is left out.
std::array<double, 3> fit(const std::vector<Sample>& samples, std::array<bool, 3> used) {
  double a[3][4] = {};
  for (const auto& sample : samples) {
    const double row[3] = {1 / sample.seconds, sample.rows / sample.seconds,
                           sample.nonzeros / sample.seconds};
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) a[i][j] += row[i] * row[j];
      a[i][3] += row[i];
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (used[static_cast<std::size_t>(i)]) continue;
    for (int j = 0; j < 3; ++j) a[i][j] = a[j][i] = 0;
    a[i][i] = 1;
    a[i][3] = 0;
  }
  for (int i = 0; i < 3; ++i) {  // Gaussian elimination; the matrix is positive definite
    for (int k = i + 1; k < 3; ++k) {
      const double factor = a[k][i] / a[i][i];
      for (int j = i; j < 4; ++j) a[k][j] -= factor * a[i][j];
    }
  }
  std::array<double, 3> x{};
  for (int i = 2; i >= 0; --i) {
    double rest = a[i][3];
    for (int j = i + 1; j < 3; ++j) rest -= a[i][j] * x[static_cast<std::size_t>(j)];
    x[static_cast<std::size_t>(i)] = rest / a[i][i];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (used[i] && x[i] < 0) {
      used[i] = false;
      return fit(samples, used);
    }
  }
  return x;
}

Seconds median_of(const std::function<void()>& work) {
  work();  // warm-up
  std::array<Seconds, kRepeats> times{};
  for (Seconds& time : times) {
    const Stopwatch watch;
    work();
    time = watch.elapsed();
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

/// Copies to a device with its own memory: latency from a tiny copy, bandwidth from a copy of the
/// model.
void measure_link(Replica& replica, const Network& network, DeviceModel& model) {
  FloatBuffer values(layout_of(network).size);
  const auto there_and_back = [&](const Blocks& blocks) {
    return median_of([&] {
             replica.store_blocks(0, blocks, values.span());
             replica.load_blocks(0, blocks, values.span());
           }) /
           2;
  };
  const Seconds little = there_and_back({{}, 0, values.size() - 1});
  const Seconds all = there_and_back({{}, 0, 0});
  const double bytes = static_cast<double>((values.size() - 1) * sizeof(float));
  model.latency = little;
  model.bandwidth = bytes / std::max(all - little, 1e-9);
}

}  // namespace

Profile measure_device(Device& device, const TrainOptions& options, const Network& network,
                       FloatBuffer parameters, const Dataset& data) {
  const auto replica = device.make_replica(network, training_of(options));
  replica->give(0, std::move(parameters));
  const auto rows = by_nonzeros(data);
  std::vector<Sample> samples;
  std::uint64_t step = 0;
  for (const std::size_t size : kSizes) {
    if (size > rows.size()) break;
    // Rows from the middle of the sparser half, of the denser half, and a mixture.
    for (const double place : {0.25, 0.75, 0.5}) {
      // Different rows each time, with about as many non-zeros: the same rows would be in the
      // cache.
      const std::size_t span = std::min(rows.size(), kRepeats * size);
      const auto first = static_cast<std::size_t>(place * static_cast<double>(rows.size() - span));
      std::vector<std::uint32_t> pool(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                      rows.begin() + static_cast<std::ptrdiff_t>(first + span));
      Random(options.seed, step).shuffle(std::span(pool));
      std::vector<Sample> runs;
      for (std::size_t at = 0; at + size <= span; at += size) {
        const std::span<const std::uint32_t> batch(pool.data() + at, size);
        const Stopwatch watch;
        replica->step({&data, batch}, {++step, static_cast<float>(options.learning_rate)});
        const double seconds = watch.elapsed();
        runs.push_back({static_cast<double>(size), nonzeros_of(data, batch), seconds});
      }
      const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
      std::nth_element(runs.begin(), middle, runs.end(),
                       [](const Sample& a, const Sample& b) { return a.seconds < b.seconds; });
      samples.push_back(*middle);
    }
  }
  const auto [fixed, per_row, per_nonzero] = fit(samples, {true, true, true});
  Profile profile;
  profile.model.name = device.name();
  profile.model.in_place = device.in_place_threads() > 0;
  profile.model.threads = 1;  // one replica of all its threads was measured
  profile.model.fixed = fixed;
  profile.model.per_row = per_row;
  profile.model.per_nonzero = per_nonzero;
  if (replica->remote()) measure_link(*replica, network, profile.model);
  for (const auto& sample : samples) {
    const double predicted = fixed + per_row * sample.rows + per_nonzero * sample.nonzeros;
    profile.worst_error =
        std::max(profile.worst_error, std::abs(predicted - sample.seconds) / sample.seconds);
  }
  return profile;
}

}  // namespace evener
