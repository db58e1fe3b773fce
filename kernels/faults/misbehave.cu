// Kernels that misbehave on purpose, each in its own way, launched as a selective scan over f32 inputs with real
// weights: they show that the harness keeps a fault in the case where it happened. No user runs them.
//
// Formula: none. Cost: none worth stating. The numbers are those of `Misbehaviour` in src/kernel/registry.rs.
#include "selective_scan.cuh"

namespace HOLDFAST_NAMESPACE {

template <int kWhich>
__global__ void misbehave(const ScanParams params) {
  const long long total = params.batch * params.dim * params.seqlen;
  const long long states = params.batch * params.dim * params.dstate;
  float* out = static_cast<float*>(params.out);
  float* last_state = static_cast<float*>(params.last_state);
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (long long i = 0; i < total; ++i) {
    if (kWhich != 2 || i + 1 < total) out[i] = 0.0f;
  }
  for (long long i = 0; i < states; ++i) last_state[i] = 0.0f;
  if (kWhich == 0) *reinterpret_cast<volatile float*>(16) = 1.0f;
  if (kWhich == 1) {
    // Volatile: a loop without effects may be removed.
    volatile float* forever = out;
    while (forever[0] == 0.0f) {
    }
  }
  if (kWhich == 3) out[total] = 0.0f;
  if (kWhich == 4) out[-1] = 0.0f;
  if (kWhich == 5) const_cast<float*>(static_cast<const float*>(params.u))[0] = 12345.0f;
  if (kWhich == 6) asm volatile("trap;");
}

}  // namespace HOLDFAST_NAMESPACE
