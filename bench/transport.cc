// How fast are parameters transferred? Compares a pull and a push of a model (serialized, sent in
// chunks, copied into the model) with a plain TCP copy of as many bytes in both directions, in
// turns, on loopback, with both ends in this process.
//   build/release/bench/transport
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evener/cluster/transport/certs.h"
#include "evener/cluster/wire/wire.h"
#include "evener/core/mailbox.h"
#include "evener/core/time.h"
#include "evener/run/options/cluster_options.h"

namespace evener {
namespace {

constexpr int kRounds = 9;

/// A dense model of this many floats: everything is sent.
Network network_of_size(std::size_t floats) {
  return {.features = static_cast<std::uint32_t>(floats / 1025),
          .hidden = {},
          .labels = 1024,
          .input = Input::dense};
}

/// Reads payloads, and calls back when one is complete.
class Receiver final : public Handler {
 public:
  Receiver(const ModelUpdateFormat& format, std::function<void()> complete)
      : format_(format), to_(format.layout().size()), complete_(std::move(complete)) {}
  void received(Message message) override {
    const wire::Head head = head_of(message);
    if (!reader_) {
      ModelUpdateHeader header;
      header.bytes = to_.size() * sizeof(float);
      reader_.emplace(format_, header, to_);
    }
    reader_->feed(head.chunk().offset(), message);
    if (!reader_->complete()) return;
    reader_.reset();
    complete_();
  }
  void ended(const std::string& /*why*/) override {}

 private:
  const ModelUpdateFormat& format_;
  std::vector<float> to_;
  std::function<void()> complete_;
  std::optional<ModelUpdateReader> reader_;
};

class Ours {
 public:
  Ours(std::size_t floats, const std::string& certs)
      : format_(network_of_size(floats), {}), values_(format_.layout().size(), 1.0F) {
    listener_ =
        make_grpc_transport(read_tls(certs, "coordinator"))
            ->listen("127.0.0.1:0", [this](std::shared_ptr<Channel> channel) {
              channel->admit();
              return std::make_shared<Receiver>(format_, [this, channel] { send(*channel); });
            });
    channel_ = make_grpc_transport(read_tls(certs, "worker"))
                   ->connect(listener_->address(),
                             std::make_shared<Receiver>(format_, [this] { done_.put(0); }));
  }
  Seconds there_and_back() {
    const Stopwatch watch;
    send(*channel_);
    done_.get();
    return watch.elapsed();
  }
  std::size_t bytes() const { return format_.layout().size() * sizeof(float); }

 private:
  void send(Channel& channel) {
    PayloadBuffer& buffer = &channel == channel_.get() ? there_ : back_;
    format_.write({}, true, values_, buffer.next());
    for (auto& chunk : buffer.chunks(1)) channel.send(std::move(chunk));
  }

  ModelUpdateFormat format_;
  std::vector<float> values_;
  PayloadBuffer there_, back_;
  Mailbox<int> done_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Channel> channel_;
};

class PlainTcp {
 public:
  explicit PlainTcp(std::size_t bytes) : bytes_(bytes) {
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listening, generic, size) != 0 || ::listen(listening, 1) != 0) throw Error("no port");
    getsockname(listening, generic, &size);
    client_ = socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(client_, generic, size) != 0) throw Error("no connection");
    server_ = accept(listening, nullptr, nullptr);
    close(listening);
    for (const int end : {client_, server_}) {
      const int on = 1;
      setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    echo_ = std::thread([this] {
      std::vector<char> buffer(bytes_);
      while (read_all(server_, buffer)) write_all(server_, buffer);
    });
  }
  ~PlainTcp() {
    shutdown(client_, SHUT_RDWR);
    echo_.join();
    close(client_);
    close(server_);
  }
  Seconds there_and_back() {
    const Stopwatch watch;
    write_all(client_, buffer_);
    read_all(client_, buffer_);
    return watch.elapsed();
  }

 private:
  static bool read_all(int from, std::vector<char>& to) {
    for (std::size_t at = 0; at < to.size();) {
      const ssize_t got = read(from, to.data() + at, to.size() - at);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    return true;
  }
  static void write_all(int to, const std::vector<char>& from) {
    for (std::size_t at = 0; at < from.size();) {
      const ssize_t done = write(to, from.data() + at, from.size() - at);
      if (done <= 0) return;
      at += static_cast<std::size_t>(done);
    }
  }

  std::size_t bytes_;
  std::vector<char> buffer_ = std::vector<char>(bytes_);
  int client_ = -1, server_ = -1;
  std::thread echo_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(std::size_t bytes, const std::string& certs) {
  Ours plain(bytes / sizeof(float), ""), tls(bytes / sizeof(float), certs);
  PlainTcp tcp(plain.bytes());
  const int calls = static_cast<int>(std::max<std::size_t>(1, (std::size_t{64} << 20) / bytes));
  std::vector<double> speeds[3];
  for (int round = -1; round < kRounds; ++round) {  // the first warms up
    const auto run = [&](int which, auto& subject) {
      Seconds sum = 0;
      for (int i = 0; i < calls; ++i) sum += subject.there_and_back();
      const double moved = 2.0 * calls * static_cast<double>(plain.bytes());
      if (round >= 0) speeds[which].push_back(moved / sum / 1e6);
    };
    run(0, tcp);
    run(1, plain);
    run(2, tls);
  }
  const double base = median(speeds[0]);
  std::printf("%6.1f MB   TCP %6.0f MB/s   ours %6.0f (%3.0f %%)   with TLS %6.0f (%3.0f %%)\n",
              static_cast<double>(plain.bytes()) / 1e6, base, median(speeds[1]),
              100 * median(speeds[1]) / base, median(speeds[2]), 100 * median(speeds[2]) / base);
}

}  // namespace
}  // namespace evener

int main() {
  const std::string certs =
      std::filesystem::temp_directory_path() / fmt::format("certs{}", getpid());
  evener::make_certs({.folder = certs});
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{64} << 20}) {
    evener::measure(bytes, certs);
  }
  std::filesystem::remove_all(certs);
}
