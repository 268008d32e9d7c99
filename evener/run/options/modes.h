// The modes of the commands: the same option can apply in one mode and not in another.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace evener {

/// The commands whose options are in the table.
enum class Command { train, simulate, compare, profile, coordinator, worker, server, status };

/// The modes of these commands.
enum class Mode {
  train,             // on the devices of this machine
  train_nodes,       // with --nodes: worker processes on this machine
  train_peers,       // with --peers: one of several gossiping processes
  train_mpi_gossip,  // with --transport mpi and a strategy of gossiping peers
  train_mpi_server,  // with --transport mpi and a strategy of a parameter server
  simulate,
  compare,
  compare_virtual,  // with --virtual: in virtual time
  compare_nodes,    // with --nodes
  profile,
  coordinator,
  worker,        // connects to a coordinator
  worker_peers,  // with --peers
  server,
  status,
};
inline constexpr int kModes = static_cast<int>(Mode::status) + 1;

class ModeSet {
 public:
  constexpr ModeSet() = default;
  constexpr ModeSet(Mode mode) : bits_(bit(mode)) {}  // NOLINT: a mode is a set of one
  constexpr ModeSet(std::initializer_list<Mode> modes) {
    for (const Mode mode : modes) bits_ |= bit(mode);
  }
  constexpr bool contains(Mode mode) const { return (bits_ & bit(mode)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr ModeSet operator|(ModeSet other) const { return ModeSet(bits_ | other.bits_); }
  constexpr ModeSet operator&(ModeSet other) const { return ModeSet(bits_ & other.bits_); }
  constexpr ModeSet without(ModeSet other) const { return ModeSet(bits_ & ~other.bits_); }

 private:
  explicit constexpr ModeSet(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(Mode mode) { return 1U << static_cast<unsigned>(mode); }
  std::uint32_t bits_ = 0;
};

inline constexpr ModeSet kMpiModes{Mode::train_mpi_gossip, Mode::train_mpi_server};
inline constexpr ModeSet kTrainModes =
    ModeSet{Mode::train, Mode::train_nodes, Mode::train_peers} | kMpiModes;
inline constexpr ModeSet kCompareModes{Mode::compare, Mode::compare_virtual, Mode::compare_nodes};
inline constexpr ModeSet kWorkerModes{Mode::worker, Mode::worker_peers};
/// Modes that take the options of data, model and training.
inline constexpr ModeSet kTrainingModes =
    kTrainModes | kCompareModes | ModeSet{Mode::simulate, Mode::profile, Mode::coordinator};

/// All modes, in the order of the enumeration.
std::vector<Mode> all_modes();
Command command_of(Mode mode);
ModeSet modes_of(Command command);
/// "train".
std::string command_name(Command command);
/// The option that selects the mode, such as "--peers"; empty for a command's usual mode.
std::string selector_of(Mode mode);
/// "train --peers".
std::string mode_name(Mode mode);

struct TrainOptions;
/// The mode that the options select. UsageError if they select two.
Mode mode_of(Command command, const TrainOptions& options);

}  // namespace evener
