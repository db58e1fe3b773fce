// The scheduler of block.h.
#include "block.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "context.h"
#include "interface.h"

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOLDFAST_ASAN 1
#endif
#endif
#ifdef HOLDFAST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace holdfast_host {
namespace {

#ifdef HOLDFAST_ASAN
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 32 * 1024;
#endif
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / kLanes;
// As a GPU has it; of kernels in double, which no GPU runs, twice that.
constexpr std::size_t kStaticSharedBytes = 48 * 1024;
constexpr std::size_t kStaticSharedRoom = 2 * kStaticSharedBytes;
constexpr std::size_t kDynamicSharedBytes = 228 * 1024;
constexpr int kMaxStaticObjects = 8;
constexpr std::uint64_t kCanary = 0x5afe57ac4c0ffee5u;
// At the low end of every stack, one word per cache line: the topmost is looked at whenever a thread waits, all of them
// when it ends.
constexpr std::size_t kCanaryBytes = 1024;
constexpr std::size_t kCanaryStride = 64;

enum class State : unsigned char { kRunnable, kAtBarrier, kInShuffle, kDone };

struct Fiber {
  Context context;
  char* stack = nullptr;
  void* fake_stack = nullptr;
  State state = State::kDone;
  int line = 0;
};

struct Warp {
  Parcel given[2][kLanes];
  std::uint32_t ready;  // lanes that can run
  unsigned lanes, arrived, turn;
  int line;
};

// One OS thread's fibres. Stacks are kept from block to block.
struct Machine {
  Fiber fibers[kMaxThreads];
  Warp warps[kMaxWarps];
  Context main;
  void* main_fake_stack = nullptr;
  const void* main_stack = nullptr;
  std::size_t main_stack_bytes = 0;
  unsigned threads = 0, warp_count = 0, current = 0, done = 0, at_barrier = 0, block = 0;
  int barrier_line = 0;
  Entry entry = nullptr;
  const void* params = nullptr;
  char* message = nullptr;
  std::size_t capacity = 0;
  bool faulted = false;
  char* stacks = nullptr;
  unsigned stack_count = 0;
  char* shared = nullptr;
  int static_keys[kMaxStaticObjects];
  std::size_t static_offsets[kMaxStaticObjects];
  int static_objects = 0;
  std::size_t static_used = 0;

  ~Machine() {
    std::free(stacks);
    std::free(shared);
  }
};

// Behind a pointer: most OS threads never run a block, and a Machine is large.
struct Owner {
  Machine* machine = nullptr;
  ~Owner() { delete machine; }
};
thread_local Owner owner;
thread_local Machine* active = nullptr;

// All switches pass here, so that the sanitizer can follow; `to` is null for the scheduler's own stack.
inline void switch_to(Machine& m, Fiber* from, Fiber* to, bool from_ends) {
#ifdef HOLDFAST_ASAN
  void** save = from ? &from->fake_stack : &m.main_fake_stack;
  __sanitizer_start_switch_fiber(from_ends ? nullptr : save, to ? static_cast<const void*>(to->stack) : m.main_stack,
                                 to ? kStackBytes : m.main_stack_bytes);
#else
  (void)from_ends;
#endif
  switch_context(from ? from->context : m.main, to ? to->context : m.main);
#ifdef HOLDFAST_ASAN
  __sanitizer_finish_switch_fiber(from ? from->fake_stack : m.main_fake_stack, nullptr, nullptr);
#endif
}

const char* describe(State state) {
  switch (state) {
    case State::kAtBarrier: return "waits at the barrier of";
    case State::kInShuffle: return "waits in the shuffle of";
    case State::kDone: return "has exited after";
    default: return "runs at";
  }
}

void fail(Machine& m, const char* what) {
  if (!m.faulted && m.message != nullptr) std::snprintf(m.message, m.capacity, "block %u: %s", m.block, what);
  m.faulted = true;
  switch_to(m, &m.fibers[m.current], nullptr, true);
  std::abort();  // an abandoned fibre is never resumed
}

// No thread can run, and some wait: names one of them and one that keeps it waiting.
void fail_deadlock(Machine& m) {
  unsigned waiting = m.threads, other = m.threads;
  for (unsigned i = 0; i < m.threads && waiting == m.threads; ++i) {
    if (m.fibers[i].state != State::kDone) waiting = i;
  }
  for (unsigned i = 0; i < m.threads && other == m.threads; ++i) {
    if (m.fibers[i].state != m.fibers[waiting].state || m.fibers[i].line != m.fibers[waiting].line) other = i;
  }
  char text[256];
  const bool shuffle =
      m.fibers[waiting].state == State::kInShuffle || (other < m.threads && m.fibers[other].state == State::kInShuffle);
  int used = std::snprintf(text, sizeof text, "%s: thread %u %s line %d",
                           shuffle ? "shuffle with inactive lanes" : "barrier divergence", waiting,
                           describe(m.fibers[waiting].state), m.fibers[waiting].line);
  if (other < m.threads && used > 0) {
    std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used), ", thread %u %s line %d", other,
                  describe(m.fibers[other].state), m.fibers[other].line);
  }
  fail(m, text);
}

