// A block of GPU threads on a CPU: one fibre per thread, run in a fixed order by one OS thread.
//
// A thread runs until it waits: at a barrier for its block, in a shuffle for its warp. The next thread that can run
// is then resumed, in a fixed order (lanes of the same warp first), so that a block's result never depends on timing. Where no
// thread can run and not all have finished, a GPU would hang or be undefined: here it is an error with a message.
// Several OS threads may each run a block at the same time; fibres never move between them.
#pragma once

#include <cstddef>
#include <cstring>

namespace holdfast_host {

// Of the running thread: its number in its block, and the block's; valid only inside run_block. A thread's own frames see one value for
// as long as it lives, which the attribute says. Numbers, since a struct would come back through memory, in parts of another size than
// it is read in, for which the processor has to wait each time.
#define HOLDFAST_SAME_FOR_A_THREAD __attribute__((const))
HOLDFAST_SAME_FOR_A_THREAD unsigned thread_number();
HOLDFAST_SAME_FOR_A_THREAD unsigned block_number();
HOLDFAST_SAME_FOR_A_THREAD unsigned block_threads();

// As CUDA has them, of one dimension.
struct Index {
  unsigned x, y, z;
};
inline Index thread_index() { return {thread_number(), 0, 0}; }
inline Index block_index() { return {block_number(), 0, 0}; }
inline Index block_size() { return {block_threads(), 1, 1}; }

// `line` tells the wait in messages, and waits at different lines apart.
void barrier(int line);
void warp_barrier(int line);
constexpr int kLanes = 32;

// What one lane can give at once.
struct alignas(8) Parcel {
  unsigned char bytes[8];
};

// Gives a parcel to the other lanes of the warp, waits for all, returns what they gave (kLanes of them).
const Parcel* exchange(unsigned mask, Parcel own, int line);
inline unsigned lane_index() { return thread_number() % kLanes; }

// 32 or 64 bits at a time, as CUDA's.
template <class T>
inline T shuffle(unsigned mask, T value, int lane, int line) {
  static_assert(sizeof(T) <= sizeof(Parcel), "more than a parcel holds");
  Parcel own{};
  std::memcpy(own.bytes, &value, sizeof value);
  const Parcel* given = exchange(mask, own, line);
  if (lane >= 0 && lane < kLanes) std::memcpy(&value, given[lane].bytes, sizeof value);
  return value;
}

// Lanes without a neighbour that far keep their own value.
template <class T>
inline T shuffle_up(unsigned mask, T value, int distance, int line) {
  return shuffle(mask, value, static_cast<int>(lane_index()) - distance, line);
}

template <class T>
inline T shuffle_down(unsigned mask, T value, int distance, int line) {
  return shuffle(mask, value, static_cast<int>(lane_index()) + distance, line);
}

template <class T>
inline T shuffle_xor(unsigned mask, T value, int distance, int line) {
  return shuffle(mask, value, static_cast<int>(lane_index()) ^ distance, line);
}

// The block's shared memory, filled with NaN patterns before the block starts. `key` tells static objects apart.
void* static_shared(int key, std::size_t bytes);
void* dynamic_shared();

using Entry = void (*)(const void* params);

// Runs one block. Returns false on a fault, with its description in `message`.
bool run_block(Entry entry, const void* params, unsigned block, unsigned threads, std::size_t dynamic_bytes,
               char* message, std::size_t capacity);

// For a signal handler: which thread of which block runs on this OS thread ("block 0, thread 3: "), and whether it has
// overflowed its stack. Returns the characters written; none where no block runs.
std::size_t describe_running(char* text, std::size_t capacity);

// Does ahead what the first block of an OS thread would wait for a lock of the C library for.
void prepare_os_thread();

}  // namespace holdfast_host
