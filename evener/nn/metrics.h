// Quality of predictions: P@k, nDCG@k, PSP@k, AUC, log-loss, accuracy.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "evener/data/dataset.h"
#include "evener/nn/predictions.h"

namespace evener {

/// Inverse propensities of labels (Jain et al. 2016) from the training set's label counts:
/// 1 + C (n_l + B)^-A with C = (ln N - 1)(B + 1)^A.
std::vector<float> inverse_propensities(const Dataset& train, double a = 0.55, double b = 1.5);

/// Name -> value, in [0, 1] but for "loss". Always: "loss" (mean), "p@1", "p@3", "p@5", "ndcg@1",
/// "ndcg@3", "ndcg@5" for each k <= predictions.k; "psp@k" where propensities are given; "accuracy"
/// where every row has exactly one label; "auc" where there are two labels, one a row, and both
/// scores are among the predictions. Rows without labels count for P@k as zero, as the usual
/// evaluation scripts do.
using Metrics = std::map<std::string, double>;
Metrics evaluate(const Predictions& predictions, const CsrView& truth, std::uint32_t label_count,
                 std::span<const float> inverse_propensity = {});

/// True if a larger value of this metric is better.
bool larger_is_better(const std::string& metric);

}  // namespace evener