inline bool canary_top_intact(const Fiber& fiber) {
  std::uint64_t word;
  std::memcpy(&word, fiber.stack + kCanaryBytes - kCanaryStride, sizeof word);
  return word == kCanary;
}

bool canary_intact(const Fiber& fiber) {
  for (std::size_t at = 0; at < kCanaryBytes; at += kCanaryStride) {
    std::uint64_t word;
    std::memcpy(&word, fiber.stack + at, sizeof word);
    if (word != kCanary) return false;
  }
  return true;
}

void fail_overflow(Machine& m) {
  char text[64];
  std::snprintf(text, sizeof text, "thread %u overflowed its stack", m.current);
  fail(m, text);
}

// Gives up the processor to the next thread that can run: of its own warp, in the order of the lanes, as long as there
// is one (32 stacks fit into the nearest cache, 128 do not), then of the next warps.
void yield(Machine& m, bool ends) {
  Fiber& from = m.fibers[m.current];
  if (!(ends ? canary_intact(from) : canary_top_intact(from))) fail_overflow(m);
  const unsigned warp = m.current / kLanes;
  const unsigned lane = m.current % kLanes;
  const std::uint32_t own = m.warps[warp].ready;
  const std::uint32_t later = lane == 31 ? 0 : own & ~((std::uint32_t{2} << lane) - 1);
  for (unsigned i = 0, w = warp; i < m.warp_count; ++i, w = w + 1 == m.warp_count ? 0 : w + 1) {
    const std::uint32_t ready = i == 0 && later != 0 ? later : m.warps[w].ready;
    if (ready != 0) {
      m.current = w * kLanes + static_cast<unsigned>(__builtin_ctz(ready));
      switch_to(m, &from, &m.fibers[m.current], ends);
      return;
    }
  }
  if (m.done == m.threads) {
    switch_to(m, &from, nullptr, ends);
    return;
  }
  fail_deadlock(m);
}

inline std::uint32_t all_lanes(const Warp& warp) {
  return warp.lanes == kLanes ? ~std::uint32_t{0} : (std::uint32_t{1} << warp.lanes) - 1;
}

void fiber_main() {
  Machine& m = *active;
#ifdef HOLDFAST_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (m.main_stack == nullptr) {
    // The first fibre comes from the scheduler's stack.
    m.main_stack = bottom;
    m.main_stack_bytes = bytes;
  }
#endif
  m.entry(m.params);
  Fiber& self = m.fibers[m.current];
  self.state = State::kDone;
  m.warps[m.current / kLanes].ready &= ~(std::uint32_t{1} << (m.current % kLanes));
  ++m.done;
  yield(m, true);
  std::abort();  // a finished fibre is never resumed
}

bool prepare(Machine& m) {
  if (m.shared == nullptr) {
    m.shared = static_cast<char*>(std::aligned_alloc(128, kStaticSharedRoom + kDynamicSharedBytes));
    if (m.shared == nullptr) return false;
  }
  if (m.stack_count < m.threads) {
    std::free(m.stacks);
    m.stack_count = 0;
    m.stacks = static_cast<char*>(std::aligned_alloc(4096, m.threads * kStackBytes));
    if (m.stacks == nullptr) return false;
    m.stack_count = m.threads;
  }
  return true;
}

void start(Machine& m, unsigned i) {
  Fiber& fiber = m.fibers[i];
  fiber.stack = m.stacks + i * kStackBytes;
#ifdef HOLDFAST_ASAN
  // A fibre that ended or was abandoned has left its frames poisoned.
  __asan_unpoison_memory_region(fiber.stack, kStackBytes);
#endif
  for (std::size_t at = 0; at < kCanaryBytes; at += kCanaryStride) {
    std::memcpy(fiber.stack + at, &kCanary, sizeof kCanary);
  }
  // Equal offsets in all stacks would fall into the same few cache sets.
  const std::size_t color = i * 1088 % 4096;
  make_context(fiber.context, fiber.stack, kStackBytes - color, fiber_main);
  fiber.fake_stack = nullptr;
  fiber.state = State::kRunnable;
  fiber.line = 0;
}

}  // namespace

unsigned thread_number() { return active->current; }
unsigned block_number() { return active->block; }
unsigned block_threads() { return active->threads; }

void barrier(int line) {
  Machine& m = *active;
  Fiber& self = m.fibers[m.current];
  self.line = line;
  if (m.at_barrier == 0) m.barrier_line = line;
  if (m.barrier_line != line) {
    char text[128];
    std::snprintf(text, sizeof text, "barrier divergence: thread %u is at line %d, others at line %d", m.current, line,
                  m.barrier_line);
    fail(m, text);
  }
  if (++m.at_barrier == m.threads) {
    m.at_barrier = 0;
    for (unsigned w = 0; w < m.warp_count; ++w) m.warps[w].ready = all_lanes(m.warps[w]);
    return;
  }
  self.state = State::kAtBarrier;
  m.warps[m.current / kLanes].ready &= ~(std::uint32_t{1} << (m.current % kLanes));
  yield(m, false);
  self.state = State::kRunnable;
}

