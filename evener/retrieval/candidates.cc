#include "evener/retrieval/candidates.h"

#include <algorithm>
#include <cmath>

#include "evener/device/cpu/shortlist_kernels.h"

namespace evener {

namespace {

using Share = CandidateScratch::Share;
using Evidence = CandidateScratch::Evidence;

constexpr float kSmall = 1e-4F;       // added to shares before their logarithm
constexpr float kRateSmall = 1e-5F;   // likewise for rates
constexpr float kDenominator = 0.1F;  // added to c: a feature of one row says nothing about itself
constexpr std::size_t kFew = 20;      // "the best 20 neighbours"

/// Sums over all neighbours.
struct Totals {
  float sum = 0, cubes = 0, best20 = 0;
};

Totals add_shares(std::span<const Scored> neighbours, const CsrView& labels,
                  CandidateScratch& scratch) {
  Totals totals;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const float s = neighbours[i].score;
    const float cube = s * s * s;
    const float few = i < kFew ? s : 0;
    totals.sum += s;
    totals.cubes += cube;
    totals.best20 += few;
    for (const std::uint32_t label : labels.row(neighbours[i].id).indices) {
      Share& share = scratch.shares[label];
      if (share.sum == 0) {
        scratch.shared.push_back(label);
        share.largest = s;
      }
      share.sum += s;
      share.cubes += cube;
      share.best20 += few;
    }
  }
  return totals;
}

/// Returns the sum of |x|.
float add_evidence(const RowView& row, const Cooccurrence& cooccurrence, bool own,
                   CandidateScratch& scratch) {
  static_assert(sizeof(Evidence) == 4 * sizeof(float));
  const cpu::ShortlistKernels& kernels = cpu::shortlist_kernels();
  std::size_t touched = 0;
  float mass = 0;
  for (std::size_t i = 0; i < row.indices.size(); ++i) {
    const std::uint32_t feature = row.indices[i];
    const float x = std::abs(row.values[i]);
    if (x == 0) continue;
    mass += x;
    const float rate = x / (cooccurrence.feature_sums[feature] - (own ? x : 0.0F) + kDenominator);
    const std::array<float, 4> factor{rate, 0, x, 0};
    const std::array<float, 4> constant{0, own ? rate * x : 0, 0, own ? x * x : 0};
    const auto labels = cooccurrence.labels_of(feature);
    if (scratch.evident.size() < touched + labels.size()) {
      scratch.evident.resize(2 * (touched + labels.size()));
    }
    touched += kernels.add_cells(labels.data(), cooccurrence.sums_of(feature).data(), labels.size(),
                                 factor.data(), constant.data(), &scratch.evidence.data()->rate,
                                 scratch.evident.data() + touched);
  }
  scratch.evident.resize(touched);
  return mass;
}

/// Takes the row's own part out of the evidence for its own labels, and nothing elsewhere.
void leave_out(std::span<const std::uint32_t> own_labels, CandidateScratch& scratch) {
  for (const std::uint32_t label : own_labels) {
    Evidence& evidence = scratch.evidence[label];
    if (evidence.total == 0) continue;
    // What rounding leaves of equal sums is nothing.
    const auto less = [](float all, float own) { return all - own > 1e-5F * all ? all - own : 0; };
    evidence.rate = less(evidence.rate, evidence.own_rate);
    evidence.total = std::max(less(evidence.total, evidence.own_total), 1e-30F);
  }
}

void choose(const CandidateOptions& options, CandidateScratch& scratch) {
  scratch.by_share.begin(options.by_neighbours);
  for (const std::uint32_t label : scratch.shared) {
    const Share& share = scratch.shares[label];
    scratch.by_share.add(label, share.sum + share.cubes);
  }
  scratch.by_rate.begin(options.by_cooccurrence);
  for (const std::uint32_t label : scratch.evident) {
    const float rate = scratch.evidence[label].rate;
    if (rate > 0) scratch.by_rate.add(label, rate);
  }
  scratch.labels.clear();
  for (const Scored& item : scratch.by_share.finish()) scratch.labels.push_back(item.id);
  for (const Scored& item : scratch.by_rate.finish()) scratch.labels.push_back(item.id);
  std::sort(scratch.labels.begin(), scratch.labels.end());
  scratch.labels.erase(std::unique(scratch.labels.begin(), scratch.labels.end()),
                       scratch.labels.end());
}

}  // namespace

void find_candidates(const RowView& row, std::span<const Scored> neighbours, const CsrView& labels,
                     const Cooccurrence& cooccurrence, const CandidateOptions& options,
                     std::optional<std::span<const std::uint32_t>> own_labels,
                     CandidateScratch& scratch) {
  const std::size_t label_count = cooccurrence.label_rows.size();
  scratch.shares.resize(label_count);
  scratch.evidence.resize(label_count);
  const Totals totals = add_shares(neighbours, labels, scratch);
  const bool own = own_labels.has_value();
  const float mass = add_evidence(row, cooccurrence, own, scratch);
  if (own) leave_out(*own_labels, scratch);
  choose(options, scratch);

  const auto rows = static_cast<float>(labels.rows() - (own ? 1 : 0));
  float of_row[4] = {0, 0, 0, std::log(1 + static_cast<float>(row.indices.size()))};
  if (!neighbours.empty()) {
    of_row[0] = neighbours.front().score;
    of_row[1] = totals.best20 / static_cast<float>(std::min(kFew, neighbours.size()));
    of_row[2] = neighbours.back().score;
  }
  const auto share_of = [](float part, float all) { return all > 0 ? part / all : 0.0F; };
  scratch.features.clear();
  for (const std::uint32_t label : scratch.labels) {
    const Share& share = scratch.shares[label];
    const Evidence& evidence = scratch.evidence[label];
    const bool is_own = own && std::binary_search(own_labels->begin(), own_labels->end(), label);
    const float count = static_cast<float>(cooccurrence.label_rows[label]) - (is_own ? 1.0F : 0.0F);
    scratch.features.push_back({std::log(share_of(share.sum, totals.sum) + kSmall),
                                std::log(share_of(share.cubes, totals.cubes) + kSmall),
                                std::log(share_of(share.best20, totals.best20) + kSmall),
                                std::log((count + 0.5F) / rows), share.largest,
                                std::log(share_of(evidence.rate, mass) + kRateSmall),
                                std::log(evidence.total / (count + 1) + kRateSmall), of_row[0],
                                of_row[1], of_row[2], of_row[3]});
  }
  for (const std::uint32_t label : scratch.shared) scratch.shares[label] = {};
  for (const std::uint32_t label : scratch.evident) scratch.evidence[label] = {};
  scratch.shared.clear();
  scratch.evident.clear();
}

}  // namespace evener
