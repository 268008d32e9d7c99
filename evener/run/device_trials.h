// Which devices train under --strategy auto. Several devices must not do harm: neither a worse
// model than one of them alone, nor a later one. So they make the very updates that one would make
// (sync), and they do it only where that is measured to be faster. Before the run, on a model that
// is thrown away:
//   each alone        one step of a twentieth of a batch, and the fastest a few whole ones: whoever
//                     takes longer for the small one than the fastest for a whole one is left out
//   all others        a few rounds of sync, parts by speed; then without the slowest, and so on
//                     while that is faster
//   alone             a few steps of those that are near the fastest
// Averaged replicas (adaptive-sgd) train more rows a second, but learn less from each, and with the
// default recipe end with a worse model (docs/results.md).
#pragma once

#include <string>
#include <vector>

#include "evener/core/buffer.h"
#include "evener/runtime/engine.h"

namespace evener {

struct DeviceChoice {
  std::vector<std::size_t> devices;  // of the setup's, ascending
  std::string strategy;
  std::vector<std::string> notes;  // what was measured and decided, for people
  Seconds seconds = 0;             // that it took; virtual if the setup is
};

/// What several devices train by where they are worth it.
inline constexpr const char* kTogether = "sync:split=speed";

/// `setup` has several devices and what is to be trained; trials begin from these parameters.
DeviceChoice choose_devices(const EngineSetup& setup, const FloatBuffer& parameters);

/// The setup with these of its devices alone.
EngineSetup with_only(EngineSetup setup, const std::vector<std::size_t>& devices,
                      const std::string& strategy);

}  // namespace evener
