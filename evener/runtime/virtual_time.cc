// The virtual-time executor: an event queue by computed end times. A task's arithmetic runs when
// its end is due, on the scheduler's thread.
#include "evener/runtime/virtual_time.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace evener {

namespace {

/// The link into or out of all servers: transfers queue for it.
class ServerLink {
 public:
  explicit ServerLink(double bandwidth) : bandwidth_(bandwidth) {}
  bool limited() const { return bandwidth_ > 0; }
  /// When a transfer of so many bytes ends that is ready at `ready`.
  Seconds pass(Seconds ready, std::size_t bytes) {
    if (!limited()) return ready;
    free_ = std::max(free_, ready) + static_cast<double>(bytes) / bandwidth_;
    return free_;
  }

 private:
  double bandwidth_;
  Seconds free_ = 0;
};

class VirtualTime final : public Executor {
 public:
  VirtualTime(Models& models, const Dataset& data, const VirtualTimeOptions& options)
      : models_(models),
        data_(data),
        merge_bandwidth_(options.merge_bandwidth),
        servers_(options.servers),
        out_(options.server_bandwidth * options.servers),
        in_(options.server_bandwidth * options.servers),
        now_(options.begins_at) {
    for (std::size_t i = 0; i < options.devices.size(); ++i) {
      timings_.emplace_back(options.devices[i], options.seed, i);
      if (options.devices[i].joins_at <= now_) continue;
      late_.push_back(static_cast<int>(i));
      set_timer(options.devices[i].joins_at);
    }
  }

  Seconds now() const override { return now_; }

  void start(Task task) override {
    SimulatedTiming& timing = timings_[static_cast<std::size_t>(task.worker)];
    Arrival arrival;
    TaskStats& stats = arrival.stats;
    stats.begin = now_;
    // Parts run side by side: the longest determines the time.
    const int threads = task.work == Work::in_place ? 1 : timing.model().threads;
    std::size_t nonzeros = 0;
    for (const auto& part : task.parts) {
      const std::size_t own = nonzeros_of(part.slice);
      const Seconds takes = timing.compute(now_, part.slice.rows.size(), own, threads);
      stats.compute = std::max(stats.compute, takes);
      nonzeros += own;
    }
    constexpr std::size_t kNonzeroBytes = 8;
    stats.transfer = timing.transfer(nonzeros * kNonzeroBytes);
    models_.begin(task);
    if (task.work == Work::pushed && out_.limited())
      return start_through_servers(std::move(task), stats);
    if (task.work == Work::copied || task.work == Work::pushed) {
      const Models::Traffic traffic = models_.traffic(task);
      stats.transfer += timing.transfer(traffic.in) + timing.transfer(traffic.out);
      if (task.work == Work::pushed) stats.bytes = traffic.in + traffic.out;
    }
    stats.end = now_ + stats.compute + stats.transfer;
    arrival.task = std::move(task);
    await(std::move(arrival));
  }

  void set_timer(Seconds time) override { timers_.push(time); }

  /// Messages leave a node one after the other; the slower of the two links determines the time.
  void send(const GossipMessage& message, std::size_t bytes) override {
    const auto from = static_cast<std::size_t>(message.from),
               to = static_cast<std::size_t>(message.to);
    const Seconds takes = std::max(timings_[from].transfer(bytes), timings_[to].transfer(bytes));
    links_.resize(timings_.size());
    links_[from] = std::max(now_, links_[from]) + takes;
    Arrival arrival;
    arrival.message = message;
    arrival.stats.end = links_[from];
    const std::pair key(links_[from], ++started_);
    pending_.emplace(key, Pending{std::move(arrival)});
  }

  std::optional<Arrival> next() override {
    // An arrival while the server was busy is handled when it is free: time does not go back.
    if (!timers_.empty() && timers_.top() < pending_.begin()->first.first) {
      now_ = std::max(now_, timers_.top());
      timers_.pop();
      return std::nullopt;
    }
    auto node = pending_.extract(pending_.begin());
    if (node.mapped().to_push > 0) {
      push_through_servers(std::move(node.mapped()));
      return next();
    }
    now_ = std::max(now_, node.key().first);
    Arrival arrival = std::move(node.mapped().arrival);
    if (arrival.message) return arrival;
    if (arrival.failure.empty()) {
      arrival.loss_sum = models_.compute(arrival.task);
      models_.end(arrival.task);
    }
    return arrival;
  }

  bool is_present(int worker) const override {
    return timings_[static_cast<std::size_t>(worker)].model().joins_at <= now_;
  }
  std::optional<MembershipChange> take_change() override {
    const auto worker =
        std::find_if(late_.begin(), late_.end(), [&](int i) { return is_present(i); });
    if (worker == late_.end()) return std::nullopt;
    const std::size_t most = timings_[static_cast<std::size_t>(*worker)].model().memory_rows;
    MembershipChange joined{MembershipChange::Kind::joined, *worker, "", most};
    late_.erase(worker);
    return joined;
  }

