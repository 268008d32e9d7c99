// Sums over emulated cards.
#include <memory>
#include <set>
#include <vector>

#include <nccl.h>

/// The cards of one ncclCommInitAll.
struct EmulatedClique {
  int count;
};
struct EmulatedCommunicator {
  std::shared_ptr<EmulatedClique> clique;
  int card;
};

namespace {

struct Call {
  const float* from;
  float* to;
  std::size_t count;
  ncclComm_t communicator;
  cudaStream_t stream;
  cudaEvent_t reached;  // the stream has come to the call
};
bool grouped = false;
std::vector<Call> group;

/// The sum of all, computed when the first of the streams comes to its call.
struct Reduction {
  std::vector<Call> calls;
  bool done = false;

  void run() {
    if (done) return;
    done = true;
    for (const Call& call : calls) cudaEventSynchronize(call.reached);
    for (std::size_t i = 0; i < calls.front().count; ++i) {
      float sum = 0;
      for (const Call& call : calls) sum += call.from[i];
      for (const Call& call : calls) call.to[i] = sum;
    }
  }
  ~Reduction() {
    for (const Call& call : calls) cudaEventDestroy(call.reached);
  }
};

}  // namespace

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidArgument ? "invalid argument" : "invalid usage";
}

ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int count, const int* cards) {
  if (count < 1 || std::set<int>(cards, cards + count).size() != static_cast<std::size_t>(count)) {
    return ncclInvalidArgument;
  }
  const auto clique = std::make_shared<EmulatedClique>(EmulatedClique{count});
  for (int i = 0; i < count; ++i) communicators[i] = new EmulatedCommunicator{clique, cards[i]};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  if (grouped) return ncclInvalidUsage;
  grouped = true;
  return ncclSuccess;
}

// Outside a group one thread that calls for several cards would wait for itself.
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (!grouped || type != ncclFloat || operation != ncclSum) return ncclInvalidUsage;
  group.push_back({static_cast<const float*>(from), static_cast<float*>(to), count, communicator,
                   stream, nullptr});
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (!grouped) return ncclInvalidUsage;
  grouped = false;
  const auto reduction = std::make_shared<Reduction>();
  reduction->calls.swap(group);
  auto& calls = reduction->calls;
  std::set<ncclComm_t> members;
  for (const Call& call : calls) {
    if (call.count != calls.front().count ||
        call.communicator->clique != calls.front().communicator->clique) {
      return ncclInvalidUsage;
    }
    members.insert(call.communicator);
  }
  if (calls.empty() ||
      members.size() != static_cast<std::size_t>(calls.front().communicator->clique->count)) {
    return ncclInvalidUsage;
  }
  for (Call& call : calls) {
    cudaEventCreateWithFlags(&call.reached, cudaEventDisableTiming);
    cudaEventRecord(call.reached, call.stream);
  }
  for (const Call& call : calls) emulated::enqueue(call.stream, [=] { reduction->run(); });
  return ncclSuccess;
}
