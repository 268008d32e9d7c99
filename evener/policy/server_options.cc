// The options of the parameter server's strategies.
#include <limits>

#include "evener/policy/catalogue_options.h"

namespace evener {

namespace {

using Options = std::vector<StrategyOption>;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

Options with(Options options, Options more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Options applied_at_once() {
  return with(
      bsp_options(),
      {word_option("share", {"part", "full"},
                   "a push counts for one part in the number of nodes of a step, or for a "
                   "whole one"),
       word_option("staleness-lr", {"off", "on"}, "a late push counts for less: lambda of dasp")});
}

/// What all of them have.
Options common(const std::vector<std::string>& split) {
  return {
      number_option("local-steps", "1", 1, 1e6, "k: steps of a node between pull and push"),
      number_option("server-momentum", "0", 0, 0.999,
                    "of the model's moves, beside the optimizer of the nodes (ours)"),
      word_option("compress", {"none", "fp16", "top-k"},
                  "pushes: in half precision, or only their largest numbers; what is not sent is "
                  "added to the next"),
      number_option("top-k", "0.01", 1e-6, 1, "share of a push's numbers that is sent"),
      word_option("split", split,
                  "parts of a batch: equal, or so many rows for each node that all take equally "
                  "long (ours)")};
}

}  // namespace

Options bsp_options() {
  return common({"equal", "speed"});
}

Options asp_options() {
  return applied_at_once();
}

Options ssp_options() {
  return with(applied_at_once(), {number_option("s", "3", 0, kUnbounded,
                                                "pushes that a node may be ahead of the slowest")});
}

Options dssp_options() {
  return with(
      applied_at_once(),
      {number_option("s-low", "3", 0, kUnbounded, "pushes that any node may be ahead"),
       number_option("s-high", "15", 0, kUnbounded, "pushes that no node is ever ahead (ours)"),
       number_option("r-max", "12", 0, 1000, "turns more that the fastest may get at once")});
}

Options dasp_options() {
  return with(
      common({"speed", "equal"}),
      {number_option("beta", "0.75", 0, kUnbounded,
                     "a push waits for all others at most this share of a cycle, for fewer in "
                     "proportion less; inf: bsp, 0: asp (ours)"),
       number_option("tau-max", "auto", 1, kUnbounded,
                     "a push that missed more updates is refused and its node pulls afresh; auto: "
                     "2 x nodes (ours)"),
       number_option("s-clock", "inf", 0, kUnbounded,
                     "pushes that a node may be ahead of the slowest (ours)")});
}

}  // namespace evener
