#include "evener/runtime/engine.h"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "evener/core/cores.h"
#include "evener/runtime/wall_clock.h"

namespace evener {

namespace {

/// With a shared model, devices that can train in place do so.
std::vector<WorkerTraits> traits_of(const EngineSetup& setup) {
  const Sharing sharing = setup.strategy.strategy->sharing;
  const bool shares = sharing == Sharing::shared || sharing == Sharing::in_place;
  if (setup.remote_workers) {
    auto workers = setup.remote_workers->slots();
    check_workers(*setup.strategy.strategy, workers);
    return workers;
  }
  std::vector<WorkerTraits> workers;
  for (std::size_t i = 0; i < setup.devices.size(); ++i) {
    const Device& device = *setup.devices[i];
    const double speed = i < setup.speeds.size() ? setup.speeds[i] : 1;
    WorkerTraits traits;
    traits.name = device.name();
    if (speed < 1) traits.name += fmt::format(" (emulated x{:g})", speed);
    traits.in_place = shares && device.in_place_threads() > 0;
    if (traits.in_place) traits.threads = device.in_place_threads();
    if (setup.virtual_time) {
      traits.most_rows = setup.virtual_time->devices[i].memory_rows;
    } else if (setup.network.labels > 0) {  // 0: called before the data are read
      Training training = setup.training;
      if (sharing == Sharing::gradients) training.optimizer = Optimizer::accumulate;
      traits.most_rows = device.most_rows(setup.network, training);
    }
    workers.push_back(std::move(traits));
  }
  check_workers(*setup.strategy.strategy, workers);
  return workers;
}

std::shared_ptr<const Dataset> data_of(const EngineSetup& setup) {
  auto data = std::make_shared<Dataset>();
  const Dataset& given = *setup.plan.data;
  data->features = given.features;
  data->labels = given.labels;
  data->feature_count = given.feature_count;
  data->label_count = given.label_count;
  data->candidates = given.candidates;
  data->candidate_share = given.candidate_share;
  data->storage = given.storage;
  return data;
}

std::unique_ptr<Models> models_of(const EngineSetup& setup, const Dataset& data) {
  ModelSetup models;
  models.network = setup.network;
  models.training = setup.training;
  models.data = &data;
  // In virtual time, other simulations may use the other cores.
  if (!setup.virtual_time) models.merge_threads = available_cores();
  for (const auto& device : setup.devices) models.devices.push_back(device.get());
  if (setup.remote_workers) return setup.remote_workers->make_models(models, setup.strategy);
  return make_models(models, setup.strategy);
}

std::unique_ptr<Policy> policy_of(const EngineSetup& setup) {
  PolicyConfig config;
  config.workers = static_cast<int>(setup.remote_workers ? setup.remote_workers->slots().size()
                                                         : setup.devices.size());
  config.batch = setup.batch;
  config.batch_per_device = setup.batch_per_device;
  if (setup.plan.data != nullptr) config.rows = setup.plan.row_count();
  config.seed = setup.plan.seed;
  config.values = setup.strategy.values;
  return setup.strategy.strategy->make(config);
}

std::unique_ptr<Executor> executor_of(const EngineSetup& setup, Models& models) {
  if (setup.remote_workers) return setup.remote_workers->make_executor();
  if (setup.virtual_time) return make_virtual_time(models, *setup.plan.data, *setup.virtual_time);
  const int workers = static_cast<int>(setup.devices.size());
  if (MainSteps* steps = setup.supervision.main_steps.get(); steps != nullptr) {
    steps->set_name(workers == 1 ? setup.devices.front()->name() : "a merge or an evaluation");
  }
  return make_wall_clock(models, workers, {setup.speeds, setup.supervision});
}

/// What a thread that hangs may use when it comes back. Not destroyed, even at the end of the
/// process.
struct UsedByHungThreads {
  std::unique_ptr<Models> models;
  std::vector<std::shared_ptr<Device>> devices;
  std::shared_ptr<const Dataset> data;
};
void keep_for_ever(UsedByHungThreads used) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<UsedByHungThreads>;  // reachable: not a leak
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(used));
}

std::vector<std::string> names_of(const std::vector<WorkerTraits>& workers) {
  std::vector<std::string> names;
  names.reserve(workers.size());
  for (const auto& worker : workers) names.push_back(worker.name);
  return names;
}

EngineSetup with_devices(EngineSetup setup) {
  if (setup.virtual_time) {
    setup.devices.clear();
    for (const auto& model : setup.virtual_time->devices) {
      setup.devices.push_back(make_simulated_device(model));
    }
  }
  return setup;
}

}  // namespace

EngineSetup checked(EngineSetup setup) {
  setup = with_devices(std::move(setup));
  traits_of(setup);
  policy_of(setup);
  return setup;
}

Engine::Engine(EngineSetup setup)
    : setup_(with_devices(std::move(setup))),
      data_(data_of(setup_)),
      workers_(traits_of(setup_)),
      models_(models_of(setup_, *data_)),
      policy_(policy_of(setup_)),
      executor_(executor_of(setup_, *models_)),
      timeline_(names_of(workers_)),
      scheduler_(setup_.plan, *policy_, *models_, *executor_, workers_, timeline_) {}

Engine::~Engine() {
  const bool hangs = executor_->end_tasks();
  executor_.reset();
  if (hangs) keep_for_ever({std::move(models_), std::move(setup_.devices), std::move(data_)});
}

std::vector<std::string> Engine::take_notes() {
  std::vector<std::string> notes = scheduler_.take_notes();
  for (const auto& device : setup_.devices) {
    for (auto& note : device->take_notes()) notes.push_back(std::move(note));
  }
  return notes;
}

Communication Engine::communication() const {
  Communication sum;
  std::uint64_t tasks = 0;
  for (const WorkerTotals& worker : timeline_.totals()) {
    sum.bytes += worker.bytes;
    tasks += worker.tasks;
  }
  switch (setup_.strategy.strategy->sharing) {
    case Sharing::pushes:
      sum.exchanges = tasks;
      return sum;
    case Sharing::peers:
      sum.exchanges = timeline_.exchanges();
      return sum;
    case Sharing::single:
    case Sharing::shared:
    case Sharing::in_place:
    case Sharing::replicas:
    case Sharing::gradients:
      sum.exchanges = timeline_.merges();
      return sum;
  }
  throw Error("a strategy has an unknown kind of sharing");
}

std::string Engine::device_names() const {
  std::vector<std::string> present;
  const auto& names = timeline_.names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (executor_->is_present(static_cast<int>(i))) present.push_back(names[i]);
  }
  return fmt::format("{}", fmt::join(present, " + "));
}

}  // namespace evener
