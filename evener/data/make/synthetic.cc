// How the data is made. Features and labels have ranks by popularity (Zipf). Labels fall into
// topics: label rank modulo the number of topics, which is about the square root of the labels. A
// label has a prototype, a list of features drawn by a hash of its rank; half of the list is common
// to its topic. A row draws its labels, about half of them from the topic of the first; then it
// draws features, most from the prototypes of its labels, the rest at random. A feature drawn n
// times has the value n. Nothing is kept but the rows: prototypes are recomputed at each draw,
// and a row is a function of (seed, row), so any number of threads makes the same data.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/random.h"
#include "evener/core/team.h"
#include "evener/data/make/make.h"
#include "evener/data/make/zipf.h"

namespace evener {

namespace {

constexpr double kSpread = 0.4;      // standard deviation of the log of a row's length
constexpr double kSameTopic = 0.5;   // chance that a further label is of the first one's topic
constexpr std::uint32_t kTries = 4;  // draws per entry before the rest is filled up at random

// Streams of the seed: the rows have the numbers from 0.
constexpr std::uint64_t kFeatureStream = ~std::uint64_t{0};
constexpr std::uint64_t kLabelStream = kFeatureStream - 1;
constexpr std::uint64_t kPrototypeStream = kFeatureStream - 2;

std::vector<std::uint32_t> permutation(std::uint32_t n, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  Random(seed, stream).shuffle(std::span(order));
  return order;
}

// A set of numbers below a limit with a count for each. The time to clear it is proportional to its
// members.
class Bag {
 public:
  explicit Bag(std::uint32_t limit) : counts_(limit) {}

  void add(std::uint32_t number) {
    if (counts_[number]++ == 0) members_.push_back(number);
  }
  std::size_t limit() const { return counts_.size(); }
  std::size_t size() const { return members_.size(); }
  std::uint32_t count(std::uint32_t number) const { return counts_[number]; }
  std::vector<std::uint32_t>& members() { return members_; }
  void clear() {
    for (const std::uint32_t number : members_) counts_[number] = 0;
    members_.clear();
  }
  // Adds the lowest numbers that are missing, up to `size` members.
  void add_missing(std::size_t size) {
    for (std::uint32_t number = 0; members_.size() < size; ++number) {
      if (counts_[number] == 0) add(number);
    }
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> members_;
};

class Maker {
 public:
  explicit Maker(const SyntheticOptions& options)
      : options_(options),
        feature_zipf_(options.features, options.feature_exponent),
        label_zipf_(options.labels, options.label_exponent),
        feature_of_rank_(permutation(options.features, options.seed, kFeatureStream)),
        label_of_rank_(permutation(options.labels, options.seed, kLabelStream)),
        topics_(static_cast<std::uint32_t>(std::ceil(std::sqrt(options.labels)))),
        prototype_key_(Random(options.seed, kPrototypeStream).next64()),
        // Several times the features a row draws for each label, so that rows of a label differ.
        prototype_(std::max(16U, static_cast<std::uint32_t>(4 * options.features_per_row /
                                                            options.labels_per_row))) {}

  Dataset rows(std::uint64_t first, std::size_t count, Team& team) const {
    CsrArrays features, labels;
    lay_out(first, count, features, labels);
    team.run([&](int member) {
      Bag feature_bag(options_.features), label_bag(options_.labels);
      const Range share = share_of(count, team.size(), member);
      for (std::size_t row = share.begin; row < share.end; ++row) {
        fill_row(first + row, row, features, labels, feature_bag, label_bag);
      }
    });
    return make_dataset(std::move(features), options_.features, std::move(labels), options_.labels,
                        label_names());
  }

  std::vector<std::string> feature_names() const {
    std::vector<std::string> names(options_.features);
    for (std::uint32_t rank = 0; rank < options_.features; ++rank) {
      names[feature_of_rank_[rank]] = fmt::format("r{}", rank);
    }
    return names;
  }

  std::uint32_t topics() const { return topics_; }
  std::uint32_t prototype() const { return prototype_; }

 private:
  struct Lengths {
    std::uint32_t labels, features;
  };

  // At least one, `mean` on average: log-normal, rounded up or down at random.
  static std::uint32_t length(Random& random, double mean, std::uint32_t limit) {
    const double factor = std::exp(kSpread * random.normal() - kSpread * kSpread / 2);
    const double further = std::floor((mean - 1) * factor + random.uniform());
    return 1 + static_cast<std::uint32_t>(std::min(further, limit - 1.0));
  }

