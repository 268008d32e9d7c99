#include "evener/core/buffer.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include "evener/core/error.h"

namespace evener {

// Straight from mmap: zeroed on first touch by the thread that uses it, and returned to the system
// when freed.
FloatBuffer::FloatBuffer(std::size_t size) : size_(size) {
  if (size == 0) return;
  void* memory = mmap(nullptr, size * sizeof(float), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error("cannot allocate " + std::to_string(size * sizeof(float) >> 20) +
                " MiB: " + std::strerror(errno));
  }
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (size * sizeof(float) >= kHugePage) madvise(memory, size * sizeof(float), MADV_HUGEPAGE);
  data_ = static_cast<float*>(memory);
}

FloatBuffer::~FloatBuffer() {
  if (data_ != nullptr && owned_) munmap(data_, size_ * sizeof(float));
}

}  // namespace evener
