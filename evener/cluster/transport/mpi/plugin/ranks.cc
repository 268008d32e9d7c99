#include "evener/cluster/transport/mpi/plugin/ranks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "evener/core/error.h"

namespace evener::mpi {

namespace {

constexpr Seconds kBeat = 0.5;       // between heartbeats
constexpr Seconds kStart = 60;       // for a rank's first heartbeat
constexpr Seconds kSendFailure = 2;  // timeout of sending a failure
constexpr Seconds kSave = 60;        // timeout for rank 0 to save its state
constexpr int kProbesAtOnce = 16;
constexpr int kSpinRounds = 30;  // idle rounds before it sleeps
constexpr std::chrono::microseconds kShortSleep{50}, kLongSleep{1000};

}  // namespace

Ranks::Ranks(const WorldOptions& options, Events events)
    : options_(options), events_(std::move(events)) {
  try {
    start_threads();
  } catch (const std::system_error& problem) {  // a limit of the system
    throw Error(
        fmt::format("the threads for MPI could not be started ({})", problem.code().message()));
  }
}

void Ranks::start_threads() {
  thread_ = std::thread([this] { work(); });
  try {
    begun_.get_future().get();
    watch_ = std::thread([this] { watch(); });
  } catch (const std::exception& problem) {
    set_phase(Phase::failing, problem.what());  // the other ranks learn it
    thread_.join();
    throw;
  }
}

Ranks::~Ranks() {
  set_phase(Phase::stopping, "");
  thread_.join();
  watch_.join();
}

void Ranks::watch() {
  // Counts its own waits, not time: a process that was stopped for a while is not stuck.
  const Seconds beats = options_.silence / kBeat;
  Seconds missed = 0;
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (missed < beats) {
    const auto beat = std::chrono::duration<Seconds>(kBeat);
    if (changed_.wait_for(lock, beat, [this] { return phase_ == Phase::over; })) return;
    missed = rounds_ == seen ? missed + 1 : 0;
    seen = rounds_;
  }
  stuck_ = true;
  const std::string why = fmt::format(
      "MPI's library has not come back from a call for {:.0f} s, which happens when a rank dies "
      "that shared memory with this one",
      options_.silence);
  if (lost_.empty()) lost_ = why;
  phase_ = Phase::over;
  changed_.notify_all();
  lock.unlock();
  for (int i = 0; i < size_; ++i) events_.lost(i, why);
}

void Ranks::work() {
  try {
    begin();
  } catch (...) {
    return begun_.set_exception(std::current_exception());
  }
  begun_.set_value();
  try {
    run_loop();
  } catch (const std::exception& problem) {
    for (int i = 0; i < size_; ++i) lose(i, problem.what());
  }
  const std::lock_guard lock(mutex_);
  root_reports_ = rank_ != 0 && !others_.front().lost;
  phase_ = Phase::over;
  changed_.notify_all();
}

void Ranks::begin() {
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED) throw Error("this MPI library is not for threads");
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  MPI_Comm machine = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
  check(MPI_Comm_size(machine, &neighbours_), "MPI_Comm_size");
  check(MPI_Comm_free(&machine), "MPI_Comm_free");
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  library_ = text.data();
  library_ = library_.substr(0, library_.find_first_of(",\n"));
  constexpr std::string_view kSurplus = " Version:\t";  // of MPICH's
  if (const auto at = library_.find(kSurplus); at != std::string::npos) {
    library_.replace(at, kSurplus.size(), " ");
  }
  for (int i = 0; i < size_; ++i) {
    others_.emplace_back(comm_, i);
    others_.back().out.put({});  // a first heartbeat: the timeout for it is much longer
  }
}

void Ranks::run_loop() {
  std::vector<Packet> packets;
  while (!is_over()) {
    ++rounds_;
    bool moved = take_outgoing();
    for (auto& other : others_) {
      if (!other.lost) moved |= other.out.move();
    }
    if (events_.busy()) {  // silence means nothing while this rank does not read
      for (auto& other : others_) other.heard = {};
    } else {
      moved |= probe();
      for (int i = 0; i < size_; ++i) {
        RankState& other = others_[static_cast<std::size_t>(i)];
        if (other.lost) continue;
        packets.clear();
        moved |= other.in.move(packets);
        if (!packets.empty()) other.heard = {};
        for (auto& packet : packets) take(i, std::move(packet));
      }
    }
    beat();
    idle(moved);
  }
  if (entered_ == Phase::leaving && lost().empty()) check(MPI_Finalize(), "MPI_Finalize");
}

