// The records of a resumed run: metrics.jsonl must not hold what the run is about to write again.
#pragma once

#include <string>

#include "evener/run/artifacts/checkpoint.h"

namespace evener {

/// Removes the records that were written after the checkpoint with this progress, and a torn last
/// line. Without it, a run that was killed between two checkpoints would have every record between
/// the checkpoint and the kill twice. Records of kind "end" at this step go too, because the run
/// has not ended. Throws Error if the file cannot be read or replaced; the old file then stays.
void drop_later_records(const std::string& path, const Progress& progress);

}  // namespace evener
