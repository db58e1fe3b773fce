// The C interface between the kernels built for the CPU and src/kernel/cpu/. What both sides know the layout of, the
// build compares with src/kernel/cpu/params.rs.
#pragma once

#include <cstddef>

#include "launch_backward.cuh"
#include "launch_dense.cuh"

// Which kernel: the method's id (spec.md §2), the storage type (0 f32, 1 f16, 2 bf16), and flags.
struct HoldfastInstantiation {
  int method;
  int input;
  int complex;
  int variable_b;
  int variable_c;
  int gate;
  // 1 for the arithmetic in double (`input` must be 0; u, delta, z, out, last_state, workspace and variable B and C
  // are then arrays of double).
  int lifted;
  // 1 for the fast tier; of production kernels alone.
  int fast;
  // 1 for few lanes a channel (launch.cuh); of production kernels alone.
  int few_lanes;
  // Relative, of Ā and of B̄; for kernels with run-time faults.
  double perturbation[2];
};

// The functions of exponential.cuh at one x: e^x, sin x and cos x in pairs of floats, before they are rounded; and of common
// elements, at an x beside it that is a product, that x, e^x, what e^x is beyond a power of two before it is rounded, sin x and cos x.
struct HoldfastElementary {
  double exponential, wide_exponential, wide_sine, wide_cosine;
  double common_argument, common_exponential, common_growth, common_sine, common_cosine;
};

// What kernels read that leave a choice to run time: the layout, and in the copies with faults these. Whether the arithmetic is double,
// the block's host reads. Set for the OS thread that runs the block.
struct HoldfastChoices {
  bool variable_b, variable_c, has_gate;
  bool lifted;
  int fault;
  double perturbation[2];
};
// Fibres never move between threads, so that the address is a constant to any kernel.
extern "C" HoldfastChoices* holdfast_choices() __attribute__((const));

extern "C" {
// Runs blocks first … first + count − 1 on the calling thread. `fault` is a number of faults/list.cuh for the
// copy with faults, or negative for the production kernels (lifted: for the faults that the build plants). 0 on success, else 1 with `message` filled.
int holdfast_scan(const HoldfastInstantiation* which, int fault, const holdfast_launch::ScanParams* params, unsigned first,
                  unsigned count, char* message, std::size_t capacity);
// The steps of its chunks, which come before it; of the production kernels alone.
int holdfast_chunk_steps(const HoldfastInstantiation* which, const holdfast_launch::ScanParams* params, unsigned first, unsigned count,
                         char* message, std::size_t capacity);
// The number of blocks is ceil(n / holdfast_discretize_block()).
int holdfast_discretize(const HoldfastInstantiation* which, int fault, const holdfast_launch::DiscretizeParams* params,
                        unsigned first, unsigned count, char* message, std::size_t capacity);
unsigned holdfast_discretize_block();
// The backward scan (launch_backward.cuh), its copy in double, of which every gradient is of doubles, and the sums of what the blocks of
// either leave, as above. The sums' `input` is 3 for those of the copy.
int holdfast_backward(const HoldfastInstantiation* which, const holdfast_launch::BackwardParams* params, unsigned first,
                      unsigned count, char* message, std::size_t capacity);
int holdfast_lifted_backward(const HoldfastInstantiation* which, const holdfast_launch::BackwardParams* params, unsigned first,
                             unsigned count, char* message, std::size_t capacity);
int holdfast_sum_gradients(int input, const holdfast_launch::BackwardParams* params, unsigned first, unsigned count,
                           char* message, std::size_t capacity);
// The number of blocks is ceil(n / holdfast_discretize_block()).
int holdfast_differentiate(int method, int complex, const holdfast_launch::DerivativeParams* params, unsigned first,
                           unsigned count, char* message, std::size_t capacity);
// Ā and B̄ of dense systems, of `which` the method, the weights and the tier (launch_dense.cuh); n is 1 to 64.
int holdfast_dense(const HoldfastInstantiation* which, const holdfast_launch::DenseParams* params, unsigned first, unsigned count,
                   char* message, std::size_t capacity);
// Scans of dense systems, likewise. Threads are those of one step, and blocks those of as many steps as there are channels of items.
int holdfast_dense_scan(const HoldfastInstantiation* which, const holdfast_launch::ScanParams* params, unsigned first, unsigned count,
                        char* message, std::size_t capacity);
// Their gradients, which holdfast_sum_gradients() comes after.
int holdfast_dense_backward(const HoldfastInstantiation* which, const holdfast_launch::BackwardParams* params, unsigned first,
                            unsigned count, char* message, std::size_t capacity);
unsigned holdfast_dense_threads(long long n);
long long holdfast_dense_blocks(long long count, long long n, long long m);
// Bytes of dynamic shared memory; `use` is a DenseUse of launch_dense.cuh.
long long holdfast_dense_shared(const HoldfastInstantiation* which, long long n, int use);
// The parts of a backward scan's workspace; blocks and threads of the sums.
void holdfast_backward_workspace(const holdfast_launch::BackwardShape* shape, holdfast_launch::BackwardWorkspace* workspace);
long long holdfast_sum_blocks(const holdfast_launch::BackwardShape* shape);
unsigned holdfast_sum_threads();
// Threads of a scan's block (launch.cuh), positions of its tile, its blocks, and the one that has a channel.
unsigned holdfast_scan_threads();
unsigned holdfast_scan_tile(int width);
long long holdfast_scan_blocks(long long batch, long long dim, long long groups, int few_lanes);
long long holdfast_scan_block_of(long long batch, long long channel, long long dim, long long groups, int few_lanes);
// Bytes of dynamic shared memory of a scan (launch.cuh); `width` is 1 for real weights, 2 for complex.
unsigned holdfast_scan_shared(long long dstate, int width);
// Lanes of a channel. Whether few are to have these channels on a device with so many multiprocessors, at least one, where there is such
// a kernel; and in how many chunks of the sequence.
int holdfast_scan_lanes(int few);
int holdfast_spread(long long batch, long long dim, long long groups, long long seqlen, int has_few_lanes, int directions,
                    long long multiprocessors, long long* chunks);
// Positions of a chunk where there are to be so many, how many there are then, and the blocks of their steps (launch.cuh).
long long holdfast_chunk_len(long long seqlen, long long chunks);
long long holdfast_chunks(long long seqlen, long long chunk_len);
long long holdfast_chunk_step_blocks(long long blocks, long long chunks, long long dstate, int directions);
// Names of faults/list.cuh; null past its end.
const char* holdfast_fault_name(int fault);
// The fault that this build plants in the production kernels, 0 for none.
int holdfast_planted_fault();
// A kernel that misbehaves on purpose, for tests of the machinery: see misbehave.cpp.
int holdfast_misbehave(int which, char* message, std::size_t capacity);
// One block of a kernel that ends its process or never ends, in the order of `Crash` in src/kernel/cpu/crash.rs: see
// misbehave.cpp.
int holdfast_crash(int which, unsigned block, char* message, std::size_t capacity);
// A copy of this process, in a process group of its own: for each byte that comes out of `orders` it calls obey(order) and
// sends the byte back; it ends with the stream. What is written to standard error goes to `errors`. Returns the copy's id, or
// −1 with errno set. See fork.cpp.
int holdfast_fork(int orders, int errors, void (*obey)(void*), void* order);
// For x = hi + lo, for the test of what they may be off: see elementary.cpp. (count) each.
void holdfast_elementary(const float* hi, const float* lo, std::size_t count, HoldfastElementary* results);
}
