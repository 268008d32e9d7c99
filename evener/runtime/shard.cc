#include "evener/runtime/shard.h"

namespace evener {

namespace {

/// The start of each part, and the end of the last one.
std::size_t cut(std::size_t things, std::size_t parts, std::size_t part) {
  return things / parts * part + std::min(part, things % parts);
}

}  // namespace

std::vector<Shard> shards_of(const Network& network, std::size_t count) {
  const Layout layout = layout_of(network);
  const Blocks all = blocks_of(network, layout, {});
  const std::size_t rows = sparse_rows(network);
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < count; ++i) {
    Shard shard;
    shard.row = cut(rows, count, i);
    shard.rows = cut(rows, count, i + 1) - shard.row;
    shard.width = all.width;
    shard.dense = all.dense + cut(layout.size - all.dense, count, i);
    shard.floats = all.dense + cut(layout.size - all.dense, count, i + 1) - shard.dense;
    shards.push_back(shard);
  }
  return shards;
}

Shard whole_shard(const Network& network) {
  return shards_of(network, 1).front();
}

}  // namespace evener
