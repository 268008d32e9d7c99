#include "evener/core/mapping_guard.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evener/core/error.h"

namespace evener {

namespace {

using Address = std::uintptr_t;

struct GuardedRange {
  std::atomic<Address> begin{0}, end{0};  // end 0: the slot is free
  std::atomic<bool> cut{false};
  std::string path;  // not for the handler
  std::size_t size = 0;
};

constexpr std::size_t kRanges = 1024;

std::array<GuardedRange, kRanges> g_ranges;
std::mutex g_mutex;  // for changes of the table, not for the handler
std::atomic<bool> g_any_cut{false};
std::atomic<Address> g_page{4096};
struct sigaction g_previous {};
static_assert(std::atomic<Address>::is_always_lock_free, "used in a signal handler");

bool contains(const GuardedRange& range, Address address) {
  const Address end = range.end.load();
  const Address begin = range.begin.load();
  // The same end twice: no other thread was changing the slot between the two reads.
  return address >= begin && address < end && range.end.load() == end;
}

// Only async-signal-safe calls. Everything from the missing page on is replaced at once: a file is
// cut at its end, and single pages could exceed the number of mappings that a process may have.
// Other threads may be reading the pages. The thread sanitizer would take the call of mmap() for a
// write to them, so it is made without the C library.
extern "C" void on_missing_page(int signal, siginfo_t* info, void*) {
  const int before = errno;
  const auto address = reinterpret_cast<Address>(info->si_addr);
  const bool is_fault = info->si_code > 0;  // not sent by a process
  for (GuardedRange& range : g_ranges) {
    if (!is_fault || !contains(range, address)) continue;
    const Address page = address / g_page.load() * g_page.load();
    range.cut.store(true);
    g_any_cut.store(true);
    void* const at = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr)
    const bool mapped = syscall(SYS_mmap, at, range.end.load() - page, PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != -1;
    errno = before;
    if (mapped) return;
    break;
  }
  // The same instruction fails again when this returns, and is then handled as without Evener.
  sigaction(SIGBUS, &g_previous, nullptr);
  if (!is_fault) raise(signal);
  errno = before;
}

void install_handler() {
  g_page.store(static_cast<Address>(sysconf(_SC_PAGESIZE)));
  struct sigaction action {};
  action.sa_sigaction = on_missing_page;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &g_previous);
}

[[noreturn]] void report_cut(const GuardedRange& range) {
  struct stat status {};
  // Pages are also missing if the disk or the network file system cannot read them.
  const bool truncated = stat(range.path.c_str(), &status) != 0 ||
                         static_cast<std::size_t>(status.st_size) < range.size;
  throw Error(range.path + (truncated ? ": was truncated while it was read"
                                      : ": a part of it could not be read"));
}

GuardedRange* range_of(const void* address) {
  for (GuardedRange& range : g_ranges) {
    if (contains(range, reinterpret_cast<Address>(address))) return &range;
  }
  return nullptr;
}

}  // namespace

MappingGuard::MappingGuard(const void* begin, std::size_t size, std::string path) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const std::lock_guard lock(g_mutex);
  for (std::size_t i = 0; i < kRanges; ++i) {
    GuardedRange& range = g_ranges[i];
    if (range.end.load() != 0) continue;
    range.path = std::move(path);
    range.size = size;
    range.cut.store(false);
    range.begin.store(reinterpret_cast<Address>(begin));
    range.end.store(reinterpret_cast<Address>(begin) + size);
    slot_ = static_cast<int>(i);
    return;
  }
  throw Error(path + ": cannot map: more than " + std::to_string(kRanges) + " files are mapped");
}

MappingGuard::MappingGuard(MappingGuard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

MappingGuard& MappingGuard::operator=(MappingGuard&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

MappingGuard::~MappingGuard() {
  if (slot_ < 0) return;
  const std::lock_guard lock(g_mutex);
  g_ranges[static_cast<std::size_t>(slot_)].end.store(0);
}

void MappingGuard::check() const {
  if (slot_ < 0 || !g_any_cut.load()) return;
  const std::lock_guard lock(g_mutex);
  const GuardedRange& range = g_ranges[static_cast<std::size_t>(slot_)];
  if (range.cut.load()) report_cut(range);
}

void check_mapping(const void* address) {
  if (!g_any_cut.load()) return;
  const std::lock_guard lock(g_mutex);
  const GuardedRange* range = range_of(address);
  if (range != nullptr && range->cut.load()) report_cut(*range);
}

bool is_mapping_intact(const void* address) {
  if (!g_any_cut.load()) return true;
  const std::lock_guard lock(g_mutex);
  const GuardedRange* range = range_of(address);
  return range == nullptr || !range->cut.load();
}

}  // namespace evener