  // The first draws of a row's stream, so that the arrays are allocated once and filled in place.
  Lengths lengths(Random& random) const {
    Lengths result{};
    result.labels = length(random, options_.labels_per_row, options_.labels);
    result.features = length(random, options_.features_per_row, options_.features);
    return result;
  }

  void lay_out(std::uint64_t first, std::size_t count, CsrArrays& features,
               CsrArrays& labels) const {
    features.offsets.resize(count + 1);
    labels.offsets.resize(count + 1);
    for (std::size_t row = 0; row < count; ++row) {
      Random random(options_.seed, first + row);
      const Lengths size = lengths(random);
      features.offsets[row + 1] = features.offsets[row] + size.features;
      labels.offsets[row + 1] = labels.offsets[row] + size.labels;
    }
    features.indices.resize(features.offsets.back());
    features.values.resize(features.offsets.back());
    labels.indices.resize(labels.offsets.back());
  }

  void fill_row(std::uint64_t stream, std::size_t row, CsrArrays& features, CsrArrays& labels,
                Bag& feature_bag, Bag& label_bag) const {
    Random random(options_.seed, stream);
    const Lengths size = lengths(random);
    draw_labels(random, size.labels, label_bag);
    draw_features(random, size.features, label_bag.members(), feature_bag);

    std::vector<std::uint32_t>& ranks = label_bag.members();
    std::uint32_t* label = labels.indices.data() + labels.offsets[row];
    std::transform(ranks.begin(), ranks.end(), label,
                   [&](std::uint32_t rank) { return label_of_rank_[rank]; });
    std::sort(label, label + ranks.size());

    std::vector<std::uint32_t>& chosen = feature_bag.members();
    std::sort(chosen.begin(), chosen.end());
    const std::size_t begin = features.offsets[row];
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      features.indices[begin + i] = chosen[i];
      features.values[begin + i] = static_cast<float>(feature_bag.count(chosen[i]));
    }
    label_bag.clear();
    feature_bag.clear();
  }

  void draw_labels(Random& random, std::uint32_t count, Bag& ranks) const {
    const std::uint32_t first = label_zipf_.rank(random.next64());
    ranks.add(first);
    for (std::uint32_t tries = kTries * count; ranks.size() < count && tries > 0; --tries) {
      std::uint32_t rank = label_zipf_.rank(random.next64());
      if (random.uniform() < kSameTopic) {
        rank = rank - rank % topics_ + first % topics_;
        if (rank >= options_.labels) continue;
      }
      ranks.add(rank);
    }
    fill(random, count, ranks);
  }

  // Zipf's law draws the same few again and again. After too many draws, take any others at random,
  // and as the last resort (rows that hold nearly all) the lowest that are missing.
  static void fill(Random& random, std::uint32_t count, Bag& bag) {
    for (std::uint32_t tries = kTries * count; bag.size() < count && tries > 0; --tries) {
      bag.add(static_cast<std::uint32_t>(random.below(bag.limit())));
    }
    bag.add_missing(count);
  }

  void draw_features(Random& random, std::uint32_t count, std::span<const std::uint32_t> ranks,
                     Bag& features) const {
    const auto noise = static_cast<std::uint64_t>(options_.noise * 0x1p16);
    for (std::uint32_t tries = kTries * count; features.size() < count && tries > 0; --tries) {
      // 16 bits decide on noise, 16 choose the label, and 32 the place in its prototype.
      std::uint64_t bits = random.next64();
      if ((bits & 0xFFFF) < noise) {
        bits = random.next64();
      } else {
        const std::uint32_t rank = ranks[(bits >> 16 & 0xFFFF) * ranks.size() >> 16];
        bits = prototype_bits(rank, (bits >> 32) * prototype_ >> 32);
      }
      features.add(feature_of_rank_[feature_zipf_.rank(bits)]);
    }
    fill(random, count, features);
  }

