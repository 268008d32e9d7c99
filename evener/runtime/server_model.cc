// The parameter server's model: workers pull it, train their replica on it and push what changed.
// A push waits here until the policy lets it in or throws it away.
//
// Of a sparse input layer only rows that changed since a worker's last pull travel to it, and only
// rows that it changed travel back. Pulls and pushes run on the workers' threads beside the
// coordinator's updates: `guard_` makes each pull see whole updates.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "evener/runtime/merge_walk.h"
#include "evener/runtime/models.h"

namespace evener {

namespace {

constexpr std::size_t kMostStretch = 4096;

struct ServedWorker {
  std::unique_ptr<Replica> replica;
  RowSet changed;      // by the task at hand, or by the push that waits
  FloatBuffer pulled;  // the model as it was pulled, where it was
  FloatBuffer push;    // what changed; zero outside the changed rows
  FloatBuffer owed;    // with compression: what was not sent yet
  RowSet owed_rows;
  std::uint64_t version{};  // of the model that it pulled last
  bool fresh = false;       // it has pulled since somebody else wrote to its replica
  bool present = true;
  std::size_t pulled_rows = 0;
};

class ServerModel final : public Models {
 public:
  ServerModel(const ModelSetup& setup, const Compression& compression)
      : setup_(setup),
        compression_(compression),
        layout_(layout_of(setup.network)),
        global_(layout_.size),
        walk_(setup.network, layout_, setup.merge_threads),
        row_versions_(feature_rows(), 0),
        ever_(feature_rows()) {
    for (std::size_t i = 0; i < setup.devices.size(); ++i) {
      workers_.push_back(
          {setup.devices[i]->make_replica(setup.network, training_of_worker(setup.training, i)),
           RowSet(feature_rows()), FloatBuffer(layout_.size), FloatBuffer(layout_.size),
           FloatBuffer(compression.active() ? layout_.size : 0), RowSet(feature_rows())});
    }
  }

  /// The pull.
  void begin(const Task& task) override {
    ServedWorker& worker = at(task.worker);
    const std::shared_lock lock(guard_);
    if (!worker.fresh) {
      std::copy_n(global_.data(), layout_.size, worker.pulled.data());
      worker.pulled_rows = feature_rows();
      worker.replica->load(0, worker.pulled.span());
      worker.fresh = true;
    } else {
      std::vector<std::uint32_t> rows;
      for (std::uint32_t row = 0; row < row_versions_.size(); ++row) {
        if (row_versions_[row] > worker.version) rows.push_back(row);
      }
      // Its own rows differ from the model even where the push was thrown away.
      for (const std::uint32_t row : worker.changed.rows()) {
        if (row_versions_[row] <= worker.version) rows.push_back(row);
      }
      worker.pulled_rows = rows.size();
      const Blocks blocks = blocks_of(setup_.network, layout_, rows);
      for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
        std::copy_n(global_.data() + at, n, worker.pulled.data() + at);
      });
      worker.replica->load_blocks(0, blocks, worker.pulled.span());
    }
    worker.version = version_;
    worker.changed.clear();
    if (sparse()) {
      for (const auto& part : task.parts) {
        worker.changed.add_features(*setup_.data, part.slice.rows);
      }
      worker.changed.add(worker.owed_rows);
    }
  }

  double compute(const Task& task) override {
    return step_through(*at(task.worker).replica, setup_.data, task);
  }
  bool looks_ahead(int worker) const override {
    return workers_[static_cast<std::size_t>(worker)].replica->remote();
  }