const Parcel* exchange(unsigned mask, Parcel own, int line) {
  Machine& m = *active;
  Warp& warp = m.warps[m.current / kLanes];
  const unsigned lane = m.current % kLanes;
  Fiber& self = m.fibers[m.current];
  self.line = line;
  if ((mask & all_lanes(warp)) != all_lanes(warp)) fail(m, "shuffle with a mask that leaves out lanes of the warp");
  if (warp.arrived == 0) warp.line = line;
  if (warp.line != line) {
    char text[128];
    std::snprintf(text, sizeof text, "shuffle divergence: thread %u is at line %d, its warp at line %d", m.current, line,
                  warp.line);
    fail(m, text);
  }
  // Two sets in turn: a lane cannot be two exchanges ahead of another.
  Parcel* given = warp.given[warp.turn];
  given[lane] = own;
  if (++warp.arrived == warp.lanes) {
    warp.arrived = 0;
    warp.turn ^= 1;
    warp.ready = all_lanes(warp);
    return given;
  }
  self.state = State::kInShuffle;
  warp.ready &= ~(std::uint32_t{1} << lane);
  yield(m, false);
  self.state = State::kRunnable;
  return given;
}

void warp_barrier(int line) { exchange(~0u, Parcel{}, line); }

void* dynamic_shared() { return active->shared + kStaticSharedRoom; }

void* static_shared(int key, std::size_t bytes) {
  Machine& m = *active;
  for (int i = 0; i < m.static_objects; ++i) {
    if (m.static_keys[i] == key) return m.shared + m.static_offsets[i];
  }
  const std::size_t room = holdfast_choices()->lifted ? kStaticSharedRoom : kStaticSharedBytes;
  if (m.static_objects == kMaxStaticObjects || m.static_used + bytes > room) {
    fail(m, "static shared memory is exhausted");
  }
  m.static_keys[m.static_objects] = key;
  m.static_offsets[m.static_objects] = m.static_used;
  m.static_used += (bytes + 127) / 128 * 128;
  std::memset(m.shared + m.static_offsets[m.static_objects], 0xff, bytes);
  return m.shared + m.static_offsets[m.static_objects++];
}

std::size_t describe_running(char* text, std::size_t capacity) {
  const Machine* m = active;
  if (m == nullptr) return 0;
  const char* how = canary_intact(m->fibers[m->current]) ? "" : " overflowed its stack";
  const int used = std::snprintf(text, capacity, "block %u, thread %u%s: ", m->block, m->current, how);
  return used < 0 ? 0 : static_cast<std::size_t>(used) < capacity ? static_cast<std::size_t>(used) : capacity - 1;
}

void prepare_os_thread() {
  // Its destructor is registered at the first use.
  Owner* volatile used = &owner;
  (void)used->machine;
}

bool run_block(Entry entry, const void* params, unsigned block, unsigned threads, std::size_t dynamic_bytes,
               char* message, std::size_t capacity) {
  if (threads == 0 || threads > kMaxThreads || dynamic_bytes > kDynamicSharedBytes) {
    std::snprintf(message, capacity, "launch of %u threads with %zu bytes of shared memory is out of range", threads,
                  dynamic_bytes);
    return false;
  }
  if (owner.machine == nullptr) owner.machine = new (std::nothrow) Machine;
  if (owner.machine != nullptr) owner.machine->threads = threads;
  if (owner.machine == nullptr || !prepare(*owner.machine)) {
    std::snprintf(message, capacity, "out of memory for the stacks of %u threads", threads);
    return false;
  }
  Machine& m = *owner.machine;
  m.warp_count = (threads + kLanes - 1) / kLanes;
  m.block = block;
  m.entry = entry;
  m.params = params;
  m.message = message;
  m.capacity = capacity;
  m.current = m.done = m.at_barrier = 0;
  m.static_objects = 0;
  m.static_used = 0;
  m.faulted = false;
  m.main_stack = nullptr;
  // All bits set is a NaN in every floating type: memory that is read before it is written shows.
  // (Static shared memory is filled where it is handed out.)
  std::memset(m.shared + kStaticSharedRoom, 0xff, dynamic_bytes);
  for (unsigned w = 0; w < m.warp_count; ++w) {
    Warp& warp = m.warps[w];
    warp.lanes = threads - w * kLanes < kLanes ? threads - w * kLanes : kLanes;
    warp.arrived = warp.turn = 0;
    warp.ready = all_lanes(warp);
  }
  for (unsigned i = 0; i < threads; ++i) start(m, i);
  active = &m;
  switch_to(m, nullptr, &m.fibers[0], false);
  active = nullptr;
  return !m.faulted;
}

}  // namespace holdfast_host