bool Ranks::take_outgoing() {
  std::vector<std::pair<int, Packet>> outgoing;
  Phase phase = Phase::running;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    outgoing.swap(outgoing_);
    phase = phase_;
    why = failure_;
  }
  for (auto& [to, packet] : outgoing) {
    RankState& other = others_[static_cast<std::size_t>(to)];
    if (!other.lost) other.out.put(std::move(packet));
  }
  if (phase == entered_) return !outgoing.empty();
  entered_ = phase;
  since_phase_ = {};
  for (auto& other : others_) {
    if (phase == Phase::leaving) other.out.put({.kind = Packet::Kind::leave});
    if (phase == Phase::failing) {
      other.out.drop();
      other.out.put({.kind = Packet::Kind::failure, .message = {why, {}, nullptr}});
    }
  }
  return true;
}

bool Ranks::probe() {
  bool found = false;
  for (int i = 0; i < kProbesAtOnce; ++i) {
    int flag = 0, bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, kFrontTag, comm_, &flag, &message, &status), "MPI_Improbe");
    if (flag == 0) break;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    others_[static_cast<std::size_t>(status.MPI_SOURCE)].in.add(message, bytes);
    found = true;
  }
  return found;
}

void Ranks::take(int from, Packet packet) {
  RankState& other = others_[static_cast<std::size_t>(from)];
  other.has_sent = true;
  switch (packet.kind) {
    case Packet::Kind::heartbeat:
      return;
    case Packet::Kind::leave:
      other.leaving = true;
      return;
    case Packet::Kind::failure:
      other.failed = true;
      return report_lost(from, fmt::format("rank {} has failed: {}", from, packet.message.head));
    default:
      return events_.packet(from, std::move(packet));
  }
}

void Ranks::beat() {
  if (since_beat_.elapsed() < kBeat) return;
  since_beat_ = {};
  for (int i = 0; i < size_; ++i) {
    RankState& other = others_[static_cast<std::size_t>(i)];
    if (i == rank_ || other.lost) continue;
    // A queued packet counts as a heartbeat.
    if (other.out.empty()) other.out.put({});
    if (other.leaving || other.failed) continue;
    const Seconds silence = other.heard.elapsed();
    if (silence < (other.has_sent ? options_.silence : std::max(kStart, options_.silence)))
      continue;
    lose(i, fmt::format("rank {} is lost: no heartbeat for {:.0f} s", i, silence));
  }
}

void Ranks::lose(int rank, const std::string& why) {
  RankState& other = others_[static_cast<std::size_t>(rank)];
  if (std::exchange(other.lost, true)) return;
  other.out.drop();
  report_lost(rank, why);
}

void Ranks::report_lost(int rank, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_.empty() && phase_ != Phase::failing) lost_ = why;
  }
  events_.lost(rank, why);
}

bool Ranks::all_sent(bool to_failed) const {
  return std::all_of(others_.begin(), others_.end(), [&](const RankState& other) {
    return other.lost || (other.failed && !to_failed) || other.out.empty();
  });
}

bool Ranks::is_over() {
  const auto is_done = [](const RankState& other) {
    return other.lost || other.failed || other.leaving;
  };
  const RankState& first = others_.front();
  switch (entered_) {
    case Phase::leaving: {
      if (!all_sent(false)) return false;
      // If a rank is lost, the run fails anyway, and only rank 0 may have state to save.
      if (!lost().empty() && (rank_ == 0 || is_done(first))) return true;
      return std::all_of(others_.begin(), others_.end(), is_done);
    }
    case Phase::failing: {
      if (!all_sent(true) && since_phase_.elapsed() < kSendFailure) return false;
      const bool first_ends = rank_ == 0 || first.lost || first.failed;
      return first_ends || since_phase_.elapsed() >= kSave;
    }
    case Phase::stopping:
      return true;
    default:
      return false;
  }
}

void Ranks::idle(bool moved) {
  idle_ = moved ? 0 : idle_ + 1;
  if (idle_ == 0) return;
  if (idle_ < kSpinRounds) return std::this_thread::yield();
  // MPI cannot wait for receives and for new packets to send at the same time, so this polls.
  const bool under_way = std::any_of(others_.begin(), others_.end(), [](const RankState& other) {
    return !other.lost && (!other.out.empty() || !other.in.empty());
  });
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, under_way ? kShortSleep : kLongSleep,
                    [this] { return !outgoing_.empty() || phase_ != entered_; });
}

void Ranks::send(int to, Packet packet) {
  const std::lock_guard lock(mutex_);
  outgoing_.emplace_back(to, std::move(packet));
  changed_.notify_all();
}

std::string Ranks::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Ranks::set_phase(Phase phase, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::over) return;
  phase_ = phase;
  failure_ = why;
  changed_.notify_all();
}

void Ranks::await_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return phase_ == Phase::over; });
}

void Ranks::leave() {
  set_phase(Phase::leaving, "");
  await_end();
  if (const std::string why = lost(); !why.empty()) throw Error(why);
}

bool Ranks::fail(const std::string& why) {
  set_phase(Phase::failing, why);
  await_end();
  return root_reports_;
}

}  // namespace evener::mpi
