#include "evener/cluster/courier.h"

#include <future>
#include <utility>

namespace evener {

Courier::Courier() {
  thread_ = std::thread([this] {
    while (auto errand = errands_.get()) {
      (*errand)();
      errand.reset();
      --waiting_;
    }
  });
}

Courier::~Courier() {
  errands_.close();
  thread_.join();
}

void Courier::put(std::function<void()> errand) {
  ++waiting_;
  errands_.put(std::move(errand));
}

void Courier::flush() {
  std::promise<void> reached;
  put([&reached] { reached.set_value(); });
  reached.get_future().wait();
}

}  // namespace evener
