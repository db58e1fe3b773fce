// Kernels that misbehave on purpose: what block.h promises to catch, so that a test can see it caught.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "host/interface.h"
#include "platform.cuh"

namespace {

constexpr unsigned kThreads = 64;

// 0: one thread leaves before the barrier.
void exits_before_barrier(const void*) {
  if (threadIdx.x == 5) return;
  __syncthreads();
}

// 1: threads wait at two different barriers.
void waits_at_two_barriers(const void*) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

// 2: half a warp shuffles.
void shuffles_with_half_a_warp(const void*) {
  if (threadIdx.x % 32 < 16) (void)__shfl_up_sync(~0u, 1.0f, 1);
}

// 3: one warp waits at the barrier, the other in a shuffle that one of its lanes skips.
void barrier_against_shuffle(const void*) {
  if (threadIdx.x != 40) (void)__shfl_up_sync(~0u, 1.0f, 1);
  __syncthreads();
}

// 4: deep recursion. Stops just past the canary, into the memory of the next lower stack.
__attribute__((noinline)) int deep(volatile char* above, int depth) {
  volatile char frame[512];
  for (volatile char& byte : frame) byte = static_cast<char>(depth + above[0]);
  const int below = depth > 0 ? deep(frame, depth - 1) : 0;
  return below + frame[0] + frame[511];
}
void overflows_its_stack(const void*) {
  volatile char seed[1] = {1};
  if (threadIdx.x == 1) (void)deep(seed, 70);
  __syncthreads();
}

// 5: reads shared memory that nobody has written, and says what it got.
void reads_unwritten_shared(const void* params) {
  HOLDFAST_DYNAMIC_SHARED(float, values);
  HOLDFAST_SHARED(float, one);
  if (threadIdx.x == 0) **static_cast<float* const*>(params) = values[3] + one;
}

// 6: shuffles and barriers as they should be: the sum over the block, by every thread.
void sums(const void* params) {
  HOLDFAST_DYNAMIC_SHARED(float, partial);
  float x = static_cast<float>(threadIdx.x);
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_down_sync(~0u, x, distance);
    if (static_cast<int>(threadIdx.x % 32) + distance < 32) x += other;
  }
  x = __shfl_sync(~0u, x, 0);
  __syncwarp();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) **static_cast<float* const*>(params) = partial[0] + partial[1];
}

// What ends the process, or never ends, in the order of `Crash` in src/kernel/cpu/crash.rs: each by its thread 3 alone.
using Wide = float __attribute__((vector_size(16)));

void store_at(std::uintptr_t address) {
  // The compiler would warn of an address that it knows.
  volatile std::uintptr_t nowhere = address;
  *reinterpret_cast<volatile float*>(nowhere) = 1.0f;
}

void stores_near_null() { store_at(16); }

void stores_far_away() { store_at(0x0ead00000000); }

void loads_unaligned() {
  alignas(16) char row[32] = {};
  char* volatile at = row + 4;
  (void)*reinterpret_cast<const volatile Wide*>(at);
}

__attribute__((noinline)) int bottomless(volatile char* above) {
  volatile char frame[512];
  for (volatile char& byte : frame) byte = above[0];
  return (above[0] != 0 ? bottomless(frame) : 0) + frame[511];
}
void recurses_forever() {
  volatile char seed[1] = {1};
  (void)bottomless(seed);
}

void divides_by_zero() {
  volatile int zero = 0;
  volatile int one = 1;
  one = one / zero;
}

void traps() { __builtin_trap(); }

void aborts() { std::abort(); }

void frees_twice() {
  void* volatile memory = std::malloc(24);
  std::free(memory);
  std::free(memory);
}

void exits() { _exit(3); }

void never_ends() {
  for (volatile int i = 0;; i = i + 1) {
  }
}

constexpr void (*kCrashes[])() = {
    stores_near_null, stores_far_away, loads_unaligned, recurses_forever, divides_by_zero,
    traps,            aborts,          frees_twice,     exits,            never_ends,
};

void crashes(const void* crash) {
  if (threadIdx.x == 3) (*static_cast<void (*const*)()>(crash))();
  __syncthreads();
}

constexpr holdfast_host::Entry kKernels[] = {
    exits_before_barrier,    waits_at_two_barriers, shuffles_with_half_a_warp, barrier_against_shuffle,
    overflows_its_stack,     reads_unwritten_shared, sums,
};

}  // namespace

extern "C" int holdfast_misbehave(int which, char* message, std::size_t capacity) {
  if (which < 0 || which >= static_cast<int>(sizeof kKernels / sizeof kKernels[0])) {
    std::snprintf(message, capacity, "no such kernel");
    return 2;
  }
  float result = 0.0f;
  float* to = &result;
  if (!holdfast_host::run_block(kKernels[which], &to, 0, kThreads, 256, message, capacity)) return 1;
  std::snprintf(message, capacity, "%g", static_cast<double>(result));
  return 0;
}

extern "C" int holdfast_crash(int which, unsigned block, char* message, std::size_t capacity) {
  if (which < 0 || which >= static_cast<int>(sizeof kCrashes / sizeof kCrashes[0])) {
    std::snprintf(message, capacity, "no such kernel");
    return 2;
  }
  return holdfast_host::run_block(crashes, &kCrashes[which], block, kThreads, 0, message, capacity) ? 0 : 1;
}
