#include "evener/run/session/shortlist_run.h"

#include <algorithm>
#include <utility>

#include "evener/run/session/shortlist_fit.h"

namespace evener {

ShortlistRun::ShortlistRun(const TrainOptions& options, const TrainingData& data, int threads)
    : options_(options), threads_(threads) {
  data_.train = data.rows.empty() ? data.train : select_rows(data.train, data.rows);
  if (!data.evaluation) return;
  kept_.data = &*data.evaluation;
  kept_.rows.resize(data.evaluation->rows());
}

bool ShortlistRun::prepare(Model& model, const std::function<void(const std::string&)>& say,
                           const Stop& stop) {
  Team team(threads_);
  const ShortlistFitContext context{team, say, stop};
  Shortlist list;
  if (model.shortlist == nullptr) {
    auto fitted = fit_shortlist(data_.train, options_, context);
    if (!fitted) return false;
    model.shortlist = std::move(fitted->head);
    list = std::move(fitted->list);
    notes_ = std::move(fitted->notes);
  } else {
    auto found = training_shortlist(data_.train, *model.shortlist, context);
    if (!found) return false;
    list = std::move(*found);
  }
  head_ = model.shortlist;
  // The network learns all of what the margins lack; a prediction has only a share of it.
  data_.train =
      with_candidates(std::move(data_.train),
                      {std::move(list.offsets), std::move(list.labels), std::move(list.margins)},
                      head_->network_share == 0 ? 0.0F : 1.0F);
  return true;
}

double ShortlistRun::candidates_a_row() const {
  return static_cast<double>(data_.train.candidates.nonzeros()) /
         static_cast<double>(std::max<std::size_t>(1, data_.train.rows()));
}

void ShortlistRun::evaluate(Replica& network, const std::function<void(Replica&)>& use) {
  const auto replica = make_shortlist_replica(network, *head_, threads_, &kept_);
  use(*replica);
}

}  // namespace evener