  // Random bits for the feature at `place` of a label's prototype. Philox would take most of the
  // time here; a hash that mixes well (the finalizer of SplitMix64) is enough.
  std::uint64_t prototype_bits(std::uint32_t rank, std::uint64_t place) const {
    const std::uint64_t owner = place % 2 == 0 ? rank % topics_ : topics_ + std::uint64_t{rank};
    std::uint64_t x = prototype_key_ + (owner << 32 | place) * 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  std::vector<std::string> label_names() const {
    std::vector<std::string> names(options_.labels);
    for (std::uint32_t rank = 0; rank < options_.labels; ++rank) {
      names[label_of_rank_[rank]] = fmt::format("t{}.r{}", rank % topics_, rank);
    }
    return names;
  }

  SyntheticOptions options_;
  Zipf feature_zipf_, label_zipf_;
  std::vector<std::uint32_t> feature_of_rank_, label_of_rank_;
  std::uint32_t topics_;
  std::uint64_t prototype_key_;
  std::uint32_t prototype_;  // features in it
};

void require(bool holds, const char* what) {
  if (!holds) throw UsageError(std::string("synthetic data: ") + what);
}

void check(const SyntheticOptions& options) {
  constexpr double kMostRows = 1ULL << 31;
  require(options.rows >= 1 && static_cast<double>(options.rows) <= kMostRows,
          "rows must be 1 .. 2^31");
  require(options.test_share >= 0 &&
              static_cast<double>(options.rows) * options.test_share <= kMostRows,
          "the test share must be at least 0 and give no more than 2^31 rows");
  require(options.features >= 1 && options.labels >= 1, "there must be a feature and a label");
  require(options.features_per_row >= 1 && options.features_per_row <= options.features,
          "features per row must be at least 1 and no more than there are features");
  require(options.labels_per_row >= 1 && options.labels_per_row <= options.labels,
          "labels per row must be at least 1 and no more than there are labels");
  require(options.feature_exponent >= 0 && options.feature_exponent <= 10 &&
              options.label_exponent >= 0 && options.label_exponent <= 10,
          "Zipf exponents must be 0 .. 10");
  require(options.noise >= 0 && options.noise <= 1, "the noise must be 0 .. 1");
  require(options.threads >= 1, "there must be a thread");
}

}  // namespace

MadeData make_synthetic(const SyntheticOptions& options) {
  check(options);
  const auto test_rows = static_cast<std::size_t>(
      std::llround(options.test_share * static_cast<double>(options.rows)));
  const Maker maker(options);
  Team team(options.threads);
  MadeData made;
  made.train = maker.rows(0, options.rows, team);
  made.test = maker.rows(options.rows, test_rows, team);
  made.features = maker.feature_names();
  made.name = "synthetic";
  made.description = fmt::format(
      "Random data with structure. Features and labels fall off by Zipf's law (exponents {} and\n"
      "{}). The labels form {} topics; each label has a prototype of {} features, half of them "
      "its\n"
      "topic's. {:.4g} % of a row's features are noise, the others come from the prototypes of "
      "its\n"
      "labels; a value is how often the feature was drawn. Seed {}.\n"
      "Label t3.r17 is of topic 3 and the 18th in popularity, feature r17 the 18th.\n"
      "Rows have no names.\n",
      options.feature_exponent, options.label_exponent, maker.topics(), maker.prototype(),
      100 * options.noise, options.seed);
  return made;
}

const std::vector<Shape>& synthetic_shapes() {
  static const std::vector<Shape> shapes = {
      {"amazon-670k", 490'449, 153'025, 135'909, 670'091, 75.68, 5.45, 0.5},
      {"delicious-200k", 196'606, 100'095, 782'585, 205'443, 301.17, 75.54, 0.8},
      {"eurlex-4k", 15'539, 3'809, 5'000, 3'993, 236.8, 5.31, 0.7},
      {"wiki10-31k", 14'146, 6'616, 101'938, 30'938, 673.45, 18.64, 0.9},
  };
  return shapes;
}

SyntheticOptions synthetic_of_shape(const std::string& name, SyntheticOptions base) {
  std::string known;
  for (const Shape& shape : synthetic_shapes()) {
    if (name == shape.name) {
      base.rows = shape.train_rows;
      base.test_share = static_cast<double>(shape.test_rows) / static_cast<double>(base.rows);
      base.features = shape.features;
      base.labels = shape.labels;
      base.features_per_row = shape.features_per_row;
      base.labels_per_row = shape.labels_per_row;
      base.label_exponent = shape.label_exponent;
      return base;
    }
    known += (known.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw UsageError("there is no shape '" + name + "'; known are " + known);
}

}  // namespace evener
