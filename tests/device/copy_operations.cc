// Copies of vectors and blocks are exact.
#include <algorithm>
#include <utility>

#include "tests/device/case.h"
#include "tests/device/operations.h"
#include <fmt/format.h>
#include <rapidcheck.h>

namespace evener {

namespace {

/// A replica, one of its vectors, and which blocks of it to copy.
struct Copied {
  explicit Copied(const std::string& device);

  Blocks blocks() const { return blocks_of(c.network, layout, rows); }
  std::vector<float> stored() const {
    std::vector<float> now(layout.size, -1.0F);
    replica->store(vector, now);
    return now;
  }
  /// `inside` within the blocks, `outside` elsewhere.
  std::vector<float> mixed(const std::vector<float>& inside,
                           const std::vector<float>& outside) const {
    std::vector<float> result = outside;
    for_blocks(blocks(), layout.size, [&](std::size_t at, std::size_t n) {
      std::copy_n(inside.data() + at, n, result.data() + at);
    });
    return result;
  }

  Case c;
  Layout layout;
  std::unique_ptr<Replica> replica;
  int vector = 0;
  std::vector<std::uint32_t> rows;
  std::vector<float> values, others;
};

std::vector<float> whole_numbers(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(2001)) - 1000;
  return values;
}

Copied::Copied(const std::string& device)
    : c(drawn_case(Loss::softmax, Optimizer::adam,
                   *rc::gen::element(Input::sparse, Input::sparse, Input::dense))),
      layout(layout_of(c.network)),
      replica(make_replica(c, device)),
      vector(*rc::gen::inRange(0, 3).as("vector")) {
  Random random(c.training.seed, 4);
  for (std::uint32_t row = 0; row < c.network.features; ++row) {
    if (random.below(3) == 0) rows.push_back(row);
  }
  random.shuffle(std::span(rows));
  values = whole_numbers(random, layout.size);
  others = whole_numbers(random, layout.size);
  replica->load(vector, values);
}

std::string first_other(std::span<const float> actual, std::span<const float> expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    return fmt::format("place {}: {} instead of {}", i, actual[i], expected[i]);
  }
  return "";
}

void check_store(const std::string& device) {
  const Copied copied(device);
  RC_ASSERT(first_other(copied.stored(), copied.values) == "");
}

void check_load(const std::string& device) {
  const Copied copied(device);
  copied.replica->load(copied.vector, copied.others);
  RC_ASSERT(first_other(copied.stored(), copied.others) == "");
  for (int v = 0; v < copied.replica->vectors(); ++v) {  // and no other vector changed
    if (v == copied.vector) continue;
    std::vector<float> untouched(copied.layout.size, -1.0F);
    copied.replica->store(v, untouched);
    RC_ASSERT(first_other(untouched, std::vector<float>(copied.layout.size)) == "");
  }
}

void check_take(const std::string& device) {
  const Copied copied(device);
  FloatBuffer taken = copied.replica->take(copied.vector);
  RC_ASSERT(first_other(taken.span(), copied.values) == "");
  std::copy(copied.others.begin(), copied.others.end(), taken.data());
  copied.replica->give(copied.vector, std::move(taken));
  RC_ASSERT(first_other(copied.stored(), copied.others) == "");
}

void check_store_blocks(const std::string& device) {
  const Copied copied(device);
  auto into = copied.others;
  copied.replica->store_blocks(copied.vector, copied.blocks(), into);
  RC_ASSERT(first_other(into, copied.mixed(copied.values, copied.others)) == "");
  RC_ASSERT(first_other(copied.stored(), copied.values) == "");
}

void check_load_blocks(const std::string& device) {
  const Copied copied(device);
  copied.replica->load_blocks(copied.vector, copied.blocks(), copied.others);
  RC_ASSERT(first_other(copied.stored(), copied.mixed(copied.others, copied.values)) == "");
}

void check_clear_blocks(const std::string& device) {
  const Copied copied(device);
  copied.replica->clear_blocks(copied.vector, copied.blocks());
  const std::vector<float> zeros(copied.layout.size);
  RC_ASSERT(first_other(copied.stored(), copied.mixed(zeros, copied.values)) == "");
}

/// Two replicas of one device; if it leaves merges to the host, nothing may change.
void check_merge_blocks(const std::string& device) {
  Copied owner(device);
  owner.vector = 0;
  owner.replica->load(0, owner.values);
  const auto other = make_replica(owner.c, device);
  other->load(0, owner.others);
  const std::vector<Replica*> both{owner.replica.get(), other.get()};
  const std::vector<float> weights{0.25F, 0.75F};
  const std::vector<float> untouched(owner.layout.size, 0.5F);
  std::vector<float> sum(owner.layout.size), into = untouched;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = 0.25F * owner.values[i] + 0.75F * owner.others[i];  // of whole numbers: exact
  }
  const bool merges = owner.replica->sum_blocks(owner.blocks(), both, weights, into);
  RC_ASSERT(first_other(into, merges ? owner.mixed(sum, untouched) : untouched) == "");
  RC_ASSERT(first_other(owner.stored(), owner.values) == "");
  if (!merges) return;
  RC_ASSERT(other->adopt_blocks(owner.blocks(), *owner.replica));
  std::vector<float> adopted(owner.layout.size);
  other->store(0, adopted);
  RC_ASSERT(first_other(adopted, owner.mixed(sum, owner.others)) == "");
}

Timed prepare_merge(const Workload& workload, Device& device) {
  const auto one = std::make_shared<Rig>(workload, device);
  const auto two = std::make_shared<Rig>(workload, device);
  const auto merge = [one, two] {
    const std::vector<Replica*> both{one->replica.get(), two->replica.get()};
    const std::vector<float> weights{0.5F, 0.5F};
    const bool merges = one->replica->sum_blocks(one->blocks(), both, weights, one->values);
    for (Replica* replica : both) {
      if (merges) replica->adopt_blocks(one->blocks(), *one->replica);
    }
    return merges;
  };
  if (!merge()) return {};
  return [merge] { merge(); };
}

/// The timed part of an operation on one replica's parameters.
template <class F>
auto prepare(F copy) {
  return [copy](const Workload& workload, Device& device) -> Timed {
    return [copy, rig = std::make_shared<Rig>(workload, device)] { copy(*rig); };
  };
}

}  // namespace

void add_copies(std::vector<Operation>& table) {
  table.push_back({"store", check_store, prepare([](Rig& r) { r.replica->store(0, r.values); })});
  table.push_back({"load", check_load, prepare([](Rig& r) { r.replica->load(0, r.values); })});
  table.push_back(
      {"take", check_take, prepare([](Rig& r) { r.replica->give(0, r.replica->take(0)); })});
  table.push_back({"store_blocks", check_store_blocks,
                   prepare([](Rig& r) { r.replica->store_blocks(0, r.blocks(), r.values); })});
  table.push_back({"load_blocks", check_load_blocks,
                   prepare([](Rig& r) { r.replica->load_blocks(0, r.blocks(), r.values); })});
  table.push_back({"clear_blocks", check_clear_blocks,
                   prepare([](Rig& r) { r.replica->clear_blocks(1, r.blocks()); })});
  table.push_back({"merge_blocks", check_merge_blocks, prepare_merge});
}

}  // namespace evener
