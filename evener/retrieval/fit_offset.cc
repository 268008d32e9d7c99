// Trains the offset on a sample of the training rows, and makes the shortlist of all of them.
#include <algorithm>
#include <utility>

#include "evener/retrieval/retriever.h"

namespace evener {

namespace {

/// The candidates of sampled rows, kept so that they are found once.
struct Sample {
  std::vector<std::uint32_t> labels;
  std::vector<PairFeatures> features;
};

void mark_positive(std::span<const std::uint32_t> truth, std::span<const std::uint32_t> labels,
                   std::vector<std::uint8_t>& positive) {
  for (const std::uint32_t label : labels) {
    positive.push_back(std::binary_search(truth.begin(), truth.end(), label) ? 1 : 0);
  }
}

/// Every `every`-th row is in the sample.
std::size_t sample_step(const Dataset& data, const RetrievalOptions& options) {
  const std::size_t a_row = options.candidates.by_neighbours + options.candidates.by_cooccurrence;
  const std::size_t rows =
      std::max<std::size_t>(1, options.offset_pairs / std::max<std::size_t>(1, a_row * 3 / 4));
  return std::max<std::size_t>(1, data.rows() / rows);
}

/// The shortlist of all rows. `samples`, if given, has the candidates of every `step`-th row, which
/// are moved out.
std::optional<Shortlist> all_rows(const Dataset& data, const Retriever& retriever,
                                  std::vector<Sample>* samples, std::size_t step, Team& team,
                                  const Stop& stop, const StageProgress& progress) {
  constexpr const char* kStage = "candidates";
  constexpr std::size_t kChunk = 16;
  std::vector<Shortlist> parts((data.rows() + kChunk - 1) / kChunk);
  std::vector<Retriever::Scratch> scratch(static_cast<std::size_t>(team.size()));
  if (progress) progress(kStage, 0);
  const bool whole = for_chunks(
      team, data.rows(), kChunk, stop, [&](std::size_t begin, std::size_t end, int member) {
        Retriever::Scratch& own = scratch[static_cast<std::size_t>(member)];
        Shortlist& part = parts[begin / kChunk];
        for (std::size_t row = begin; row < end; ++row) {
          if (samples != nullptr && row % step == 0) {
            Sample& sample = (*samples)[row / step];
            own.candidates.labels = std::move(sample.labels);
            own.candidates.features = std::move(sample.features);
          } else {
            retriever.candidates_left_out(data.features.row(row), static_cast<std::uint32_t>(row),
                                          own);
          }
          const std::size_t before = part.pairs();
          retriever.append(own.candidates, part);
          mark_positive(data.labels.row(row).indices, std::span(part.labels).subspan(before),
                        part.positive);
        }
        if (member == 0 && progress) {
          progress(kStage, static_cast<double>(end) / static_cast<double>(data.rows()));
        }
      });
  if (!whole) return std::nullopt;
  Shortlist all;
  all.offsets = joined_offsets(parts);
  all.labels = joined_values(parts, &Shortlist::labels, team);
  all.margins = joined_values(parts, &Shortlist::margins, team);
  all.positive = joined_values(parts, &Shortlist::positive, team);
  return all;
}

}  // namespace

bool fit_offset(const Dataset& data, const RetrievalOptions& options, Team& team, const Stop& stop,
                const StageProgress& progress, FittedRetriever& fitted) {
  Retriever& retriever = *fitted.retriever;
  const auto say = [&](const char* stage, double share) {
    if (progress) progress(stage, share);
  };
  std::vector<Retriever::Scratch> scratch(static_cast<std::size_t>(team.size()));
  const std::size_t step = sample_step(data, options);
  std::vector<Sample> samples((data.rows() + step - 1) / step);
  say("offset", 0);
  const bool sampled = for_chunks(
      team, samples.size(), 8, stop, [&](std::size_t begin, std::size_t end, int member) {
        Retriever::Scratch& own = scratch[static_cast<std::size_t>(member)];
        for (std::size_t i = begin; i < end; ++i) {
          const auto row = static_cast<std::uint32_t>(i * step);
          retriever.candidates_left_out(data.features.row(row), row, own);
          samples[i] = {own.candidates.labels, own.candidates.features};
        }
      });
  if (!sampled) return false;
  std::vector<PairFeatures> pairs;
  std::vector<std::uint8_t> positive;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    mark_positive(data.labels.row(i * step).indices, samples[i].labels, positive);
    pairs.insert(pairs.end(), samples[i].features.begin(), samples[i].features.end());
  }
  OffsetNetwork offset;
  if (options.fits_offset) {
    const auto trained = train_offset(pairs, positive, options.offset, stop);
    if (!trained) return false;
    offset = *trained;
  } else {
    offset.skip[kShareFeature] = offset.scale[kShareFeature] = 1;
  }
  retriever.set_offset(offset, options.least_margin);

  auto list = all_rows(data, retriever, &samples, step, team, stop, progress);
  if (!list) return false;
  fitted.shortlist = std::move(*list);
  return true;
}

std::optional<Shortlist> left_out_shortlist(const Dataset& data, const Retriever& retriever,
                                            Team& team, const Stop& stop,
                                            const StageProgress& progress) {
  return all_rows(data, retriever, nullptr, 1, team, stop, progress);
}

}  // namespace evener