  /// The push.
  void end(const Task& task) override {
    ServedWorker& worker = at(task.worker);
    const Blocks blocks = blocks_of(setup_.network, layout_, worker.changed.rows());
    worker.replica->store_blocks(0, blocks, worker.push.span());
    for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
      for (std::size_t j = at; j < at + n; ++j) worker.push[j] -= worker.pulled[j];
    });
    if (compression_.active()) compress_push(worker, blocks);
  }

  Traffic traffic(const Task& task) const override {
    const ServedWorker& worker = workers_[static_cast<std::size_t>(task.worker)];
    const std::size_t rows = worker.changed.rows().size();
    return {bytes_of(worker.pulled_rows),
            compression_.bytes(numbers_of(rows)) + rows * sizeof(std::uint32_t)};
  }

  void absorb(const Absorb& decision) override {
    const std::unique_lock lock(guard_);
    RowSet now(feature_rows());
    for (const int worker : decision.workers) now.add(at(worker).changed);
    const bool momentum = decision.momentum > 0;
    if (momentum) ever_.add(now);
    if (momentum && momentum_.size() == 0) momentum_ = FloatBuffer(layout_.size);
    const auto& rows = momentum ? ever_.rows() : now.rows();
    const Move move(decision);
    walk_.walk(sparse() ? &rows : nullptr, [&](std::size_t at, std::size_t n) {
      std::array<float, kMostStretch> sum;
      for (std::size_t begin = at; begin < at + n; begin += kMostStretch) {
        const std::size_t length = std::min(kMostStretch, at + n - begin);
        std::fill_n(sum.begin(), length, 0.0F);
        for (const int worker : decision.workers) {
          const float* push = this->at(worker).push.data() + begin;
          for (std::size_t j = 0; j < length; ++j) sum[j] += push[j];
        }
        move.apply({sum.data(), length}, global_.data() + begin,
                   momentum ? momentum_.data() + begin : nullptr);
      }
    });
    ++version_;
    for (const std::uint32_t row : rows) row_versions_[row] = version_;
    for (const int worker : decision.workers) {
      if (compression_.active()) owe(at(worker));
      forget(at(worker));
    }
  }

  void reject(int worker) override { forget(at(worker)); }
  void lose(int worker) override { at(worker).present = false; }

  Evaluator evaluator() override {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      ServedWorker& worker = workers_[i];
      if (!worker.present) continue;
      worker.fresh = false;
      if (attempt(i, true, [&] { worker.replica->load(0, global_.span()); })) {
        return {worker.replica.get(), static_cast<int>(i)};
      }
      worker.present = false;
    }
    throw DeviceError("every device has failed");
  }

  /// Optimizer state is the workers' own: that of the first stands for all.
  FloatBuffer take(int vector) override {
    if (vector == 0) return std::move(global_);
    FloatBuffer values(layout_.size);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      ServedWorker& worker = workers_[i];
      if (!worker.present) continue;
      if (attempt(i, true, [&] { worker.replica->store(vector, values.span()); })) return values;
      worker.present = false;
    }
    throw DeviceError("every device has failed");
  }
  void give(int vector, FloatBuffer values) override {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      ServedWorker& worker = workers_[i];
      worker.fresh = false;
      if (vector == 0 || !worker.present) continue;
      if (!attempt(i, true, [&] { worker.replica->load(vector, values.span()); })) {
        worker.present = false;
      }
    }
    if (vector == 0) global_ = std::move(values);
  }
  std::size_t bytes() const override { return layout_.size * sizeof(float); }

 private:
  /// One update of a stretch; policy.h has the formula.
  struct Move {
    explicit Move(const Absorb& decision)
        : share(static_cast<float>(decision.share)),
          keep(static_cast<float>(std::pow(decision.momentum, decision.share))) {
      const double part =
          decision.momentum > 0
              ? (1 - std::pow(decision.momentum, decision.share)) / (1 - decision.momentum)
              : 1;
      take = static_cast<float>(decision.damping * part /
                                static_cast<double>(decision.workers.size()));
    }
    void apply(std::span<const float> sum, float* w, float* m) const {
      for (std::size_t j = 0; j < sum.size(); ++j) {
        float step = take * sum[j];
        if (m != nullptr) step = m[j] = keep * m[j] + step;
        w[j] += share * step;
      }
    }
    float share, keep, take;
  };

  bool sparse() const { return setup_.network.sparse_input(); }
  std::size_t feature_rows() const { return sparse() ? setup_.network.features : 0; }
  ServedWorker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }

  std::size_t bytes_of(std::size_t rows) const {
    return numbers_of(rows) * sizeof(float) + rows * sizeof(std::uint32_t);
  }
  std::size_t numbers_of(std::size_t rows) const {
    const Blocks none = blocks_of(setup_.network, layout_, {});
    return layout_.size - none.dense + rows * none.width;
  }

  /// The push with what is owed from earlier ones becomes what is sent. What is owed after it waits
  /// in `pulled`, which is of no more use there, until the push is let in: one that is thrown away
  /// leaves the old debt.
  void compress_push(ServedWorker& worker, const Blocks& blocks) {
    std::vector<float> values, rest;
    for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
      for (std::size_t j = at; j < at + n; ++j) values.push_back(worker.push[j] + worker.owed[j]);
    });
    rest.resize(values.size());
    compress(compression_, values, rest);
    std::size_t from = 0;
    for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
      std::copy_n(values.data() + from, n, worker.push.data() + at);
      std::copy_n(rest.data() + from, n, worker.pulled.data() + at);
      from += n;
    });
  }
  void owe(ServedWorker& worker) {
    const Blocks blocks = blocks_of(setup_.network, layout_, worker.changed.rows());
    for_blocks(blocks, layout_.size, [&](std::size_t at, std::size_t n) {
      std::copy_n(worker.pulled.data() + at, n, worker.owed.data() + at);
    });
    worker.owed_rows.clear();
    for (const std::uint32_t row : worker.changed.rows()) {
      const float* values = worker.owed.data() + row * blocks.width;
      if (std::any_of(values, values + blocks.width, [](float v) { return v != 0; })) {
        worker.owed_rows.add(row);
      }
    }
  }

  /// `changed` stays: those rows are pulled anew.
  void forget(ServedWorker& worker) {
    for_blocks(
        blocks_of(setup_.network, layout_, worker.changed.rows()), layout_.size,
        [&](std::size_t at, std::size_t n) { std::fill_n(worker.push.data() + at, n, 0.0F); });
  }

  ModelSetup setup_;
  Compression compression_;
  Layout layout_;
  std::shared_mutex guard_;  // of global_ and versions, while workers are at work
  FloatBuffer global_, momentum_;
  MergeWalk walk_;
  std::uint64_t version_ = 0;
  std::vector<std::uint64_t> row_versions_;  // of the last update of a sparse input row
  RowSet ever_;                              // rows that momentum goes on in
  std::vector<ServedWorker> workers_;
};

}  // namespace

std::unique_ptr<Models> make_server_model(const ModelSetup& setup, const Compression& compression) {
  return std::make_unique<ServerModel>(setup, compression);
}

}  // namespace evener
