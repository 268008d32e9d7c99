#include "evener/run/devices/device_selector.h"

#include <algorithm>

#include <fmt/format.h>

#include "evener/policy/batch_pieces.h"

namespace evener {

namespace {

constexpr double kTouch = 5e8;   // bytes per second at the first access to memory
constexpr double kSlow = 1e-12;  // rows per second of a working device that got no rows

std::size_t round_of(const EngineSetup& setup, std::size_t devices) {
  return setup.batch_per_device > 0 ? setup.batch_per_device * devices : setup.batch;
}

TrialSetting setting_of(const EngineSetup& setup) {
  TrialSetting setting;
  for (std::size_t i = 0; i < setup.devices.size(); ++i) {
    std::string name = setup.devices[i]->name();
    const auto& names = setting.names;
    // Devices with the same name are distinguished by their number.
    const bool taken = std::find(names.begin(), names.end(), name) != names.end();
    setting.names.push_back(taken ? fmt::format("{} [{}]", name, i) : std::move(name));
  }
  setting.batch = round_of(setup, setup.devices.size());
  const int vectors = 1 + state_vectors(setup.training.optimizer);
  setting.cold =
      static_cast<double>(layout_of(setup.network).size * sizeof(float)) * vectors / kTouch;
  return setting;
}

std::vector<FloatBuffer> take_vectors(Engine& engine, int count) {
  std::vector<FloatBuffer> vectors;
  vectors.reserve(static_cast<std::size_t>(count));
  for (int v = 0; v < count; ++v) vectors.push_back(engine.models().take(v));
  return vectors;
}

void give_vectors(Engine& engine, std::vector<FloatBuffer> vectors) {
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    engine.models().give(static_cast<int>(v), std::move(vectors[v]));
  }
}

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

DeviceSelector::DeviceSelector(EngineSetup setup, bool tries) : setup_(checked(std::move(setup))) {
  if (!tries) {
    engine_ = std::make_unique<Engine>(setup_);
    return;
  }
  setting_ = setting_of(setup_);
  advance();
}

bool DeviceSelector::run_epoch(Position& position,
                               const std::function<bool(const StepReport&)>& after_step) {
  const Seconds not_training = now() - position.seconds;
  while (trial_) {
    keep_copy(position);
    position.seconds = now() - not_training;
    const Seconds begin = engine_->now() - seconds_;
    bool paused = false;
    bool whole = false;
    try {
      whole = engine_->run_epoch(position, [&](const StepReport& report) {
        seconds_ = engine_->now() - begin;
        count(report);
        paused = !after_step(report) || paused;
        return !paused && !is_over();
      });
    } catch (const DeviceError& error) {
      if (!copy_) throw;
      recover(position, error.what());
      continue;
    }
    seconds_ = engine_->now() - begin;
    const bool out_of_time = engine_->plan().is_out_of_time(position.seconds);
    if (is_over()) end_trial(speeds());
    if (whole || paused || out_of_time) return whole;
  }
  position.seconds = now() - not_training;
  return engine_->run_epoch(position, after_step);
}

std::vector<std::string> DeviceSelector::take_notes() {
  append(notes_, engine_->take_notes());
  return std::exchange(notes_, {});
}

std::vector<std::string> DeviceSelector::take_dropped_workers() {
  append(losses_, engine_->take_dropped_workers());
  return std::exchange(losses_, {});
}

/// Begins the next trial, or applies the choice.
void DeviceSelector::advance() {
  for (bool made = false; !made;) {
    auto next = after_trials(setting_, history_);
    if (auto* choice = std::get_if<DeviceChoice>(&next)) {
      if (choice->devices.empty()) throw DeviceError("every device has failed");
      trial_.reset();
      made = use(choice->devices, choice->strategy);
      if (!made) continue;
      choice_ = std::move(*choice);
      chosen_at_ = now();
      setup_ = {};  // releases the devices that are left out
    } else {
      trial_ = std::move(std::get<Trial>(next));
      made = use(trial_->devices, trial_->strategy());
    }
  }
  reports_ = rows_ = 0;
  seconds_ = 0;
  timed_ = false;
  if (trial_ && trial_->looks()) begin_timing();
}

/// Makes an engine of these devices and loads the model. False if a device has too little memory.
bool DeviceSelector::use(const std::vector<std::size_t>& devices, const std::string& strategy) {
  if (engine_ && devices == devices_) return true;
  if (engine_) {
    vectors_ = take_vectors(*engine_, 1 + state_vectors(setup_.training.optimizer));
    retire();
  }
  try {
    engine_ = std::make_unique<Engine>(with_only(setup_, devices, strategy));
  } catch (const DeviceError& error) {
    const Trial trial{devices};
    history_.push_back({trial, {0, probe(devices), 0}});
    notes_.push_back(fmt::format("left out: {}", error.what()));
    return false;
  }
  devices_ = devices;
  give_vectors(*engine_, std::exchange(vectors_, {}));
  return true;
}

/// Ends the engine; keeps its time, notes and lost workers.
void DeviceSelector::retire() {
  append(notes_, engine_->take_notes());
  append(losses_, engine_->take_dropped_workers());
  earlier_communication_ = communication();
  if (setup_.virtual_time) {
    setup_.virtual_time->begins_at = engine_->now();
  } else {
    earlier_seconds_ += engine_->now();
  }
  engine_.reset();
}

/// Speeds of devices that cannot be used together: 0 for each that cannot be used alone; if all
/// can, 0 for the last one.
std::vector<double> DeviceSelector::probe(const std::vector<std::size_t>& devices) {
  std::vector<double> speeds(devices.size(), kSlow);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    try {
      const Engine engine(with_only(setup_, {devices[i]}, automatic_strategy(AutoFor::one_device)));
    } catch (const DeviceError&) {
      speeds[i] = 0;
    }
  }
  if (std::count(speeds.begin(), speeds.end(), 0) == 0) speeds.back() = 0;
  return speeds;
}

