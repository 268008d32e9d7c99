#include "evener/retrieval/cooccurrence.h"

#include <algorithm>
#include <cmath>

#include "evener/core/best_of.h"

namespace evener {

namespace {

struct Cell {
  float sum;
  float rows;
};

struct Scratch {
  std::vector<Cell> cells;  // by label; zero between features
  std::vector<std::uint32_t> touched;
  BestOf best;
};

/// The kept labels of a chunk of features.
struct LabelsPart {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> labels;
  std::vector<float> sums;
};

std::vector<float> label_idf(const std::vector<std::uint32_t>& label_rows, std::size_t rows) {
  std::vector<float> idf(label_rows.size());
  for (std::size_t label = 0; label < idf.size(); ++label) {
    const double count = std::max<double>(1, label_rows[label]);
    idf[label] = static_cast<float>(std::log(1 + static_cast<double>(rows) / count));
  }
  return idf;
}

double pairs_of(double rows) {
  return rows * (rows - 1) / 2;
}

/// Shrinks each feature's agreement to the mean of its log2(rows) bin.
void shrink(const std::vector<std::uint32_t>& rows, double pseudo_pairs,
            std::vector<float>& agreement) {
  constexpr std::size_t kBins = 33;
  const auto bin_of = [](std::uint32_t n) { return static_cast<std::size_t>(std::ilogb(n)); };
  std::vector<double> sum(kBins, 0), count(kBins, 0);
  for (std::size_t f = 0; f < rows.size(); ++f) {
    if (rows[f] < 2) continue;
    sum[bin_of(rows[f])] += static_cast<double>(agreement[f]);
    count[bin_of(rows[f])] += 1;
  }
  double nearest = 0;  // for features of one row: the smallest bin that is known
  for (std::size_t bin = kBins; bin-- > 0;) {
    if (count[bin] > 0) nearest = sum[bin] / count[bin];
  }
  for (std::size_t f = 0; f < rows.size(); ++f) {
    if (rows[f] < 2) {
      agreement[f] = static_cast<float>(nearest);
      continue;
    }
    const double mean = sum[bin_of(rows[f])] / count[bin_of(rows[f])];
    const double pairs = pairs_of(rows[f]);
    agreement[f] = static_cast<float>(
        (pairs * static_cast<double>(agreement[f]) + pseudo_pairs * mean) / (pairs + pseudo_pairs));
  }
}

}  // namespace

bool count_labels(const SparseColumns& features, const CsrView& labels, std::uint32_t label_count,
                  const CooccurrenceOptions& options, Team& team, const Stop& stop,
                  FeatureLabels& out) {
  Cooccurrence& co = out.cooccurrence;
  const std::size_t count = features.count();
  co.label_rows.assign(label_count, 0);
  for (const std::uint32_t label : labels.indices) ++co.label_rows[label];
  const std::vector<float> idf = label_idf(co.label_rows, labels.rows());
  double mass = 0;
  for (const std::uint32_t label : labels.indices) mass += static_cast<double>(idf[label]);
  mass /= std::max<double>(1, static_cast<double>(labels.rows()));

  co.feature_sums.assign(count, 0);
  std::vector<std::uint32_t> feature_rows(count, 0);
  out.agreement.assign(count, 0);
  constexpr std::size_t kChunk = 256;
  std::vector<LabelsPart> parts((count + kChunk - 1) / kChunk);
  std::vector<Scratch> scratch(static_cast<std::size_t>(team.size()));
  const bool whole =
      for_chunks(team, count, kChunk, stop, [&](std::size_t begin, std::size_t end, int member) {
        Scratch& own = scratch[static_cast<std::size_t>(member)];
        own.cells.resize(label_count, Cell{0, 0});
        LabelsPart& part = parts[begin / kChunk];
        for (std::size_t f = begin; f < end; ++f) {
          const auto rows = features.rows_of(f);
          const auto values = features.values_of(f);
          double feature_sum = 0;
          for (std::size_t i = 0; i < rows.size(); ++i) {
            const float value = std::abs(values[i]);
            feature_sum += static_cast<double>(value);
            for (const std::uint32_t label : labels.row(rows[i]).indices) {
              Cell& cell = own.cells[label];
              if (cell.rows == 0) own.touched.push_back(label);
              cell.sum += value;
              cell.rows += 1;
            }
          }
          double overlap = 0;
          own.best.begin(options.labels_per_feature);
          for (const std::uint32_t label : own.touched) {
            Cell& cell = own.cells[label];
            overlap += static_cast<double>(idf[label] * cell.rows * (cell.rows - 1));
            if (cell.sum > 0) own.best.add(label, cell.sum);
            cell = {0, 0};
          }
          own.touched.clear();
          const auto n = static_cast<double>(rows.size());
          if (n > 1 && mass > 0)
            out.agreement[f] = static_cast<float>(overlap / (n * (n - 1) * mass));
          co.feature_sums[f] = static_cast<float>(feature_sum);
          feature_rows[f] = static_cast<std::uint32_t>(rows.size());
          for (const Scored& item : own.best.finish_sorted()) {
            part.labels.push_back(item.id);
            part.sums.push_back(item.score);
          }
          part.offsets.push_back(part.labels.size());
        }
      });
  if (!whole) return false;
  shrink(feature_rows, options.pseudo_pairs, out.agreement);
  co.offsets = joined_offsets(parts);
  co.labels = joined_values(parts, &LabelsPart::labels, team);
  co.sums = joined_values(parts, &LabelsPart::sums, team);
  return true;
}

}  // namespace evener
