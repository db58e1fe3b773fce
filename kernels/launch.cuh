// How kernels are launched: their parameters, and the one table of a selective scan's threads, shared by every host
// (the CPU build, and a CUDA driver).
//
// Plain C++ without device code, so that any host compiler takes it; of NVRTC it hides what only a host calls.
#pragma once

namespace holdfast_launch {

// Inputs of a selective scan, forward or backward. Layouts as in spec.md §3; complex numbers are two neighbours, re then im. Fields,
// sizes and offsets are those of src/kernel/cpu/params.rs, which the build compares.
struct ScanOperands {
  const void* u;
  const void* delta;
  const float* a;  // (dim, dstate), dense (dim, dstate, dstate)
  const void* b;
  const void* c;
  const float* d;              // or null
  const void* z;               // or null; kernels of a diagonal A read it where they have a gate
  const float* delta_bias;     // or null
  const float* initial_state;  // or null, for 0; of a dense A alone
  long long batch, dim, dstate, seqlen, groups;
  int delta_softplus;
  // Choices that kernels of a diagonal A are compiled for: the id of spec.md §2; the storage type, 0 f32, 1 f16, 2 bf16; and which of B and
  // C vary.
  int method, input, variable_b, variable_c;
  int width;  // 1 for real weights, 2 for complex
};

// Parameters of a selective scan.
struct ScanParams : ScanOperands {
  void* out;
  void* last_state;   // arithmetic type; f32 of a dense A
  void* workspace;    // (batch, dim, seqlen) of the arithmetic type, for poly
  void* chunk_steps;  // (directions, chunks, batch, dim, dstate) of Step (step.cuh), for more than one chunk
  // The sequence is in so many chunks, of chunk_len positions but for the last one; of more than one it is a multiple of kAlignment.
  long long chunks, chunk_len;
};

// Of element-wise coefficients. Arrays of n; complex numbers are two neighbours, re then im. a_bar and b_bar have the
// arithmetic type.
struct DiscretizeParams {
  const float* delta;
  const float* a;
  const float* b;
  void* a_bar;
  void* b_bar;
  long long n;
};

// A block's threads: `lanes` for each of its channels, which are of one group. B and C come for kStates states at a time, which the
// lanes of a channel share. A backward scan, and a forward one where lanes_for() says nothing else, has kLanes for each of
// kChannels channels.
constexpr int kThreads = 128;
constexpr int kLanes = 8;
constexpr int kChannels = kThreads / kLanes;
constexpr int kStates = 16;
constexpr int kOwn = kStates / kLanes;

#if defined(__CUDACC__)
#define HOLDFAST_EVERYWHERE __host__ __device__
#else
#define HOLDFAST_EVERYWHERE
#endif
HOLDFAST_EVERYWHERE constexpr int channels_for(int lanes) { return kThreads / lanes; }

// Neighbouring positions that a thread loads, steps through and stores at once; `width` is 1 for real weights, 2 for complex.
// A tile is kPackets times as long.
constexpr int kPackets = 8;
HOLDFAST_EVERYWHERE constexpr int items_for(int width, int lanes = kLanes) { return (lanes == kLanes ? 8 : 4) / width; }

// Carried states of a channel, and as many unused that four channels' lanes meet in no bank.
HOLDFAST_EVERYWHERE constexpr long long state_row(long long dstate) { return (dstate + 15) / 16 * 16 + 8; }

// Lanes of a channel in a forward scan that has channels enough without kLanes for each, and the blocks of it that a multiprocessor
// has room for. Such kernels there are for the methods that gain by them, zoh and bilinear, real weights, variable B and C, and up to
// kStates states.
constexpr int kFewLanes = 2;
constexpr int kResidentOfFewLanes = 4;

// Chunks of a sequence begin at multiples of this; so do tiles.
constexpr int kAlignment = kPackets * 8;

// Parts of so many states that a chunk's step is made of.
HOLDFAST_EVERYWHERE constexpr long long groups_of_states(long long dstate) { return (dstate - 1) / kStates + 1; }

#if !defined(__CUDACC_RTC__)
// Blocks that a group's channels take, and all that a selective scan takes. Groups are a divisor of dim.
constexpr long long blocks_of_group(long long dim, long long groups, int lanes) {
  return (dim / groups + channels_for(lanes) - 1) / channels_for(lanes);
}
constexpr long long blocks_for(long long batch, long long dim, long long groups, int lanes = kLanes) {
  return batch * groups * blocks_of_group(dim, groups, lanes);
}

// Lanes of a scan for which there is a kernel with either, on a device with so many multiprocessors: few where that gives each of them
// more than one block, and four fifths of their places have a channel. The results are the same bits. On an H200 with 132, zoh in 10^9
// elements a second, accurate and fast tier, at batch × dim channels and 1024 positions or more:
//   channels       8192         12288        16384         20480        32768 (8 × 4096)  49152 (128 × 384)
//   blocks each    1 of 1       1.5 of 2     1.9 of 2      2.4 of 3     3.9 of 4          5.8 of 6
//   two lanes      48.8, 60.1   50.0, 73.0   64.9, 94.4    61.6, 96.4   78.4, 127.7       61.1, 85.6
//   eight lanes    58.7, 79.0   57.7, 73.6   60.4, 81.2    60.2, 78.7   66.2, 86.6        52.5, 62.4
constexpr int lanes_for(long long batch, long long dim, long long groups, long long multiprocessors) {
  const long long blocks = blocks_for(batch, dim, groups, kFewLanes), each = (blocks - 1) / multiprocessors + 1;
  const long long places = each * multiprocessors * channels_for(kFewLanes);
  return each >= 2 && batch * dim * 5 >= places * 4 ? kFewLanes : kLanes;
}

// How a forward scan is spread over a device: lanes of a channel, and chunks of the sequence.
struct Spread {
  int lanes;
  long long chunks;
};

// Chunks, with so many lanes, of a scan in one direction or two. With few channels most multiprocessors have nothing to do. A scan in chunks
// fills them, by two passes, of which the first one costs about as much as the second (chunk_steps.cuh), so that it takes three chunks or
// more to gain. Each block reads the steps of all chunks: few lanes, with more states each, are for up to kMostOfFewLanes long ones.
// On an H200 with 132, milliseconds without chunks and with them, accurate and fast tier, at channels × positions:
//   zoh, 2048 × 65536    4.16, 3.60    16 of two lanes     3.25, 1.95    4 of eight lanes  3.48, 2.46
//   zoh, 1536 × 16384    1.05, 0.90    22 of two lanes     0.70, 0.46
//   zoh, 512 × 16384     1.04, 0.90    32 of two lanes     0.31, 0.24    16 of eight lanes, fast 0.19
//   zoh, 64 × 65536      4.05, 3.50    128 of two lanes    0.30, 0.27    128 of eight lanes, fast 0.13
//   foh, 2048 × 65536    5.15, 4.35    4 of eight lanes    5.18, 3.93
//   foh, 1536 × 16384    1.28, 1.09    5 of eight lanes    1.07, 0.81
//   foh, 512 × 16384     1.28, 1.09    16 of eight lanes   0.38, 0.29
//   poly, 2048 × 65536   12.0, 10.2    4 of eight lanes    13.2, 10.6
//   poly, 64 × 65536     11.5, 9.69    128 of eight lanes  0.59, 0.49
constexpr int kMostOfFewLanes = 32;
constexpr long long least_chunk(int lanes) { return lanes == kLanes ? 128 : 768; }
constexpr long long chunks_for(long long batch, long long dim, long long groups, long long seqlen, int lanes, int directions,
                               long long multiprocessors) {
  // Blocks that a multiprocessor has room for: two directions take more registers.
  const long long places = (directions == 2 ? 3 : 4) * multiprocessors;
  const long long by_blocks = places / blocks_for(batch, dim, groups, lanes), by_length = seqlen / least_chunk(lanes);
  if (lanes != kLanes && (by_blocks > kMostOfFewLanes || by_blocks > by_length)) return 1;
  const long long chunks = by_blocks < by_length ? by_blocks : by_length;
  return chunks < 3 ? 1 : chunks;
}

// Of a scan that has kernels with few lanes, or has none, on a device with so many multiprocessors. Lanes change no bit of the results.
// Chunks do: a state before one is rounded otherwise than without them. They are for scans whose blocks of eight lanes leave a multiprocessor
// little more than one, or less than one where a step takes many operations.
constexpr Spread spread_for(long long batch, long long dim, long long groups, long long seqlen, bool has_few_lanes, int directions,
                            long long multiprocessors) {
  if (has_few_lanes && lanes_for(batch, dim, groups, multiprocessors) == kFewLanes) return {kFewLanes, 1};
  if (blocks_for(batch, dim, groups, kLanes) * 4 > multiprocessors * (has_few_lanes ? 5 : 3)) return {kLanes, 1};
  const auto chunks = [&](int lanes) { return chunks_for(batch, dim, groups, seqlen, lanes, directions, multiprocessors); };
  if (has_few_lanes && chunks(kFewLanes) > 1) return {kFewLanes, chunks(kFewLanes)};
  return {kLanes, chunks(kLanes)};
}

// Positions of a chunk where there are to be so many; and how many there are then.
constexpr long long chunk_len_for(long long seqlen, long long chunks) {
  return chunks == 1 ? seqlen : ((seqlen - 1) / chunks + kAlignment) / kAlignment * kAlignment;
}
constexpr long long chunks_of(long long seqlen, long long chunk_len) { return seqlen <= chunk_len ? 1 : (seqlen - 1) / chunk_len + 1; }

// Blocks of the first pass, where the second has so many for a chunk.
constexpr long long chunk_step_blocks(long long blocks, long long chunks, long long dstate, int directions) {
  return blocks * (chunks - 1) * groups_of_states(dstate) * directions;
}

// The block that has a channel.
constexpr long long block_of(long long batch, long long channel, long long dim, long long groups, int lanes = kLanes) {
  const long long members = dim / groups;
  return (batch * groups + channel / members) * blocks_of_group(dim, groups, lanes) + channel % members / channels_for(lanes);
}

// Dynamic shared memory: the carried states, where lanes do not keep them. `element` is the size of the arithmetic type.
constexpr long long shared_bytes(long long dstate, int width, int element, int lanes = kLanes) {
  return dstate <= kStates ? 0 : channels_for(lanes) * state_row(dstate) * width * element;
}
#endif

}  // namespace holdfast_launch