  std::size_t merge_bytes(int worker, std::size_t vectors) const override {
    const bool linked = timings_[static_cast<std::size_t>(worker)].model().bandwidth > 0;
    return linked ? 2 * vectors * models_.bytes() : 0;
  }
  void pass_apply_pushes(std::size_t pushes) override {
    const auto touched = static_cast<double>(models_.bytes() * (pushes + 1));
    now_ += touched / merge_bandwidth_ / servers_;
  }

  /// Replicas go to the host and back over their links in parallel; the host reads all of them.
  void pass_merge(std::size_t vectors) override {
    const std::size_t bytes = vectors * models_.bytes();
    Seconds longest = 0;
    for (const auto& timing : timings_) longest = std::max(longest, 2 * timing.transfer(bytes));
    const auto read = static_cast<double>(bytes * (timings_.size() + 1));
    now_ += longest + read / merge_bandwidth_;
  }

 private:
  struct Pending {
    Arrival arrival;
    std::size_t to_push = 0;  // bytes that still have to go to the servers; 0: none
  };

  void await(Arrival arrival, std::size_t to_push = 0) {
    const Seconds fails_at =
        timings_[static_cast<std::size_t>(arrival.task.worker)].model().fails_at;
    TaskStats& stats = arrival.stats;
    if (fails_at > 0 && stats.end > fails_at) {
      arrival.failure = "lost, as the cluster file says";
      stats.end = std::max(now_, fails_at);
      to_push = 0;
    }
    const std::pair key(stats.end, ++started_);
    pending_.emplace(key, Pending{std::move(arrival), to_push});
  }
  /// A pull uses the node's link and the servers' link at the same time: the slower one determines
  /// its time.
  void start_through_servers(Task task, TaskStats stats) {
    const SimulatedTiming& timing = timings_[static_cast<std::size_t>(task.worker)];
    const Models::Traffic traffic = models_.traffic(task);
    const Seconds pulled =
        std::max(now_ + timing.transfer(traffic.in), out_.pass(now_, traffic.in));
    stats.transfer += pulled - now_;
    stats.bytes = traffic.in + traffic.out;
    stats.end = now_ + stats.compute + stats.transfer;
    Arrival arrival;
    arrival.stats = stats;
    arrival.task = std::move(task);
    await(std::move(arrival), std::max<std::size_t>(1, traffic.out));
  }
  void push_through_servers(Pending pending) {
    TaskStats& stats = pending.arrival.stats;
    const SimulatedTiming& timing = timings_[static_cast<std::size_t>(pending.arrival.task.worker)];
    const Seconds pushed = std::max(stats.end + timing.transfer(pending.to_push),
                                    in_.pass(stats.end, pending.to_push));
    stats.transfer += pushed - stats.end;
    stats.end = pushed;
    await(std::move(pending.arrival));
  }

  std::size_t nonzeros_of(const Slice& slice) const {
    std::size_t sum = 0;
    const auto& offsets = data_.features.offsets;
    for (const std::uint32_t row : slice.rows) sum += offsets[row + 1] - offsets[row];
    return sum;
  }

  Models& models_;
  const Dataset& data_;
  double merge_bandwidth_;
  double servers_;
  ServerLink out_, in_;
  std::vector<SimulatedTiming> timings_;
  std::vector<Seconds> links_;  // when a node's outgoing link is free again
  Seconds now_;
  std::vector<int> late_;  // workers that have not joined yet
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> timers_;
  std::uint64_t started_ = 0;
  /// By end time; equal end times are in the order of their starts.
  std::map<std::pair<Seconds, std::uint64_t>, Pending> pending_;
};

class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(const DeviceModel& model)
      : model_(model), device_(make_device("cpu:1")) {}

  std::string name() const override { return model_.name; }
  std::unique_ptr<Replica> make_replica(const Network& network, const Training& training) override {
    return device_->make_replica(network, training);
  }
  std::vector<std::unique_ptr<Replica>> make_in_place(const Network& network,
                                                      const Training& training,
                                                      std::span<FloatBuffer> shared) override {
    if (!model_.in_place) return {};
    return device_->make_in_place(network, training, shared);
  }
  int in_place_threads() const override { return model_.in_place ? model_.threads : 0; }

 private:
  DeviceModel model_;
  std::unique_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<Executor> make_virtual_time(Models& models, const Dataset& data,
                                            const VirtualTimeOptions& options) {
  return std::make_unique<VirtualTime>(models, data, options);
}

std::unique_ptr<Device> make_simulated_device(const DeviceModel& model) {
  return std::make_unique<SimulatedDevice>(model);
}

}  // namespace evener
