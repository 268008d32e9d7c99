#include "evener/policy/gossip_rule.h"

#include "evener/core/error.h"

namespace evener {

std::vector<StrategyOption> exchange_options() {
  const std::vector<StrategyOption> options{
      word_option(
          "peer-choice", {"uniform", "ring", "shift-one", "speed-aware"},
          "which peer a node chooses: any at random, its two neighbours in turns, all others in "
          "turns, of two at random the one that answers sooner (ours)"),
      word_option("merge", {"pair", "pushsum"},
                  "both become their mean; or half is given away, which needs one message"),
      number_option("overlap", "4", 0, kUnbounded,
                    "steps that a node trains on while its offer is on its way (ours); then it "
                    "waits for the answer. 0: the classic form; inf: it never waits"),
      word_option("rows", {"all", "changed"},
                  "of the weights of features and of labels: all rows travel, or those that have "
                  "changed by more than eps-rows (ours)"),
      number_option("eps-rows", "0.2", 0, kUnbounded,
                    "share of its length that a row must have changed by (ours)")};
  return join_options(
      options, compression_options("numbers travel whole, in half precision, or only those that "
                                   "have changed most (ours); what does not travel stays where it "
                                   "is",
                                   "share of the numbers that travels"));
}

GossipRule exchange_rule(const StrategyValues& values) {
  GossipRule rule;
  const std::string& peers = values.word("peer-choice");
  rule.peers = peers == "ring"          ? PeerChoice::ring
               : peers == "shift-one"   ? PeerChoice::shift
               : peers == "speed-aware" ? PeerChoice::fast
                                        : PeerChoice::uniform;
  rule.overlap = values.number("overlap");
  rule.push_sum = values.is("merge", "pushsum");
  rule.changed_rows = values.is("rows", "changed");
  rule.eps_rows = values.number("eps-rows");
  rule.compression = compression_from(values);
  const bool picks = rule.compression.kind == Compression::Kind::top_k;
  if (rule.push_sum && (rule.changed_rows || picks)) {
    throw UsageError(
        "merge=pushsum gives away a share of the whole model: it needs rows=all, and compress=none "
        "or fp16");
  }
  return rule;
}

}  // namespace evener
