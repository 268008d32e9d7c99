#include "evener/run/session/checkpointing.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "evener/core/file.h"
#include "evener/core/finite.h"
#include "evener/run/options/config.h"
#include "evener/run/session/new_run.h"
#include "evener/run/session/resume.h"

namespace evener {

namespace {

Model copy_of(const Model& model) {
  Model copy;
  copy.network = model.network;
  copy.raw_features = model.raw_features;
  copy.text_format = model.text_format;
  copy.transform = model.transform;
  copy.label_names = model.label_names;
  copy.inverse_propensity = model.inverse_propensity;
  copy.shortlist = model.shortlist;
  copy.parameters = FloatBuffer(model.parameters.size());
  std::copy_n(model.parameters.data(), model.parameters.size(), copy.parameters.data());
  return copy;
}

/// Why `write` failed; empty: it did not.
template <class F>
std::string failure_of(F write) {
  try {
    write();
    return "";
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

}  // namespace

bool is_among_last(std::uint64_t epoch, std::uint64_t count, double time_share) {
  // The end of the run is one of them.
  return static_cast<double>(epoch + count - 1) * time_share >= static_cast<double>(epoch);
}

Checkpointing::Checkpointing(const CheckpointingOptions& options, Backend& backend,
                             Checkpoint start)
    : options_(options), backend_(backend), current_(std::move(start)) {}

void Checkpointing::write_options(const TrainOptions& options) {
  const TrainOptions written = with_absolute_paths(options);
  current_.options = option_texts(written);
  current_.options[kRowsKey] = std::to_string(options_.rows);
  set_run_kind(backend_.kind(), current_.options);
  backend_.add_keys(current_.options);
  if (options_.directory == nullptr) return;
  options_.directory->check_present();
  const std::string config = config_text(written);
  write_atomically(options_.directory->config(), std::as_bytes(std::span(config)));
}

void Checkpointing::start_backend(const TrainOptions& options, const TrainingData& data) {
  backend_.start(options, data, current_);
}

std::string Checkpointing::save(double seconds, std::uint32_t keep) {
  const Position position = backend_.position();
  Progress& progress = current_.progress;
  progress.step = position.step;
  progress.epoch = position.epoch;
  progress.next_row = position.next_row;
  progress.train_loss_sum = position.loss_sum;
  progress.seconds = seconds;
  progress.training_seconds = position.seconds;
  if (options_.directory == nullptr && !options_.returns_models) return "";
  backend_.take_state(current_);
  if (!all_finite(current_.model.parameters.span())) {
    throw DivergedError("a weight is not finite after step " + std::to_string(position.step));
  }
  check_directory();
  std::string failure;
  if (options_.directory != nullptr) {
    failure = failure_of([&] {
      save_checkpoint(current_, options_.directory->checkpoints(), static_cast<int>(keep));
    });
  }
  current_.kept.clear();  // the backend has its own copy
  backend_.give_state(current_);
  return failure;
}

std::string Checkpointing::save_best() {
  unsaved_best_.reset();
  std::string failure =
      keep_model(options_.directory == nullptr ? "" : options_.directory->best_model(), best_);
  if (!failure.empty()) {
    current_.model.parameters = backend_.take_parameters();
    unsaved_best_ = copy_of(current_.model);
    backend_.give_parameters(std::move(current_.model.parameters));
  }
  return failure;
}

std::string Checkpointing::save_kept_best() {
  if (!unsaved_best_) return "";
  std::string failure =
      failure_of([&] { save_model(*unsaved_best_, options_.directory->best_model()); });
  if (failure.empty()) unsaved_best_.reset();
  return failure;
}

std::string Checkpointing::save_last() {
  return keep_model(options_.directory == nullptr ? "" : options_.directory->last_model(), last_);
}

std::string Checkpointing::keep_model(const std::string& path, std::optional<Model>& copy) {
  if (path.empty() && !options_.returns_models) return "";
  check_directory();
  current_.model.parameters = backend_.take_parameters();
  std::string failure;
  if (!path.empty()) failure = failure_of([&] { save_model(current_.model, path); });
  if (options_.returns_models) copy = copy_of(current_.model);
  backend_.give_parameters(std::move(current_.model.parameters));
  return failure;
}

void Checkpointing::add_to_average(std::size_t optimizer_vectors) {
  FloatBuffer parameters = backend_.take_parameters();
  auto& state = current_.state;
  if (!has_average(optimizer_vectors)) state.emplace_back(parameters.size());
  FloatBuffer& sum = state.back();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += parameters[i];
  ++current_.progress.averaged;
  backend_.give_parameters(std::move(parameters));
}

bool Checkpointing::has_average(std::size_t optimizer_vectors) const {
  return current_.state.size() > optimizer_vectors;
}

void Checkpointing::use_average() {
  const float share = 1.0F / static_cast<float>(current_.progress.averaged);
  const FloatBuffer& sum = current_.state.back();
  FloatBuffer parameters = backend_.take_parameters();
  for (std::size_t i = 0; i < sum.size(); ++i) parameters[i] = sum[i] * share;
  backend_.give_parameters(std::move(parameters));
}

}  // namespace evener
