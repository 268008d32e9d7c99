// Preloaded before the C library. The N-th thread that the C++ library starts fails to start, as if
// a limit of the system was reached: N is EVENER_TEST_FAULT. Threads that other libraries start
// themselves do not count. The number of such threads is written to EVENER_TEST_FAULT_COUNT when
// the process ends.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>

namespace {

std::atomic<long> g_threads{0};

bool is_of_cpp_library(const void* caller) {
  Dl_info library{};
  return dladdr(caller, &library) != 0 && library.dli_fname != nullptr &&
         std::strstr(library.dli_fname, "libstdc++") != nullptr;
}

bool fails() {
  const char* number = std::getenv("EVENER_TEST_FAULT");
  return ++g_threads == (number != nullptr ? std::atol(number) : 0);
}

struct WriteCount {
  ~WriteCount() {
    const char* path = std::getenv("EVENER_TEST_FAULT_COUNT");
    std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) return;
    std::fprintf(file, "%ld\n", g_threads.load());
    std::fclose(file);
  }
} g_write_count;

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const next = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (is_of_cpp_library(__builtin_return_address(0)) && fails()) return EAGAIN;
  return next(thread, attributes, start, argument);
}
