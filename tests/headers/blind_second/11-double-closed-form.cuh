// Closed forms in double; five terms of the series where those cancel.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

using zd = c10::complex<double>;

__device__ inline zd zexp(zd z) {
  const double r = exp(z.real_);
  return zd(r * cos(z.imag_), r * sin(z.imag_));
}

// p[k] = phi_k(z)
__device__ inline void closed_phi(zd z, zd* p) {
  if (fabs(z.real_) < 0.05) {
    p[1] = 1.0 + z * (1.0 / 2 + z * (1.0 / 6 + z * (1.0 / 24 + z * (1.0 / 120))));
    p[2] = 1.0 / 2 + z * (1.0 / 6 + z * (1.0 / 24 + z * (1.0 / 120 + z * (1.0 / 720))));
    p[3] = 1.0 / 6 + z * (1.0 / 24 + z * (1.0 / 120 + z * (1.0 / 720 + z * (1.0 / 5040))));
  } else {
    p[1] = (zexp(z) - 1.0) / z;
    p[2] = (p[1] - 1.0) / z;
    p[3] = (p[2] - 0.5) / z;
  }
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  zd z, u;
  const double d = delta_val;
  if constexpr (kIsComplex) {
    z = zd(d * A_val.real_, d * A_val.imag_);
    const complex_t cu = delta_u_val;
    u = zd(cu.real_, cu.imag_);
  } else {
    z = zd(d * A_val, 0.0);
    u = zd(delta_u_val, 0.0);
  }
  zd a = zexp(z), b = u, p[4];
  const int m = static_cast<int>(method);
  if (m == 1 || m == 3 || m == 4) closed_phi(z, p);
  if (m == 1) {
    b = d * p[2] * u;
  } else if (m == 2) {
    a = (2.0 + z) / (2.0 - z);
    b = 2.0 * u / (2.0 - z);
  } else if (m == 3) {
    b = (p[1] + d / 2 * p[2]) * u;
  } else if (m == 4) {
    b = (p[1] + d * p[2] + d * d / 2 * p[3]) * u;
  } else if (m == 5) {
    b = u + u * z * (1.0 / 2 + z / 6.0 + z * z / 24.0);
  }
  if constexpr (kIsComplex) return make_float4(float(a.real_), float(a.imag_), float(b.real_), float(b.imag_));
  else return make_float2(float(a.real_), float(b.real_));
}
