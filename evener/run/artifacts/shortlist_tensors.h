// The shortlist head of a model as tensors of its file, and back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evener/nn/network.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/artifacts/model_file.h"

namespace evener {

/// The key of its sizes and shares (JSON) in the metadata of a model file. A file without it is of
/// the full head.
inline constexpr const char* kShortlistKey = "evener.shortlist";

/// Adds tensors "shortlist.*" that refer to `head`, which must outlive them, and the metadata.
void add_shortlist(const ShortlistHead& head, std::vector<TensorView>& tensors,
                   std::map<std::string, std::string>& metadata);

/// Null if the file has none. Error, with the name of the tensor, if an index is out of bounds or a
/// number is not finite.
std::shared_ptr<ShortlistHead> read_shortlist(const TensorFile& file, const Network& network);

}  // namespace evener
