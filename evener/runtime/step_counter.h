// Counts where the steps of a thread begin and end, so that another thread finds a step that hangs.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace evener {

class StepCounter {
 public:
  void begin() { value_.fetch_add(1); }
  void end() { value_.fetch_add(1); }
  /// Inside a step: it makes progress.
  void advance() { value_.fetch_add(2); }

  std::uint64_t value() const { return value_.load(); }
  static bool is_inside(std::uint64_t value) { return value % 2 == 1; }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// The steps on the thread that drives a run: of its only device, of a gossip peer, merges and
/// evaluations.
/// That thread cannot end the run where such a step hangs; the program that started it can.
class MainSteps : public StepCounter {
 public:
  /// For messages: "cpu:2".
  void set_name(const std::string& name) {
    const std::lock_guard lock(mutex_);
    name_ = name;
  }
  std::string name() const {
    const std::lock_guard lock(mutex_);
    return name_;
  }

  /// A step as long as this object exists; `steps` may be null.
  class Step {
   public:
    explicit Step(MainSteps* steps) : steps_(steps) {
      if (steps_ != nullptr) steps_->begin();
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() {
      if (steps_ != nullptr) steps_->end();
    }
    void advance() {
      if (steps_ != nullptr) steps_->advance();
    }

   private:
    MainSteps* steps_;
  };

 private:
  mutable std::mutex mutex_;
  std::string name_;
};

}  // namespace evener
