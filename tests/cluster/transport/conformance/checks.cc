#include "tests/cluster/transport/conformance/checks.h"

#include <algorithm>
#include <csignal>

#include "tests/cluster/transport/conformance/station.h"

#include "evener/cluster/wire/chunks.h"

namespace evener {

namespace {

void nobody_there_is_told(Rank& rank) {
  std::string address;
  {
    Station station(rank);
    address = station.address();
    station.leave();
  }
  Talk talk(rank, address);
  const std::string why = talk.inbox->end();
  expect(why.find("connect") != std::string::npos, "why it failed is said: " + why);
  talk.channel->send(message_with("to nobody", 10));  // nothing happens
  rank.meet();
}

void messages_of_all_sizes_come_in_order(Rank& rank) {
  Station station(rank);
  Talk talk(rank, station.address_of(rank.next()));
  const std::vector<std::size_t> sizes{0, 1, 3, 4096, 100'001, std::size_t{1} << 20, 3'900'000, 0};
  for (const std::size_t size : sizes) {
    talk.channel->send(message_with(fmt::format("{}", size), size));
  }
  for (const std::size_t size : sizes) talk.expect_echo(fmt::format("{}", size), size);
  station.leave();
}

void pieces_are_put_together(Rank& rank) {
  Station station(rank);
  Talk talk(rank, station.address_of(rank.next()));
  // They do not lie in memory as they follow each other.
  const auto bytes = some_bytes(10'000);
  std::rotate(bytes->begin(), bytes->begin() + 5000, bytes->end());
  const std::span<const std::byte> all = *bytes;
  talk.channel->send(
      {"pieces", {all.subspan(5000, 1), {}, all.subspan(5001), all.first(5000)}, bytes});
  talk.expect_echo("pieces", 10'000);
  station.leave();
}

void a_message_that_is_too_large_ends_its_connection_and_nothing_else(Rank& rank) {
  Station station(rank);
  const std::string address = station.address_of(rank.next());
  constexpr std::size_t kBody = kMostMessageBytes - sizeof(std::uint32_t) - 4;
  Talk full(rank, address), huge(rank, address);
  full.channel->send(message_with("most", kBody));
  full.expect_echo("most", kBody);
  huge.channel->send(message_with("more", kBody + 1));
  const std::string why = huge.inbox->end();
  expect(why.find("larger") != std::string::npos, "why it ended is said: " + why);
  full.expect_talk();
  Talk(rank, address).expect_talk();
  station.leave();
}

void many_talk_at_once(Rank& rank) {
  constexpr int kEach = 2, kMessages = 30;
  Station station(rank);
  std::vector<Talk> talks;
  for (int i = 0; i < kEach * rank.size; ++i) {
    talks.emplace_back(rank, station.address_of(i % rank.size));
  }
  const auto head = [&](std::size_t talk, int i) {
    return fmt::format("rank {} talk {} message {}", rank.rank, talk, i);
  };
  for (int i = 0; i < kMessages; ++i) {
    for (std::size_t j = 0; j < talks.size(); ++j) {
      talks[j].channel->send(message_with(head(j, i), 1000 + j));
    }
  }
  for (std::size_t j = 0; j < talks.size(); ++j) {
    for (int i = 0; i < kMessages; ++i) talks[j].expect_echo(head(j, i), 1000 + j);
  }
  station.leave();
}

void expect_sum(Talk& talk, const std::shared_ptr<std::vector<std::byte>>& bytes) {
  const std::string back = talk.inbox->message().head;
  expect(back == sum_of(*bytes), fmt::format("{} bytes came as they were", bytes->size()));
}
void send_payload(Talk& talk, const std::shared_ptr<std::vector<std::byte>>& bytes) {
  talk.channel->send({fmt::format("{}{}", Answerer::kPayload, bytes->size()), {}, nullptr});
  for (auto& chunk : chunks_of(bytes, 1)) talk.channel->send(std::move(chunk));
}

void payloads_of_all_sizes_come_whole(Rank& rank) {
  Station station(rank);
  Talk talk(rank, station.address_of(rank.next()));
  constexpr std::size_t kMega = std::size_t{1} << 20;
  std::vector<std::size_t> sizes{0, 1, kMega - 1, kMega, kMega + 1, 5 * kMega + 3};
  if (rank.rank == 0) sizes.push_back(rank.large);
  for (const std::size_t size : sizes) {
    const auto bytes = some_bytes(size);
    send_payload(talk, bytes);
    expect_sum(talk, bytes);
  }
  station.leave();
}

void everybody_sends_payloads_to_everybody(Rank& rank) {
  Station station(rank);
  std::vector<Talk> talks;
  for (int i = 0; i < rank.size; ++i) talks.emplace_back(rank, station.address_of(i));
  const auto bytes = some_bytes((std::size_t{4} << 20) + static_cast<std::size_t>(rank.rank));
  for (auto& talk : talks) send_payload(talk, bytes);
  for (auto& talk : talks) expect_sum(talk, bytes);
  station.leave();
}

void a_handler_that_throws_ends_the_connection_with_its_reason(Rank& rank) {
  Station station(rank);
  Talk talk(rank, station.address_of(rank.next()));
  talk.channel->send(message_with("throw", 0));
  talk.inbox->end();
  const std::string why = station.next_end();
  expect(why == "a reason", "the side that threw hears why: " + why);
  station.leave();
}

void an_end_is_told_to_both(Rank& rank) {
  Station station(rank);
  Talk talk(rank, station.address_of(rank.next()));
  talk.expect_talk();
  talk.channel->close("enough");
  const std::string why = talk.inbox->end();
  expect(why == "ended: enough", "its own reason comes back: " + why);
  station.next_end();
  talk.channel->send(message_with("too late", 10));  // nothing happens
  talk.channel->close("again");
  station.leave();
}

/// Remembers whether it was told.
class Told final : public Handler {
 public:
  void received(Message /*message*/) override {}
  void ended(const std::string& /*why*/) override { told = true; }
  std::atomic<bool> told = false;
};

void a_channel_that_goes_has_ended(Rank& rank) {
  Station station(rank);
  const auto handler = std::make_shared<Told>();
  rank.transport->connect(station.address_of(rank.next()), handler).reset();
  expect(handler->told, "the handler was told before the channel was gone");
  station.leave();
}

void a_listener_that_goes_ends_its_connections_and_may_come_back(Rank& rank) {
  Station station(rank);
  const std::string own = station.address(), next = station.address_of(rank.next());
  Talk talk(rank, next);
  talk.expect_talk();
  rank.meet();
  station.stop_listening();
  expect(talk.inbox->end().rfind("ended", 0) == 0, "the connection has ended");
  station.next_end();
  rank.meet();
  station.listen(own);
  rank.meet();
  Talk(rank, next).expect_talk();
  station.leave();
}

void an_address_that_is_taken_is_an_error(Rank& rank) {
  Station station(rank);
  bool refused = false;
  try {
    rank.transport->listen(station.address(), nullptr);
  } catch (const Error&) {
    refused = true;
  }
  expect(refused, "nobody else listens there");
  station.leave();
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
  Station station(rank);
  Talk doomed(rank, station.address_of(last));
  doomed.expect_talk();
  rank.meet();
  if (rank.rank == last && rank.is_thread) throw Died{};
  if (rank.rank == last) std::raise(SIGKILL);
  // In the middle of much that is sent to it.
  const auto bytes = some_bytes(std::size_t{16} << 20);
  send_payload(doomed, bytes);
  const std::string why = doomed.inbox->end();
  expect(why.rfind("ended", 0) == 0, "its death is noticed: " + why);
  // Those who are left go on.
  rank.meet(last);
  Talk(rank, station.address_of((rank.rank + 1) % last)).expect_talk();
  rank.meet(last);
}

}  // namespace evener
