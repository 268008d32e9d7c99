// The shortlist head of a model: what finds candidates, the weights of the wide part, and how the
// parts are blended. The network part is the model's parameter vector, a network with a listed
// output (nn/network.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "evener/device/device.h"
#include "evener/nn/network.h"
#include "evener/retrieval/retriever.h"
#include "evener/retrieval/wide_weights.h"

namespace evener {

/// score = margin + wide_share w . x + network_share v . relu(U x + b). In training, where both
/// parts learn what the margin lacks, they have no shares.
struct ShortlistHead {
  std::unique_ptr<const Retriever> retriever;
  WideWeights wide;
  float wide_share = 0.9F;
  float network_share = 0.3F;

  explicit ShortlistHead(std::unique_ptr<const Retriever> fitted) : retriever(std::move(fitted)) {}
};

/// The candidates of rows that are predicted again and again while the network part is trained.
/// About 8 bytes for each candidate of a row.
struct KeptCandidates {
  struct Row {
    bool found = false;
    std::vector<std::uint32_t> labels;
    std::vector<float> scores;  // margin + wide_share w . x
  };
  const Dataset* data = nullptr;  // whose rows they are
  std::vector<Row> rows;
};

/// Predicts rows without candidates: finds them on `threads` threads, and passes them to `network`,
/// a replica of the network part. step() is an error; vectors are those of `network`. `kept`, if
/// given, keeps the candidates of its data set. All of them must outlive the replica.
std::unique_ptr<Replica> make_shortlist_replica(Replica& network, const ShortlistHead& head,
                                                int threads, KeptCandidates* kept = nullptr);

}  // namespace evener
