#include "evener/cluster/transport/serial_executor.h"

#include <future>
#include <utility>

namespace evener {

SerialExecutor::SerialExecutor() {
  thread_ = std::thread([this] {
    while (auto task = tasks_.get()) {
      (*task)();
      task.reset();
      --waiting_;
    }
  });
}

SerialExecutor::~SerialExecutor() {
  tasks_.close();
  thread_.join();
}

void SerialExecutor::put(std::function<void()> task) {
  ++waiting_;
  tasks_.put(std::move(task));
}

void SerialExecutor::flush() {
  std::promise<void> reached;
  put([&reached] { reached.set_value(); });
  reached.get_future().wait();
}

}  // namespace evener
