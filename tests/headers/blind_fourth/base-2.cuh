#pragma once

#include "selective_scan.h"
#include "selective_scan_common.h"

// (e^x - 1)/x and the two that follow it, for real x
__device__ __forceinline__ float phi_family(float x, float& p1, float& p2, float& p3) {
  if (x > 40.f) {  // everything but e^x is negligible; one half of it is left to the caller
    const float h = expf(0.5f * x);
    p1 = h / x;
    p2 = p1 / x;
    p3 = p2 / x;
    return h;
  }
  if (fabsf(x) > 2.f) {
    p1 = expm1f(x) / x;
    p2 = (p1 - 1.f) / x;
    p3 = (p2 - 0.5f) / x;
    return 1.f;
  }
  float s = 0.f;
  for (int k = 15; k >= 4; --k) s = (1.f + s) * x / float(k);
  p3 = (1.f + s) * (1.f / 6.f);
  p2 = 0.5f + x * p3;
  p1 = 1.f + x * p2;
  return 1.f;
}

template <typename weight_t, bool kIsComplex>
__device__ __forceinline__ auto compute_discretization(float dt, weight_t A, float du, weight_t B,
                                                       DiscretizationMethod method) {
  static_assert(!kIsComplex, "real weights only");
  const float x = dt * A;
  float decay = expf(x);
  float drive = du;
  float p1, p2, p3, up = 1.f;
  switch (static_cast<int>(method)) {
    case 0:
      break;
    case 1:
      up = phi_family(x, p1, p2, p3);
      drive = dt * p2 * du;
      break;
    case 2:
      decay = (1.f + 0.5f * x) / (1.f - 0.5f * x);
      drive = du / (1.f - 0.5f * x);
      break;
    case 3:
      up = phi_family(x, p1, p2, p3);
      drive = (p1 + 0.5f * dt * p2) * du;
      break;
    case 4:
      up = phi_family(x, p1, p2, p3);
      drive = (p1 + dt * p2 + dt * (dt * p3) * 0.5f) * du;
      break;
    case 5:
      drive = du * (1.f + x * (0.5f + x * (1.f / 6.f + x * (1.f / 24.f))));
      break;
  }
  return make_float2(decay, drive * up);
}
