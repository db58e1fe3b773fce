#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// Limits for tiny |z|, series for moderate, closed forms otherwise.
template <typename T>
class StepCoefficients {
  float delta;
  T z;

  static __device__ float norm(float v) { return fabsf(v); }
  static __device__ float norm(complex_t v) { return fmaxf(fabsf(v.real_), fabsf(v.imag_)); }
  static __device__ float ez(float v) { return expf(v); }
  static __device__ complex_t ez(complex_t v) { return cexpf(v); }
  static __device__ float dv(float a, float b) { return a / b; }
  static __device__ complex_t dv(complex_t a, complex_t b) {
    const float s = norm(b);
    return (a * (1.f / s)) / (b * (1.f / s));
  }

  __device__ bool tiny() const { return norm(z) < 1e-3f; }
  __device__ bool moderate() const { return norm(z) < 1.25f; }

  // sum_{j >= 0} z^j k! / (j+k)!
  __device__ T normalised_series(int k) const {
    T total(1.f), t(1.f);
    for (int j = 1; j <= 18; j++) {
      t *= z;
      t *= 1.f / float(j + k);
      total += t;
    }
    return total;
  }
  __device__ T phi1() const { return moderate() ? normalised_series(1) : dv(ez(z) - 1.f, z); }
  __device__ T phi2() const { return moderate() ? normalised_series(2) * 0.5f : dv(phi1() - 1.f, z); }
  __device__ T phi3() const { return moderate() ? normalised_series(3) * float(1.0 / 6.0) : dv(phi2() - 0.5f, z); }

 public:
  __device__ StepCoefficients(float delta_val, T A) : delta(delta_val), z(A * delta_val) {}

  __device__ T state(int method) const { return method == 2 ? dv(2.f + z, 2.f - z) : ez(z); }

  __device__ T gain(int method) const {
    switch (method) {
      case 1: return tiny() ? T(delta) : phi2() * delta;
      case 2: return dv(T(2.f), 2.f - z);
      case 3: return phi1() + phi2() * (0.5f * delta);
      case 4: return phi1() + (phi2() + phi3() * (0.5f * delta)) * delta;
      case 5: {
        T g = z * float(1.0 / 24.0) + float(1.0 / 6.0);
        g = g * z + 0.5f;
        return g * z + 1.f;
      }
    }
    return T(1.f);
  }
};

template <typename weight_t, bool kIsComplex, typename du_type>
__device__ auto compute_discretization(float delta_val, weight_t A_val, du_type delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const StepCoefficients<weight_t> step(delta_val, A_val);
  const int id = int(method);
  const weight_t a = step.state(id), b = step.gain(id) * delta_u_val;
  if constexpr (kIsComplex) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  else return make_float2(a, b);
}
