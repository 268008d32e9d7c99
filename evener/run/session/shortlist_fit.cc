#include "evener/run/session/shortlist_fit.h"

#include <utility>

#include <fmt/format.h>

#include "evener/core/error.h"
#include "evener/core/time.h"
#include "evener/run/options/head_choice.h"

namespace evener {

namespace {

/// Says which stage runs, and notes how long each took.
class Stages {
 public:
  explicit Stages(const ShortlistFitContext& context) : context_(context) {}

  void enter(const std::string& stage) {
    if (stage == name_) return;
    end();
    name_ = stage;
    if (context_.say) context_.say("preparing: " + stage);
  }
  void end() {
    if (!name_.empty()) {
      times_ += fmt::format("{}{} {:.2f} s", times_.empty() ? "" : ", ", name_,
                            watch_.elapsed() - begin_);
    }
    begin_ = watch_.elapsed();
    name_.clear();
  }
  std::string summary() const { return "preparation: " + times_; }

 private:
  const ShortlistFitContext& context_;
  Stopwatch watch_;
  Seconds begin_ = 0;
  std::string name_, times_;
};

RetrievalOptions retrieval_options(const TrainOptions& options) {
  RetrievalOptions retrieval;
  retrieval.offset.seed = options.seed;
  retrieval.weighs_features = !options.ablates("weights");
  retrieval.fits_offset = !options.ablates("offset");
  if (options.ablates("neighbours")) {
    retrieval.neighbours.rescored = 0;
    retrieval.candidates.by_neighbours = 0;
  }
  if (options.ablates("cooccurrence")) {
    retrieval.cooccurrence.labels_per_feature = 0;
    retrieval.candidates.by_cooccurrence = 0;
  }
  return retrieval;
}

}  // namespace

std::vector<std::string> choose_shortlist_devices(std::string& devices,
                                                  const DeviceContext& context) {
  if (devices != "auto") {
    if (names_processors(devices)) return {};
    throw UsageError(fmt::format(
        "--devices {}: --head shortlist trains on the processor: cpu, or cpu:T for T threads",
        devices));
  }
  // The list begins with the processor.
  const std::string found = context.automatic().list;
  devices = found.substr(0, found.find(','));
  if (devices == found) return {};
  return {fmt::format(
      "{}: not used, because --head shortlist trains on the processor; --head full uses it",
      found.substr(devices.size() + 1))};
}

void check_shortlist(const TrainOptions& options) {
  if (options.ablates("neighbours") && options.ablates("cooccurrence")) {
    throw UsageError("--ablate: neighbours or cooccurrence is needed to find candidates");
  }
  if (options.hidden.size() != 1) {
    throw UsageError("--hidden: --head shortlist has one hidden layer");
  }
}

void check_shortlist(const TrainOptions& options, const TrainingData& data) {
  if (data.train.features.values.size() != data.train.features.nonzeros()) {
    throw DataError(options.data, 0, "--head shortlist needs features with values");
  }
  if (data.row_count() < 2) {
    throw DataError(options.data, 0, "--head shortlist needs two rows or more");
  }
}

std::optional<FittedShortlist> fit_shortlist(const Dataset& data, const TrainOptions& options,
                                             const ShortlistFitContext& context) {
  Stages stages(context);
  auto fitted = fit_retriever(data, retrieval_options(options), context.team, context.stop,
                              [&](const char* stage, double) { stages.enter(stage); });
  if (!fitted) return std::nullopt;
  auto head = std::make_shared<ShortlistHead>(std::move(fitted->retriever));
  WideOptions wide;
  wide.seed = options.seed;
  if (options.ablates("linear")) {
    head->wide.offsets.assign(data.label_count + 1, 0);
  } else {
    stages.enter("linear weights");
    if (!train_wide(data, fitted->shortlist, wide, context.team, context.stop, head->wide)) {
      return std::nullopt;
    }
  }
  if (options.ablates("network")) head->network_share = 0;
  stages.end();
  const double found = [&] {
    std::size_t sum = 0;
    for (const std::uint8_t positive : fitted->shortlist.positive) sum += positive;
    return static_cast<double>(sum) /
           std::max<double>(1, static_cast<double>(data.labels.nonzeros()));
  }();
  FittedShortlist result;
  result.notes = {
      stages.summary(),
      fmt::format("candidates: {:.1f} a row, with {:.1f} % of the labels of training "
                  "rows (leave-one-out)",
                  static_cast<double>(fitted->shortlist.pairs()) / static_cast<double>(data.rows()),
                  100 * found)};
  result.head = std::move(head);
  result.list = std::move(fitted->shortlist);
  return result;
}

std::optional<Shortlist> training_shortlist(const Dataset& data, const ShortlistHead& head,
                                            const ShortlistFitContext& context) {
  Stages stages(context);
  return left_out_shortlist(data, *head.retriever, context.team, context.stop,
                            [&](const char* stage, double) { stages.enter(stage); });
}

}  // namespace evener
