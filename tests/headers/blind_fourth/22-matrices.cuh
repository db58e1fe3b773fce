#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

// A complex number p + iq as the matrix [[p, -q], [q, p]]: everything below is real 2x2 arithmetic.
struct Mat { float p, q; };
struct Rot {
  __device__ static Mat mul(Mat x, Mat y) { return Mat{x.p * y.p - x.q * y.q, x.q * y.p + x.p * y.q}; }
  __device__ static Mat axpy(float a, Mat x, float shift) { return Mat{a * x.p + shift, a * x.q}; }  // a x + shift I
  // y = x^-1 b, by elimination with the larger entry as pivot
  __device__ static Mat solve(Mat x, Mat b) {
    if (fabsf(x.p) >= fabsf(x.q)) {
      const float t = x.q / x.p, u = x.p + t * x.q;
      return Mat{(b.p + t * b.q) / u, (b.q - t * b.p) / u};
    }
    const float t = x.p / x.q, u = x.q + t * x.p;
    return Mat{(t * b.p + b.q) / u, (t * b.q - b.p) / u};
  }
  __device__ static Mat expm(Mat x, float share) {
    const float e = expf(share * x.p);
    return Mat{e * cosf(share * x.q), e * sinf(share * x.q)};
  }
};
struct Line {
  __device__ static float mul(float x, float y) { return x * y; }
  __device__ static float axpy(float a, float x, float shift) { return a * x + shift; }
  __device__ static float solve(float x, float b) { return b / x; }
  __device__ static float expm(float x, float share) { return expf(share * x); }
};
__device__ __forceinline__ float lead(float v) { return v; }
__device__ __forceinline__ float lead(Mat v) { return v.p; }
__device__ __forceinline__ float reach(float v) { return fabsf(v); }
__device__ __forceinline__ float reach(Mat v) { return fmaxf(fabsf(v.p), fabsf(v.q)); }
__device__ __forceinline__ float raise(float v) { return v; }
__device__ __forceinline__ Mat raise(complex_t v) { return Mat{v.real_, v.imag_}; }

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(
    float delta_val, weight_t A_val, typename std::conditional<kIsComplex, complex_t, float>::type delta_u_val,
    weight_t B_val, DiscretizationMethod method) {
  using G = typename std::conditional<kIsComplex, Rot, Line>::type;
  auto z = G::axpy(delta_val, raise(A_val), 0.f);
  auto f = raise(delta_u_val);
  auto zero = G::axpy(0.f, f, 0.f);
  const auto I = G::axpy(1.f, zero, 1.f);
  auto decay = G::expm(z, 1.f);
  auto apply = [&](auto g) { f = G::mul(g, f); };
  const int m = static_cast<int>(method);
  if (m == 2) {
    const auto lhs = G::axpy(-0.5f, z, 1.f);
    decay = G::solve(lhs, G::axpy(0.5f, z, 1.f));
    f = G::solve(lhs, f);
  } else if (m == 5) {
    auto g = G::axpy(1.f / 24.f, z, 1.f / 6.f);
    g = G::axpy(1.f, G::mul(g, z), 0.5f);
    apply(G::axpy(1.f, G::mul(g, z), 1.f));
  } else if (m != 0) {
    auto p1 = I, p2 = I, p3 = I;
    bool big = lead(z) > 40.f;
    if (reach(z) < 1.5f) {
      p3 = G::axpy(0.f, I, 0.f);
      float c = 1.f;  // series of phi3 from behind, as 1/6 (1 + z/4 (1 + z/5 (1 + ...)))
      for (int k = 18; k > 3; --k) p3 = G::axpy(1.f / k, G::mul(z, G::axpy(c, p3, 1.f)), 0.f);
      p3 = G::axpy(1.f / 6.f, p3, 1.f / 6.f);
      p2 = G::axpy(1.f, G::mul(z, p3), 0.5f);
      p1 = G::axpy(1.f, G::mul(z, p2), 1.f);
    } else if (big) {
      p1 = G::solve(z, G::expm(z, 0.5f));
      p2 = G::solve(z, p1);
      p3 = G::solve(z, p2);
    } else {
      p1 = G::solve(z, G::axpy(1.f, decay, -1.f));
      p2 = G::solve(z, G::axpy(1.f, p1, -1.f));
      p3 = G::solve(z, G::axpy(1.f, p2, -0.5f));
    }
    auto plus = [](auto a, float s, auto b) {
      if constexpr (kIsComplex) return Mat{a.p + s * b.p, a.q + s * b.q};
      else return a + s * b;
    };
    if (m == 1) apply(G::axpy(delta_val, p2, 0.f));
    if (m == 3) apply(plus(p1, 0.5f * delta_val, p2));
    if (m == 4) apply(plus(p1, delta_val, plus(p2, 0.5f * delta_val, p3)));
    if (big) apply(G::expm(z, 0.5f));
  }
  if constexpr (kIsComplex) return make_float4(decay.p, decay.q, f.p, f.q);
  else return make_float2(decay, f);
}
