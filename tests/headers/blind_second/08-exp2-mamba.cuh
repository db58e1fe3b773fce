#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// In the kernel A is pre-multiplied by log2(e) for plain ZOH only (as in upstream Mamba); all other methods get A itself.
namespace ssm {

constexpr float kLog2e = float(M_LOG2E);

__device__ __forceinline__ float pow2(float a) { return exp2f(a); }
__device__ __forceinline__ complex_t pow2(complex_t a) { return cexp2f(a); }

__device__ __forceinline__ float to_base2(float z) { return z * kLog2e; }
__device__ __forceinline__ complex_t to_base2(complex_t z) { return complex_t(z.real_ * kLog2e, z.imag_); }

__device__ __forceinline__ float size(float z) { return fabsf(z); }
__device__ __forceinline__ float size(complex_t z) { return fabsf(z.real_) + fabsf(z.imag_); }

__device__ __forceinline__ float over(float a, float b) { return a / b; }
__device__ __forceinline__ complex_t over(complex_t a, complex_t b) {
  // scaled by the larger component of b
  const float s = fmaxf(fabsf(b.real_), fabsf(b.imag_));
  const complex_t n(b.real_ / s, b.imag_ / s);
  const complex_t q = a / n;
  return complex_t(q.real_ / s, q.imag_ / s);
}

// sum_j z^j / (j+k)! by Horner
template <int k, typename T>
__device__ __forceinline__ T series(T z) {
  T acc = T(1.f);
#pragma unroll
  for (int j = 16; j >= 1; --j) acc = z * acc * (1.f / float(j + k)) + 1.f;
  return acc * (k == 1 ? 1.f : k == 2 ? 0.5f : float(1.0 / 6.0));
}

template <typename T>
struct Phi {
  T one, two, three;
};

template <typename T>
__device__ __forceinline__ Phi<T> phi(T z, T e) {
  Phi<T> p;
  if (size(z) < 1.25f) {
    p.one = series<1>(z);
    p.two = series<2>(z);
    p.three = series<3>(z);
  } else {
    p.one = over(e - 1.f, z);
    p.two = over(p.one - 1.f, z);
    p.three = over(p.two - 0.5f, z);
  }
  return p;
}

}  // namespace ssm

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t /*B_val*/,
                                       DiscretizationMethod method) {
  using namespace ssm;
  const weight_t z = A_val * delta_val;
  weight_t a, b;
  switch (static_cast<int>(method)) {
    case 1:
      a = pow2(to_base2(z));
      b = phi(z, a).two * delta_val * delta_u_val;
      break;
    case 2: {
      const weight_t half = z * 0.5f;
      a = over(1.f + half, 1.f - half);
      b = over(delta_u_val, 1.f - half);
      break;
    }
    case 3: {
      a = pow2(to_base2(z));
      const auto p = phi(z, a);
      b = (p.one + p.two * (0.5f * delta_val)) * delta_u_val;
      break;
    }
    case 4: {
      a = pow2(to_base2(z));
      const auto p = phi(z, a);
      b = (p.one + (p.two + p.three * (0.5f * delta_val)) * delta_val) * delta_u_val;
      break;
    }
    case 5:
      a = pow2(to_base2(z));
      b = (1.f + z * 0.5f * (1.f + z * float(1.0 / 3.0) * (1.f + z * 0.25f))) * delta_u_val;
      break;
    default:  // zoh: A comes times log2(e)
      a = pow2(z);
      b = delta_u_val;
  }
  if constexpr (kIsComplex) {
    return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  } else {
    return make_float2(a, b);
  }
}
