#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ float2 compute_discretization(float delta_val, weight_t A_val, float delta_u_val, weight_t,
                                                         DiscretizationMethod method) {
  static_assert(!kIsComplex, "no complex build");
  const int which = static_cast<int>(method);
  const float z = delta_val * A_val;

  if (which == 2) {  // Tustin
    const float inv = 1.f / (1.f - 0.5f * z);
    return make_float2((1.f + 0.5f * z) * inv, delta_u_val * inv);
  }
  const float a = expf(z);
  if (which == 0) return make_float2(a, delta_u_val);
  if (which == 5) {
    float b = 1.f / 24.f;
    b = b * z + 1.f / 6.f;
    b = b * z + 1.f / 2.f;
    b = b * z + 1.f;
    return make_float2(a, b * delta_u_val);
  }

  // phi1, phi2, phi3
  float f1, f2, f3, rest = 1.f;
  if (z < -2.f || z > 2.f) {
    const float r = 1.f / z;
    float e = a, keep = 1.f;
    if (z > 40.f) {
      e = rest = expf(0.5f * z);
      keep = 0.f;
    }
    f1 = (e - keep) * r;
    f2 = (f1 - keep) * r;
    f3 = (f2 - 0.5f * keep) * r;
  } else {
    const float t3[] = {1.66666667e-1f, 4.16666667e-2f, 8.33333333e-3f, 1.38888889e-3f, 1.98412698e-4f,
                        2.48015873e-5f, 2.75573192e-6f, 2.75573192e-7f, 2.50521084e-8f, 2.08767570e-9f,
                        1.60590438e-10f, 1.14707456e-11f, 7.64716373e-13f, 4.77947733e-14f};
    f3 = 0.f;
    for (int i = 13; i >= 0; --i) f3 = f3 * z + t3[i];
    f2 = f3 * z + 0.5f;
    f1 = f2 * z + 1.f;
  }
  float b = 0.f;
  if (which == 1) b = delta_val * f2;
  if (which == 3) b = f1 + 0.5f * (delta_val * f2);
  if (which == 4) b = f1 + delta_val * f2 + 0.5f * delta_val * (delta_val * f3);
  return make_float2(a, b * delta_u_val * rest);
}
