#include "evener/run/session/run_session.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "evener/run/artifacts/run_directory.h"
#include "evener/run/options/recipe.h"
#include "evener/run/session/new_run.h"
#include "evener/run/session/resume.h"

namespace evener {

namespace {

class Session {
 public:
  Session(TrainOptions options, const TrainingData* data, Backend& backend,
          const RunContext& context, const SessionOptions& session)
      : options_(std::move(options)),
        data_(data),
        backend_(backend),
        context_(context),
        session_(session),
        reporter_(context.reporter),
        keeps_directory_(context.writes_directory && backend.keeps_run()) {}

  TrainResult run() {
    // Cheap checks come before the data is read. A new run directory is created after it, so that
    // bad data leaves no directory behind.
    if (auto finished = open_run()) return std::move(*finished);
    open_data();
    if (start_) {
      check_same_data(options_, *data_, *start_);
    } else {
      options_ = with_recipe(options_, data_->train, data_->row_count());
      start_ = new_run(options_, *data_, reporter_);
    }
    backend_.check(options_, *data_, start_->model.network);
    open_directory();
    Checkpointing checkpoints({directory(), context_.returns_models, data_->row_count()}, backend_,
                              std::move(*start_));
    checkpoints.write_options(options_);
    const Progress begin = checkpoints.progress();
    if (directory_) reporter_.open(*directory_, options_.resume.empty() ? nullptr : &begin);
    for (const auto& note : notes_) {
      reporter_.say(note);
      reporter_.record({"note", begin.step, begin.seconds, {{"text", note}}});
    }
    return drive(checkpoints);
  }

 private:
  const RunDirectory* directory() const { return directory_ ? &*directory_ : nullptr; }

  /// Loads the checkpoint to resume, and resolves options and devices. Returns the result if the
  /// run is already complete.
  std::optional<TrainResult> open_run() {
    if (!context_.writes_directory && !(options_.resume.empty() && options_.output.empty())) {
      throw UsageError("--resume and -o need a run directory, and this run keeps none");
    }
    if (!options_.resume.empty()) {
      if (keeps_directory_) directory_.emplace(options_.resume, RunDirectory::Open::resume);
      start_ = resumed_start(options_, reporter_);
      check_same_kind(backend_.kind(), start_->options, options_.resume);
      if (auto finished = finished_run(options_, *start_)) return finished;
    } else if (!options_.output.empty() && keeps_directory_) {
      refuse_existing_run(options_.output);
    }
    const auto say = [this](const std::string& line) { reporter_.say(line); };
    BackendContext opening{context_.devices, say, context_.interrupted, context_.main_steps};
    opening.devices.say = say;
    notes_ = session_.notes;
    notes_.insert(notes_.end(), context_.notes.begin(), context_.notes.end());
    const auto notes = backend_.open(options_, start_ ? &*start_ : nullptr, opening);
    notes_.insert(notes_.end(), notes.begin(), notes.end());
    return std::nullopt;
  }

  void open_data() {
    if (data_ != nullptr) return;
    const Warn warn = [this](const std::string& text) { reporter_.warn(text); };
    opened_ = open_training_data(options_, context_.cache, warn);
    data_ = &opened_;
  }

  void open_directory() {
    if (!keeps_directory_ || directory_) return;
    directory_.emplace(options_.output.empty()
                           ? make_free_directory(default_directory(options_.data))
                           : options_.output,
                       RunDirectory::Open::create);
  }

  /// The message about a data file that was truncated; empty if none was. It is the cause of other
  /// failures, such as a loss that is not finite.
  std::string missing_data() const {
    try {
      check_intact(data_->train);
      if (data_->evaluation) check_intact(*data_->evaluation);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  TrainResult drive(Checkpointing& checkpoints) {
    std::optional<ProgressReport> report;
    std::optional<Driver> driver;
    try {
      report.emplace(options_, *data_, backend_, reporter_, checkpoints.progress().seconds);
      checkpoints.start_backend(options_, *data_);
      driver.emplace(session_.driver, options_, context_, *data_, backend_, checkpoints, *report);
      TrainResult result = driver->run();
      // An end without a step leaves a directory that the next run may use.
      if (!result.in_preparation) report->end(result, directory());
      if (directory_) result.directory = directory_->path();
      result.notes.insert(result.notes.begin(), notes_.begin(), notes_.end());
      if (session_.driver.ended) session_.driver.ended(driver->session_end());
      return result;
    } catch (const std::exception& problem) {
      reporter_.note(std::string("error: ") + problem.what());
      if (driver) report->record_failure(problem.what());
      if (driver && session_.driver.ended) session_.driver.ended(driver->session_end());
      const std::string cut = missing_data();
      // Whatever failed first: nothing can be saved or resumed any more.
      if (directory_) directory_->check_present();
      const bool diverged = cut.empty() && dynamic_cast<const DivergedError*>(&problem) != nullptr;
      const bool saved = directory_ && std::filesystem::exists(directory_->checkpoints());
      if (diverged && saved) throw DivergedRun(problem.what(), directory_->path());
      if (!cut.empty() && !directory_) throw Error(cut);
      if (diverged || !directory_ || (cut.empty() && !backend_.is_unattended())) throw;
      const std::string what =
          (cut.empty() ? problem.what() : cut) +
          (saved ? "; go on from the last checkpoint with --resume " + directory_->path()
                 : std::string("; there is no checkpoint yet to go on from (see "
                               "--checkpoint-every and --checkpoint-minutes)"));
      if (dynamic_cast<const SaveError*>(&problem) != nullptr) throw SaveError(what);
      throw Error(what);
    }
  }

  TrainOptions options_;
  const TrainingData* data_;
  Backend& backend_;
  const RunContext& context_;
  const SessionOptions& session_;
  Reporter reporter_;
  bool keeps_directory_;
  TrainingData opened_;
  std::optional<RunDirectory> directory_;
  std::optional<Checkpoint> start_;
  std::vector<std::string> notes_;
};

}  // namespace

TrainResult run_session(TrainOptions options, const TrainingData* data, Backend& backend,
                        const RunContext& context, const SessionOptions& session) {
  Session run(std::move(options), data, backend, context, session);
  try {
    TrainResult result = run.run();
    backend.close("");  // before its data is released
    return result;
  } catch (const std::exception& problem) {
    backend.close(problem.what());
    throw;
  }
}

}  // namespace evener
