// A wrapper that makes a transport slow and cuts its connections at random.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "evener/cluster/transport/transport.h"
#include "evener/core/random.h"
#include "evener/core/time.h"

namespace evener {

struct Roughness {
  double bytes_per_second = 0;  // of a connection, each way; 0: as fast as below
  double cuts = 0;              // share of the messages with which a connection ends
  std::uint64_t seed = 1;
};

/// Only messages of the side that has opened a connection are slow or lost: peers send no others.
class RoughTransport final : public Transport {
 public:
  RoughTransport(std::shared_ptr<Transport> below, const Roughness& roughness)
      : below_(std::move(below)), roughness_(roughness) {}

  std::unique_ptr<Listener> listen(const std::string& address, Accept accept) override {
    return below_->listen(address, std::move(accept));
  }
  std::shared_ptr<Channel> connect(const std::string& address,
                                   std::shared_ptr<Handler> handler) override {
    const std::lock_guard lock(mutex_);
    return std::make_shared<RoughChannel>(below_->connect(address, std::move(handler)), roughness_,
                                          Random(roughness_.seed, ++connections_));
  }

 private:
  class RoughChannel final : public Channel {
   public:
    RoughChannel(std::shared_ptr<Channel> below, const Roughness& roughness, Random random)
        : below_(std::move(below)),
          roughness_(roughness),
          random_(random),
          thread_([this] { run(); }) {}
    ~RoughChannel() override {
      {
        const std::lock_guard lock(mutex_);
        closed_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
    RoughChannel(const RoughChannel&) = delete;
    RoughChannel& operator=(const RoughChannel&) = delete;

    void send(Message message) override {
      {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(message));
      }
      changed_.notify_all();
    }
    void close(const std::string& why) override { below_->close(why); }

   private:
    void run() {
      std::unique_lock lock(mutex_);
      for (;;) {
        changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
        if (closed_) return;  // queued messages are lost
        Message message = std::move(waiting_.front());
        waiting_.pop_front();
        if (roughness_.bytes_per_second > 0) {
          const std::chrono::duration<double> takes(static_cast<double>(message.size()) /
                                                    roughness_.bytes_per_second);
          changed_.wait_for(lock, takes, [&] { return closed_; });
          if (closed_) return;
        }
        if (random_.uniform() < roughness_.cuts) return below_->close("cut");
        below_->send(std::move(message));
      }
    }

    std::shared_ptr<Channel> below_;
    Roughness roughness_;
    Random random_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Message> waiting_;
    bool closed_ = false;
    std::thread thread_;
  };

  std::shared_ptr<Transport> below_;
  Roughness roughness_;
  std::mutex mutex_;
  std::uint64_t connections_ = 0;
};

}  // namespace evener
