// The options of strategies without a server.
#include <limits>

#include "evener/policy/catalogue_options.h"

namespace evener {

namespace {

using Options = std::vector<StrategyOption>;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

Options exchange_options() {
  return {word_option("peer-choice", {"uniform", "ring", "shift-one", "speed-aware"},
                      "whom a node chooses: any at random, its two neighbours in turns, all others "
                      "in turns, of two at random the one that answers sooner (ours)"),
          word_option("merge", {"pair", "pushsum"},
                      "both become their mean; or half is given away, which needs one message"),
          number_option("overlap", "4", 0, kUnbounded,
                        "steps that a node trains on while its offer is on its way (ours); then it "
                        "waits for the answer. 0: the classic form; inf: it never waits"),
          word_option("rows", {"all", "changed"},
                      "of the weights of features and of labels: all rows travel, or those that "
                      "have changed by more than eps-rows (ours)"),
          number_option("eps-rows", "0.2", 0, kUnbounded,
                        "share of its length that a row must have changed by (ours)"),
          word_option("compress", {"none", "fp16", "top-k"},
                      "numbers travel whole, in half precision, or only those that have changed "
                      "most (ours); what does not travel stays where it is"),
          number_option("top-k", "0.01", 1e-6, 1, "share of the numbers that travels")};
}

Options with_exchange(Options options) {
  const Options more = exchange_options();
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

Options local_sgd_options() {
  return {number_option("period", "8", 1, kMostRows, "k: steps between two averagings"),
          number_option("outer-momentum", "0", 0, 0.999, "of the mean's moves")};
}

Options gossip_options() {
  return with_exchange({number_option("period", "1", 1, kMostRows, "p: steps between exchanges")});
}

Options adaptive_gossip_options() {
  return with_exchange({number_option("eps", "0.08", 0, kUnbounded,
                                      "share of its length that a model must have changed by"),
                        number_option("k-min", "1", 1, kMostRows, "least steps between exchanges"),
                        number_option("k-max", "50", 1, kUnbounded, "most steps between exchanges"),
                        number_option("warmup", "30", 0, kMostRows,
                                      "first steps, after each of which it exchanges")});
}

}  // namespace evener
