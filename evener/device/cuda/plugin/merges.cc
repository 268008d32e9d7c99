#include "evener/device/cuda/plugin/merges.h"

#include <cassert>
#include <vector>

#include <fmt/format.h>
#include <nccl.h>

#include "evener/device/cuda/plugin/calls.h"
#include "evener/device/cuda/plugin/kernels.h"
#include "evener/device/device.h"

namespace evener::cuda {

namespace {

void check_nccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  throw DeviceError(
      fmt::format("{}: {} ({})", call, ncclGetErrorString(status), static_cast<int>(status)));
}

}  // namespace

struct Merges::State {
  std::vector<int> cards;
  std::vector<ncclComm_t> communicators;
};

Merges::Merges(std::span<const int> cards) : state_(std::make_unique<State>()) {
  state_->cards.assign(cards.begin(), cards.end());
  state_->communicators.resize(cards.size());
  check_nccl(ncclCommInitAll(state_->communicators.data(), static_cast<int>(cards.size()),
                             state_->cards.data()),
             "ncclCommInitAll");
}

Merges::~Merges() {
  for (ncclComm_t communicator : state_->communicators) ncclCommDestroy(communicator);
}

void Merges::merge(std::span<const Member> members, std::size_t size) {
  assert(members.size() == state_->cards.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    check(cudaSetDevice(state_->cards[i]), "cudaSetDevice");
    scale(members[i].stream, members[i].vector, size, members[i].weight);
  }
  // One thread speaks for all cards, so their calls must be one group.
  check_nccl(ncclGroupStart(), "ncclGroupStart");
  ncclResult_t worst = ncclSuccess;
  for (std::size_t i = 0; i < members.size() && worst == ncclSuccess; ++i) {
    worst = ncclAllReduce(members[i].vector, members[i].vector, size, ncclFloat, ncclSum,
                          state_->communicators[i], members[i].stream);
  }
  const ncclResult_t ended = ncclGroupEnd();  // even after a failure, or the thread stays in it
  check_nccl(worst, "ncclAllReduce");
  check_nccl(ended, "ncclGroupEnd");
}

}  // namespace evener::cuda
