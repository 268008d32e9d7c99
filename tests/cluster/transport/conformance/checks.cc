#include "tests/cluster/transport/conformance/checks.h"

#include <algorithm>
#include <csignal>

#include "tests/cluster/transport/conformance/echo_server.h"

#include "evener/cluster/wire/chunks.h"

namespace evener {

namespace {

void nobody_there_is_told(Rank& rank) {
  std::string address;
  {
    EchoServer server(rank);
    address = server.address();
    server.leave();
  }
  TestConnection connection(rank, address);
  const std::string why = connection.inbox->end();
  expect(why.find("connect") != std::string::npos, "the reason is reported: " + why);
  connection.channel->send(message_with("to no listener", 10));  // nothing happens
  rank.barrier();
}

void messages_of_all_sizes_come_in_order(Rank& rank) {
  EchoServer server(rank);
  TestConnection connection(rank, server.address_of(rank.next()));
  const std::vector<std::size_t> sizes{0, 1, 3, 4096, 100'001, std::size_t{1} << 20, 3'900'000, 0};
  for (const std::size_t size : sizes) {
    connection.channel->send(message_with(fmt::format("{}", size), size));
  }
  for (const std::size_t size : sizes) connection.expect_echo(fmt::format("{}", size), size);
  server.leave();
}

void pieces_are_put_together(Rank& rank) {
  EchoServer server(rank);
  TestConnection connection(rank, server.address_of(rank.next()));
  // The pieces are not in order in memory.
  const auto bytes = some_bytes(10'000);
  std::rotate(bytes->begin(), bytes->begin() + 5000, bytes->end());
  const std::span<const std::byte> all = *bytes;
  connection.channel->send(
      {"pieces", {all.subspan(5000, 1), {}, all.subspan(5001), all.first(5000)}, bytes});
  connection.expect_echo("pieces", 10'000);
  server.leave();
}

void a_message_that_is_too_large_ends_its_connection_and_nothing_else(Rank& rank) {
  EchoServer server(rank);
  const std::string address = server.address_of(rank.next());
  constexpr std::size_t kBody = kMostMessageBytes - sizeof(std::uint32_t) - 4;
  TestConnection full(rank, address), huge(rank, address);
  full.channel->send(message_with("most", kBody));
  full.expect_echo("most", kBody);
  huge.channel->send(message_with("more", kBody + 1));
  const std::string why = huge.inbox->end();
  expect(why.find("larger") != std::string::npos, "the reason is reported: " + why);
  full.expect_answer();
  TestConnection(rank, address).expect_answer();
  server.leave();
}

void many_talk_at_once(Rank& rank) {
  constexpr int kEach = 2, kMessages = 30;
  EchoServer server(rank);
  std::vector<TestConnection> connections;
  for (int i = 0; i < kEach * rank.size; ++i) {
    connections.emplace_back(rank, server.address_of(i % rank.size));
  }
  const auto head = [&](std::size_t connection, int i) {
    return fmt::format("rank {} connection {} message {}", rank.rank, connection, i);
  };
  for (int i = 0; i < kMessages; ++i) {
    for (std::size_t j = 0; j < connections.size(); ++j) {
      connections[j].channel->send(message_with(head(j, i), 1000 + j));
    }
  }
  for (std::size_t j = 0; j < connections.size(); ++j) {
    for (int i = 0; i < kMessages; ++i) connections[j].expect_echo(head(j, i), 1000 + j);
  }
  server.leave();
}

void expect_sum(TestConnection& connection, const std::shared_ptr<std::vector<std::byte>>& bytes) {
  const std::string back = connection.inbox->message().head;
  expect(back == sum_of(*bytes), fmt::format("{} bytes came as they were", bytes->size()));
}
void send_payload(TestConnection& connection,
                  const std::shared_ptr<std::vector<std::byte>>& bytes) {
  connection.channel->send({fmt::format("{}{}", Answerer::kPayload, bytes->size()), {}, nullptr});
  for (auto& chunk : chunks_of(bytes, 1)) connection.channel->send(std::move(chunk));
}

void payloads_of_all_sizes_come_whole(Rank& rank) {
  EchoServer server(rank);
  TestConnection connection(rank, server.address_of(rank.next()));
  constexpr std::size_t kMega = std::size_t{1} << 20;
  std::vector<std::size_t> sizes{0, 1, kMega - 1, kMega, kMega + 1, 5 * kMega + 3};
  if (rank.rank == 0) sizes.push_back(rank.large);
  for (const std::size_t size : sizes) {
    const auto bytes = some_bytes(size);
    send_payload(connection, bytes);
    expect_sum(connection, bytes);
  }
  server.leave();
}

void everybody_sends_payloads_to_everybody(Rank& rank) {
  EchoServer server(rank);
  std::vector<TestConnection> connections;
  for (int i = 0; i < rank.size; ++i) connections.emplace_back(rank, server.address_of(i));
  const auto bytes = some_bytes((std::size_t{4} << 20) + static_cast<std::size_t>(rank.rank));
  for (auto& connection : connections) send_payload(connection, bytes);
  for (auto& connection : connections) expect_sum(connection, bytes);
  server.leave();
}

void a_handler_that_throws_ends_the_connection_with_its_reason(Rank& rank) {
  EchoServer server(rank);
  TestConnection connection(rank, server.address_of(rank.next()));
  connection.channel->send(message_with("throw", 0));
  connection.inbox->end();
  const std::string why = server.next_end();
  expect(why == "a reason", "the side that threw hears why: " + why);
  server.leave();
}

void an_end_is_told_to_both(Rank& rank) {
  EchoServer server(rank);
  TestConnection connection(rank, server.address_of(rank.next()));
  connection.expect_answer();
  connection.channel->close("enough");
  const std::string why = connection.inbox->end();
  expect(why == "ended: enough", "its own reason comes back: " + why);
  server.next_end();
  connection.channel->send(message_with("too late", 10));  // nothing happens
  connection.channel->close("again");
  server.leave();
}

/// Records whether `ended` was called.
class Told final : public Handler {
 public:
  void received(Message /*message*/) override {}
  void ended(const std::string& /*why*/) override { told = true; }
  std::atomic<bool> told = false;
};

void a_channel_that_goes_has_ended(Rank& rank) {
  EchoServer server(rank);
  const auto handler = std::make_shared<Told>();
  rank.transport->connect(server.address_of(rank.next()), handler).reset();
  expect(handler->told, "the handler was told before the channel was gone");
  server.leave();
}

void a_listener_that_goes_ends_its_connections_and_may_come_back(Rank& rank) {
  EchoServer server(rank);
  const std::string own = server.address(), next = server.address_of(rank.next());
  TestConnection connection(rank, next);
  connection.expect_answer();
  rank.barrier();
  server.stop_listening();
  expect(connection.inbox->end().rfind("ended", 0) == 0, "the connection has ended");
  server.next_end();
  rank.barrier();
  server.listen(own);
  rank.barrier();
  TestConnection(rank, next).expect_answer();
  server.leave();
}

void an_address_that_is_taken_is_an_error(Rank& rank) {
  EchoServer server(rank);
  bool refused = false;
  try {
    rank.transport->listen(server.address(), nullptr);
  } catch (const Error&) {
    refused = true;
  }
  expect(refused, "no other listener has the address");
  server.leave();
}

}  // namespace

std::vector<Check> all_checks() {
#define CHECK_NAMED(name) \
  { #name, name }
  return {CHECK_NAMED(nobody_there_is_told),
          CHECK_NAMED(messages_of_all_sizes_come_in_order),
          CHECK_NAMED(pieces_are_put_together),
          CHECK_NAMED(a_message_that_is_too_large_ends_its_connection_and_nothing_else),
          CHECK_NAMED(many_talk_at_once),
          CHECK_NAMED(payloads_of_all_sizes_come_whole),
          CHECK_NAMED(everybody_sends_payloads_to_everybody),
          CHECK_NAMED(a_handler_that_throws_ends_the_connection_with_its_reason),
          CHECK_NAMED(an_end_is_told_to_both),
          CHECK_NAMED(a_channel_that_goes_has_ended),
          CHECK_NAMED(a_listener_that_goes_ends_its_connections_and_may_come_back),
          CHECK_NAMED(an_address_that_is_taken_is_an_error)};
#undef CHECK_NAMED
}

void check_death(Rank& rank) {
  const int last = rank.size - 1;
  EchoServer server(rank);
  TestConnection doomed(rank, server.address_of(last));
  doomed.expect_answer();
  rank.barrier();
  if (rank.rank == last && rank.is_thread) throw Died{};
  if (rank.rank == last) std::raise(SIGKILL);
  // While others send much to it.
  const auto bytes = some_bytes(std::size_t{16} << 20);
  send_payload(doomed, bytes);
  const std::string why = doomed.inbox->end();
  expect(why.rfind("ended", 0) == 0, "its death is noticed: " + why);
  // The other ranks continue.
  rank.barrier(last);
  TestConnection(rank, server.address_of((rank.rank + 1) % last)).expect_answer();
  rank.barrier(last);
}

}  // namespace evener
