// Memory, streams and events of the emulated cards.
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include <cuda_runtime_api.h>
#include <sys/mman.h>

struct EmulatedStream {
  int card = 0;
  std::deque<std::function<void()>> work;
};
/// Completes when the stream has done the work that precedes it.
struct EmulatedEvent {
  EmulatedStream* stream = nullptr;
  bool happened = true;
};

namespace {

constexpr std::size_t kMemory = std::size_t{1} << 30;
constexpr int kCards = 2;
thread_local int chosen = 0;

bool is_card(int card) {
  return card >= 0 && card < kCards;
}

std::recursive_mutex& everything() {
  static std::recursive_mutex mutex;
  return mutex;
}
std::set<EmulatedStream*>& streams() {
  static std::set<EmulatedStream*> all;
  return all;
}

struct Pages {
  void* pages;
  std::size_t bytes;
};
std::map<void*, Pages>& pieces() {
  static std::map<void*, Pages> all;
  return all;
}

void drain(EmulatedStream& stream) {
  while (!stream.work.empty()) {
    const auto work = std::move(stream.work.front());
    stream.work.pop_front();
    work();
  }
}

void run_until(EmulatedEvent& event) {
  while (!event.happened && event.stream != nullptr && !event.stream->work.empty()) {
    const auto work = std::move(event.stream->work.front());
    event.stream->work.pop_front();
    work();
  }
}

}  // namespace

namespace emulated {

void enqueue(cudaStream_t stream, std::function<void()> work) {
  const std::lock_guard lock(everything());
  stream->work.push_back(std::move(work));
}

bool is_chosen(cudaStream_t stream) {
  return stream->card == chosen;
}

}  // namespace emulated

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? "invalid argument" : "an error";
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kCards;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int card) {
  if (!is_card(card)) return cudaErrorInvalidValue;
  std::strcpy(properties->name, "emulated card");
  properties->major = 8;
  properties->minor = 0;
  properties->totalGlobalMem = kMemory;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int card) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 8 : 0;
  return is_card(card) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaSetDevice(int card) {
  if (!is_card(card)) return cudaErrorInvalidValue;
  chosen = card;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* all) {
  *available = *all = kMemory;
  return cudaSuccess;
}

// Each piece of memory ends before a protected page, so that reading or writing
// beyond it stops the program; freed memory is protected too. New memory reads as NaN, to detect
// values that were never written.
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  constexpr std::size_t kPage = 4096, kAligned = 16;
  if (bytes > kMemory) return cudaErrorMemoryAllocation;
  const std::size_t used = (bytes + kAligned - 1) / kAligned * kAligned;
  const std::size_t readable = (used + kPage - 1) / kPage * kPage;
  void* pages = mmap(nullptr, readable + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  mprotect(pages, readable, PROT_READ | PROT_WRITE);
  std::memset(pages, 0xFF, readable);
  *memory = static_cast<char*>(pages) + readable - used;
  const std::lock_guard lock(everything());
  pieces()[*memory] = {pages, readable + kPage};
  return cudaSuccess;
}
// As on a card, everything in progress ends first.
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(everything());
  for (EmulatedStream* stream : streams()) drain(*stream);
  const auto piece = pieces().find(memory);
  if (piece == pieces().end()) return cudaErrorInvalidValue;
  munmap(piece->second.pages, piece->second.bytes);
  pieces().erase(piece);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  emulated::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  emulated::enqueue(stream, [=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  const std::lock_guard lock(everything());
  *stream = new EmulatedStream{chosen, {}};
  streams().insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(everything());
  drain(*stream);
  streams().erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(everything());
  drain(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  emulated::enqueue(stream, [event] { run_until(*event); });
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = new EmulatedEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->stream = stream;
  event->happened = false;
  emulated::enqueue(stream, [event] { event->happened = true; });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(everything());
  run_until(*event);
  return cudaSuccess;
}
