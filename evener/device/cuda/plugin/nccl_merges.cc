// For builds with NCCL: one all-reduce over the cards.
#include <cassert>
#include <vector>

#include <fmt/format.h>
#include <nccl.h>

#include "evener/device/cuda/plugin/calls.h"
#include "evener/device/cuda/plugin/kernels.h"
#include "evener/device/cuda/plugin/merges.h"
#include "evener/device/device.h"

namespace evener::cuda {

namespace {

void check_nccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  throw DeviceError(
      fmt::format("{}: {} ({})", call, ncclGetErrorString(status), static_cast<int>(status)));
}

class NcclMerges final : public Merges {
 public:
  explicit NcclMerges(std::span<const int> cards)
      : cards_(cards.begin(), cards.end()), communicators_(cards.size()) {
    check_nccl(
        ncclCommInitAll(communicators_.data(), static_cast<int>(cards_.size()), cards_.data()),
        "ncclCommInitAll");
  }
  NcclMerges(const NcclMerges&) = delete;
  NcclMerges& operator=(const NcclMerges&) = delete;
  ~NcclMerges() override {
    for (ncclComm_t communicator : communicators_) ncclCommDestroy(communicator);
  }

  void merge(std::span<const Member> members, std::size_t size) override {
    assert(members.size() == cards_.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      check(cudaSetDevice(cards_[i]), "cudaSetDevice");
      scale(members[i].stream, members[i].vector, size, members[i].weight);
    }
    // One thread makes the calls for all cards, so they must form a group.
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t worst = ncclSuccess;
    for (std::size_t i = 0; i < members.size() && worst == ncclSuccess; ++i) {
      worst = ncclAllReduce(members[i].vector, members[i].vector, size, ncclFloat, ncclSum,
                            communicators_[i], members[i].stream);
    }
    const ncclResult_t ended = ncclGroupEnd();  // even after a failure, or the thread stays in it
    check_nccl(worst, "ncclAllReduce");
    check_nccl(ended, "ncclGroupEnd");
  }

 private:
  std::vector<int> cards_;
  std::vector<ncclComm_t> communicators_;
};

}  // namespace

std::unique_ptr<Merges> make_merges(std::span<const int> cards) {
  return std::make_unique<NcclMerges>(cards);
}

}  // namespace evener::cuda
