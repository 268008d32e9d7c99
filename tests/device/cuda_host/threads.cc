// The threads of a block, as contexts that take turns at barriers.
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>
#include <ucontext.h>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr std::size_t kStack = 64 << 10;
constexpr unsigned kMostThreads = 1024;

/// One for each thread of a block, made once. _setjmp moves between them without a system call.
struct Fiber {
  std::unique_ptr<char[]> stack{new char[kStack]};
  jmp_buf at;
  bool started = false;
  bool ended = true;
};

struct Block {
  std::vector<Fiber> fibers{kMostThreads};
  jmp_buf scheduler;
  unsigned current = 0;
  const std::function<void()>* thread = nullptr;
};

Block& block() {
  static Block the_block;
  return the_block;
}

void give_way() {
  Block& b = block();
  if (_setjmp(b.fibers[b.current].at) == 0) _longjmp(b.scheduler, 1);
}

// Never returns: waits in give_way() between kernels.
void fiber_main() {
  for (;;) {
    (*block().thread)();
    block().fibers[block().current].ended = true;
    give_way();
  }
}

/// Lets a thread run up to its next barrier or its end.
void resume(unsigned index) {
  Block& b = block();
  b.current = index;
  threadIdx.x = index;
  if (_setjmp(b.scheduler) != 0) return;
  Fiber& fiber = b.fibers[index];
  if (fiber.started) _longjmp(fiber.at, 1);
  fiber.started = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, fiber_main, 0);
  setcontext(&context);
}

}  // namespace

void __syncthreads() {
  give_way();
  threadIdx.x = block().current;
}

namespace emulated {

void run_grid(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  Block& b = block();
  b.thread = &thread;
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (unsigned i = 0; i < threads; ++i) b.fibers[i].ended = false;
    // Alternates the order: a kernel that depends on the order of threads fails.
    bool backwards = blockIdx.x % 2 == 0;
    for (unsigned left = threads; left > 0; backwards = !backwards) {
      left = 0;
      unsigned ended = 0;
      for (unsigned turn = 0; turn < threads; ++turn) {
        const unsigned i = backwards ? threads - 1 - turn : turn;
        if (!b.fibers[i].ended) resume(i);
        b.fibers[i].ended ? ++ended : ++left;
      }
      if (left > 0 && ended > 0) std::abort();  // a barrier that not every thread reaches
    }
  }
}

}  // namespace emulated
