// The C interface between the kernels built for the CPU and src/kernel/cpu.rs. Keep the two in step.
#pragma once

#include <cstddef>

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
  // Relative, of Ā and of B̄; for kernels with run-time faults.
  double perturbation[2];
};

// The fields of ScanParams (selective_scan.cuh) and DiscretizeParams (discretize.cu), which each namespace has for
// itself; table.inc asserts that the layouts agree.
struct HoldfastScan {
  const void *u, *delta;
  const float* a;
  const void *b, *c;
  const float* d;
  const void* z;
  const float* delta_bias;
  void *out, *last_state, *workspace;
  long long batch, dim, dstate, seqlen, groups;
  int delta_softplus;
};

struct HoldfastDiscretize {
  const float *delta, *a, *b;
  void *a_bar, *b_bar;
  long long n;
};

using HoldfastKernel = void (*)(const void* params);

// The kernels of one method and weight type, lifted ones under input 0: [input][variable B][variable C][gate]; `discretize` has no such choices.
struct HoldfastTable {
  HoldfastKernel scan[3][2][2][2];
  HoldfastKernel discretize;
};

// The copy with run-time faults reads this; set for the OS thread that runs the block.
extern "C" int* holdfast_runtime_fault();
extern "C" const double* holdfast_runtime_perturbation();

extern "C" {
// Runs blocks first … first + count − 1 on the calling thread. `fault` is a number of faults.cuh's list for the
// copy with faults, or negative for the production kernels (lifted: for the faults that the build plants). 0 on success, else 1 with `message` filled.
int holdfast_scan(const HoldfastInstantiation* which, int fault, const HoldfastScan* params, unsigned first,
                  unsigned count, char* message, std::size_t capacity);
// The number of blocks is ceil(n / holdfast_discretize_block()).
int holdfast_discretize(int method, int complex, int lifted, int fault, const HoldfastDiscretize* params, unsigned first,
                        unsigned count, char* message, std::size_t capacity);
unsigned holdfast_discretize_block();
// Threads of a scan over `seqlen` (launch.cuh), and positions per chunk.
unsigned holdfast_scan_threads(long long seqlen);
unsigned holdfast_scan_chunk(long long seqlen);
// Bytes of dynamic shared memory of a scan (launch.cuh); `width` is 1 for real weights, 2 for complex.
unsigned holdfast_scan_shared(long long dstate, int width);
// Names of faults.cuh's list; null past its end.
const char* holdfast_fault_name(int fault);
// The fault that this build plants in the production kernels, 0 for none.
int holdfast_planted_fault();
// A kernel that misbehaves on purpose, for tests of the machinery: see misbehave.cpp.
int holdfast_misbehave(int which, char* message, std::size_t capacity);
// e^x, sin x and cos x for x = hi + lo as exponential.cuh has them, for the test of what they may be off:
// see elementary.cpp. (count) each, and (count, 3) results.
void holdfast_elementary(const float* hi, const float* lo, std::size_t count, double* results);
}
