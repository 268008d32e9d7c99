// Conversations between ranks, all over the one connection that each has with each.
#include <charconv>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "evener/cluster/mpi/plugin/ranks.h"
#include "evener/cluster/side.h"
#include "evener/core/error.h"

namespace evener::mpi {

namespace {

constexpr std::size_t kMostErrands = 256;  // that the courier may have before no more is asked for

/// Which conversation: with whom, and the number that who has begun it gave it.
struct Name {
  int other = 0;
  std::uint32_t number = 0;
  bool begun_here = false;

  bool operator<(const Name& with) const {
    return std::tie(other, number, begun_here) < std::tie(with.other, with.number, with.begun_here);
  }
};

class Post;

class RankSide final : public Side {
 public:
  RankSide(Post& post, const Name& name);

 protected:
  void carry(Message message) override;
  void carry_end(const std::string& why) override;

 private:
  Post& post_;
  Name name_;
};

/// What listeners and channels share.
class Post {
 public:
  explicit Post(const WorldOptions& options)
      : ranks_(options, {[this](int from, Letter letter) { take(from, std::move(letter)); },
                         [this](int rank, const std::string& why) { end_all(rank, why); },
                         [this] { return courier_.waiting() > kMostErrands; }}) {}

  Ranks& ranks() { return ranks_; }
  Courier& courier() { return courier_; }

  std::shared_ptr<Side> connect(const std::string& address, std::shared_ptr<Handler> handler) {
    const auto to = rank_of(address);
    const std::lock_guard lock(mutex_);
    const Name name{to.value_or(-1), ++begun_, true};
    auto side = std::make_shared<RankSide>(*this, name);
    side->begin(std::move(handler));
    if (!to || gone_.count(*to) > 0) {
      side->bring_end(
          to ? "cannot connect: " + gone_[*to]
             : fmt::format("cannot connect: there is no rank '{}' of {}", address, ranks_.size()));
      return side;
    }
    sides_[name] = side;
    send(name, Letter::Kind::open, {});
    return side;
  }
  void listen(Guests& guests) {
    const std::lock_guard lock(mutex_);
    if (guests_ != nullptr) {
      throw Error(fmt::format("{}: cannot listen there: somebody does already", ranks_.rank()));
    }
    guests_ = &guests;
  }
  void listen_no_more() {
    const std::lock_guard lock(mutex_);
    guests_ = nullptr;
  }
  std::optional<int> rank_of(std::string_view address) const {
    int rank = -1;
    const char* end = address.data() + address.size();
    const auto [stop, problem] = std::from_chars(address.data(), end, rank);
    if (problem != std::errc{} || stop != end || rank < 0 || rank >= ranks_.size()) return {};
    return rank;
  }
  bool has_lost(int rank) {
    const std::lock_guard lock(mutex_);
    return gone_.count(rank) > 0;
  }
  void send(const Name& name, Letter::Kind kind, Message message) {
    ranks_.send(name.other, {kind, name.number, !name.begun_here, std::move(message)});
  }
  void forget(const Name& name) {
    const std::lock_guard lock(mutex_);
    sides_.erase(name);
  }

 private:
  void take(int from, Letter letter) {
    const Name name{from, letter.conversation, letter.to_opener};
    const std::lock_guard lock(mutex_);
    if (letter.kind == Letter::Kind::open) return open(name);
    const auto found = sides_.find(name);
    if (found == sides_.end()) return;  // it has ended here
    if (letter.kind == Letter::Kind::message) {
      return found->second->bring(std::move(letter.message));
    }
    found->second->bring_end(letter.message.head);
    sides_.erase(found);
  }
  void open(const Name& name) {
    if (guests_ == nullptr) {
      return send(name, Letter::Kind::end,
                  {fmt::format("cannot connect: rank {} does not listen", ranks_.rank()), {}, {}});
    }
    const auto side = std::make_shared<RankSide>(*this, name);
    sides_[name] = side;
    guests_->admit(side);
  }
  void end_all(int rank, const std::string& why) {
    const std::lock_guard lock(mutex_);
    gone_[rank] = why;
    for (auto at = sides_.begin(); at != sides_.end();) {
      const auto here = at++;
      if (here->first.other != rank) continue;
      here->second->bring_end(why);
      sides_.erase(here);
    }
  }

  std::mutex mutex_;
  std::map<Name, std::shared_ptr<RankSide>> sides_;
  std::map<int, std::string> gone_;  // and why
  std::uint32_t begun_ = 0;
  Guests* guests_ = nullptr;
  Courier courier_;
  Ranks ranks_;  // last: its thread uses all of the above
};

RankSide::RankSide(Post& post, const Name& name) : Side(post.courier()), post_(post), name_(name) {}
void RankSide::carry(Message message) {
  post_.send(name_, Letter::Kind::message, std::move(message));
}
void RankSide::carry_end(const std::string& why) {
  post_.send(name_, Letter::Kind::end, {"the other side has ended it: " + why, {}, {}});
  post_.forget(name_);
}

class RankListener final : public Listener {
 public:
  RankListener(std::shared_ptr<Post> post, Accept accept)
      : post_(std::move(post)), guests_(post_->courier(), std::move(accept)) {
    post_->listen(guests_);
  }
  ~RankListener() override {
    post_->listen_no_more();
    guests_.end_all("the listener has gone");
  }
  RankListener(const RankListener&) = delete;
  RankListener& operator=(const RankListener&) = delete;
  std::string address() const override { return std::to_string(post_->ranks().rank()); }

 private:
  std::shared_ptr<Post> post_;
  Guests guests_;
};

class PluginWorld final : public World {
 public:
  explicit PluginWorld(const WorldOptions& options) : post_(std::make_shared<Post>(options)) {}
  ~PluginWorld() override {
    // A thread that is stuck may wake up yet and look for it: it stays until the process ends.
    if (post_->ranks().stuck()) new (std::nothrow) std::shared_ptr<Post>(post_);
  }
  PluginWorld(const PluginWorld&) = delete;
  PluginWorld& operator=(const PluginWorld&) = delete;

  int rank() const override { return post_->ranks().rank(); }
  int size() const override { return post_->ranks().size(); }
  int neighbours() const override { return post_->ranks().neighbours(); }
  std::string library() const override { return post_->ranks().library(); }
  std::string lost() const override { return post_->ranks().lost(); }
  bool has_lost(int other) const override { return post_->has_lost(other); }
  void leave() override { post_->ranks().leave(); }
  bool fail(const std::string& why) override { return post_->ranks().fail(why); }

  std::unique_ptr<Listener> listen(const std::string& address, Accept accept) override {
    if (!address.empty() && post_->rank_of(address) != rank()) {
      throw Error(fmt::format("{}: cannot listen there: this is rank {}", address, rank()));
    }
    return std::make_unique<RankListener>(post_, std::move(accept));
  }
  std::shared_ptr<Channel> connect(const std::string& address,
                                   std::shared_ptr<Handler> handler) override {
    return owned_channel(post_->connect(address, std::move(handler)), post_);
  }

 private:
  std::shared_ptr<Post> post_;
};

}  // namespace

}  // namespace evener::mpi

extern "C" __attribute__((visibility("default"))) evener::mpi::World* evener_mpi_plugin(
    const char* version, const evener::mpi::WorldOptions& options) {
  if (std::string_view(version) != evener::mpi::kPluginVersion) return nullptr;
  return new evener::mpi::PluginWorld(options);
}
