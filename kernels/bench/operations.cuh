// Single operations, and what a device can do at most: what `holdfast bench` times beside whole scans. No kernel of production, and
// no part of its hash. src/operation.rs says what each operation is; the numbers are those of its order.
//
// Every operation is a function of one thread: nothing is shared, so that a block is a loop on a CPU.
#pragma once

#include "bench/params.h"
#include "functions/evaluate.cuh"

namespace holdfast_bench {

using holdfast_functions::ScalarFunction;

enum class Operation : int {
  kExp,
  kExpLibrary,
  kPhi1,
  kPhi1Solve,
  kInverse,
  kInverseMatrix,
  kCopy,
  kRead,
  kFused,
  kSpecial,
  kCount
};

// States of a matrix that an operation is done on.
constexpr int kStates = 16;
// Floats of a load.
constexpr int kPacket = 4;
struct alignas(16) Packet {
  float of[kPacket];
};

// Chains of operations that do not wait for each other: as many as keep the units of a processor busy.
#if defined(__CUDACC__)
constexpr int kChains = 16;
#else
constexpr int kChains = 64;
#endif

HOLDFAST_DEVICE float special(float x) {
#if defined(__CUDACC__)
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-x));
  return y;
#else
  return exp2f(-x);
#endif
}

// Cycles of this multiprocessor, and nanoseconds of the device; none on a CPU.
HOLDFAST_DEVICE void now(long long& cycles, long long& nanoseconds) {
#if defined(__CUDACC__)
  cycles = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
#else
  cycles = nanoseconds = 0;
#endif
}

// X of M X = Y by elimination with pivots, as a library does it that knows nothing of M; Y becomes X.
HOLDFAST_DEVICE void solve(float (&m)[kStates][kStates], float (&y)[kStates][kStates]) {
  HOLDFAST_NO_UNROLL
  for (int k = 0; k < kStates; ++k) {
    int pivot = k;
    HOLDFAST_NO_UNROLL
    for (int i = k + 1; i < kStates; ++i) pivot = fabsf(m[i][k]) > fabsf(m[pivot][k]) ? i : pivot;
    HOLDFAST_NO_UNROLL
    for (int j = 0; j < kStates; ++j) {
      const float a = m[k][j], b = y[k][j];
      m[k][j] = m[pivot][j];
      y[k][j] = y[pivot][j];
      m[pivot][j] = a;
      y[pivot][j] = b;
    }
    const float scale = 1.0f / m[k][k];
    HOLDFAST_NO_UNROLL
    for (int j = 0; j < kStates; ++j) {
      m[k][j] *= scale;
      y[k][j] *= scale;
    }
    HOLDFAST_NO_UNROLL
    for (int i = 0; i < kStates; ++i) {
      if (i == k) continue;
      const float factor = m[i][k];
      HOLDFAST_NO_UNROLL
      for (int j = 0; j < kStates; ++j) {
        m[i][j] = fmaf(-factor, m[k][j], m[i][j]);
        y[i][j] = fmaf(-factor, y[k][j], y[i][j]);
      }
    }
  }
}

// The diagonal of (I − Z/2)⁻¹, or of Z⁻¹(e^Z − I), of the diagonal matrix Z of kStates elements, which is taken for any matrix.
template <bool kInverse>
HOLDFAST_DEVICE void by_matrix(const float* z, float* out, float zero) {
  float m[kStates][kStates], y[kStates][kStates];
  HOLDFAST_NO_UNROLL
  for (int i = 0; i < kStates; ++i) {
    HOLDFAST_NO_UNROLL
    for (int j = 0; j < kStates; ++j) {
      m[i][j] = zero;
      y[i][j] = zero;
    }
    m[i][i] = kInverse ? fmaf(-0.5f, z[i], 1.0f) : z[i];
    y[i][i] = kInverse ? 1.0f : expm1f(z[i]);
  }
  solve(m, y);
  HOLDFAST_NO_UNROLL
  for (int i = 0; i < kStates; ++i) out[i] = y[i][i];
}

// What the thread of this number does.
template <Operation kOperation>
HOLDFAST_DEVICE void operate(const Params& params, long long i) {
  using O = Operation;
  if constexpr (kOperation == O::kFused || kOperation == O::kSpecial) {
    if (i >= params.n) return;
    long long cycles[2], nanoseconds[2];
    now(cycles[0], nanoseconds[0]);
    float x[kChains];
    HOLDFAST_UNROLL
    for (int k = 0; k < kChains; ++k) x[k] = params.zero + 0.01f * static_cast<float>(k);
    const float factor = params.zero + 0.999f;
    for (long long r = 0; r < params.repeat; ++r) {
      HOLDFAST_UNROLL
      for (int k = 0; k < kChains; ++k) {
        x[k] = kOperation == O::kFused ? fmaf(x[k], factor, factor) : special(x[k]);
      }
    }
    float sum = 0.0f;
    HOLDFAST_UNROLL
    for (int k = 0; k < kChains; ++k) sum += x[k];
    now(cycles[1], nanoseconds[1]);
    params.to[i] = sum;
    if (i == 0) {
      params.to[params.n] = static_cast<float>(cycles[1] - cycles[0]);
      params.to[params.n + 1] = static_cast<float>(nanoseconds[1] - nanoseconds[0]);
    }
  } else if constexpr (kOperation == O::kCopy || kOperation == O::kRead) {
    if (i * kPacket >= params.n) return;
    const Packet packet = reinterpret_cast<const Packet*>(params.from)[i];
    if constexpr (kOperation == O::kCopy) reinterpret_cast<Packet*>(params.to)[i] = packet;
    // Never so, which the compiler does not know.
    if (kOperation == O::kRead && packet.of[0] == params.zero + 1.0f && packet.of[3] == params.zero - 1.0f) *params.to = packet.of[1];
  } else if constexpr (kOperation == O::kPhi1Solve || kOperation == O::kInverseMatrix) {
    if (i * kStates >= params.n) return;
    by_matrix<kOperation == O::kInverseMatrix>(params.from + i * kStates, params.to + i * kStates, params.zero);
  } else {
    if (i >= params.n) return;
    const float z = params.from[i];
    if constexpr (kOperation == O::kExp) params.to[i] = holdfast::evaluate<ScalarFunction::kExp>(z);
    if constexpr (kOperation == O::kExpLibrary) params.to[i] = expf(z);
    if constexpr (kOperation == O::kPhi1) params.to[i] = holdfast::evaluate<ScalarFunction::kPhi1>(z);
    if constexpr (kOperation == O::kInverse) params.to[i] = 1.0f / fmaf(-0.5f, z, 1.0f);
  }
}

}  // namespace holdfast_bench