void DeviceSelector::count(const StepReport& report) {
  ++reports_;
  rows_ += report.rows;
  if (!timed_ && rows_ >= trial_->untimed * round_of(setup_, devices_.size())) begin_timing();
}

void DeviceSelector::begin_timing() {
  timed_ = true;
  rows_ = 0;
  part_begin_ = seconds_;
  totals_ = engine_->timeline().totals();
}

bool DeviceSelector::is_over() const {
  const std::size_t batch = round_of(setup_, devices_.size());
  if (trial_->looks()) return reports_ >= split_into_pieces(batch, devices_.size()).pieces;
  return timed_ && rows_ >= trial_->timed * batch;
}

/// The speed of each device in the timed part; 0: it is lost.
std::vector<double> DeviceSelector::speeds() const {
  const auto& now = engine_->timeline().totals();
  std::vector<double> speeds;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const WorkerTotals& then = totals_[i];
    const Seconds busy = now[i].compute + now[i].transfer - then.compute - then.transfer;
    const auto rows = static_cast<double>(now[i].rows - then.rows);
    speeds.push_back(now[i].lost ? 0 : std::max(rows / std::max(busy, 1e-9), kSlow));
  }
  return speeds;
}

void DeviceSelector::end_trial(std::vector<double> speeds) {
  const bool failed = std::count(speeds.begin(), speeds.end(), 0) > 0;
  const double rate = static_cast<double>(rows_) / std::max(seconds_ - part_begin_, 1e-9);
  history_.push_back({*trial_, {failed ? 0 : rate, std::move(speeds), seconds_}});
  copy_.reset();
  advance();
}

/// A device that trains alone has the only copy of the model, so it is saved on the host.
void DeviceSelector::keep_copy(const Position& position) {
  const bool alone = devices_.size() == 1;
  const bool in_host = setup_.devices[devices_.front()]->in_place_threads() > 0;
  if (!alone || (in_host && !setup_.virtual_time)) return;
  Copy copy{take_vectors(*engine_, 1 + state_vectors(setup_.training.optimizer)), position};
  std::vector<FloatBuffer> same;
  for (const auto& vector : copy.vectors) {
    same.emplace_back(vector.size());
    std::copy_n(vector.data(), vector.size(), same.back().data());
  }
  give_vectors(*engine_, std::move(same));
  copy_ = std::move(copy);
}

void DeviceSelector::recover(Position& position, const std::string& why) {
  position = copy_->position;
  vectors_ = std::move(copy_->vectors);
  retire();
  losses_.push_back(why);
  end_trial({0});
}

EngineSetup with_only(EngineSetup setup, const std::vector<std::size_t>& devices,
                      const std::string& strategy) {
  const auto pick = [&](auto& list) {
    if (list.empty()) return;
    std::remove_reference_t<decltype(list)> kept;
    for (const std::size_t i : devices) kept.push_back(list.at(i));
    list = std::move(kept);
  };
  pick(setup.devices);
  pick(setup.speeds);
  if (setup.virtual_time) pick(setup.virtual_time->devices);
  setup.strategy = parse_strategy(strategy);
  return setup;
}

}  // namespace evener
