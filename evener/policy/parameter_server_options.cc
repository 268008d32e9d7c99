// The options that the parameter server's strategies share.
#include <utility>

#include "evener/policy/asynchronous_server.h"

namespace evener {

std::vector<StrategyOption> parameter_server_options(std::vector<std::string> split) {
  std::vector<StrategyOption> options{
      number_option("local-steps", "1", 1, 1e6, "k: steps of a node between pull and push"),
      number_option("server-momentum", "0", 0, 0.999,
                    "of the model's moves, beside the optimizer of the nodes (ours)")};
  options = join_options(std::move(options),
                         compression_options("pushes: in half precision, or only their largest "
                                             "numbers; what is not sent is added to the next",
                                             "share of a push's numbers that is sent"));
  options.push_back(word_option("split", std::move(split),
                                "parts of a batch: equal, or so many rows for each node that all "
                                "take equally long (ours)"));
  return options;
}

std::vector<StrategyOption> asynchronous_server_options() {
  return join_options(
      parameter_server_options({"equal", "speed"}),
      {word_option("share", {"part", "full"},
                   "a push counts for one part in the number of nodes of a step, or for a whole "
                   "one"),
       word_option("staleness-lr", {"off", "on"}, "a late push counts for less: lambda of dasp")});
}

}  // namespace evener
