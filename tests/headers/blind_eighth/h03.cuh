#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"
#include <cmath>
#include <type_traits>

// Real and imaginary parts are written out: no complex class in the inner loop.
struct DiscPair { float ar, ai, hr, hi; };

__device__ inline float phi_series(float z, int k) {
    float s = 1.f;
    for (int j = k + 15; j > k; --j) s = 1.f + s * z / j;
    return k == 1 ? s : k == 2 ? 0.5f * s : s / 6.f;
}

__device__ inline DiscPair disc_real(float dt, float a, int m) {
    const float z = dt * a;
    if (m == 2) {
        const float inv = 1.f / (1.f - 0.5f * z);
        return {(1.f + 0.5f * z) * inv, 0.f, inv, 0.f};
    }
    const float e = expf(z);
    if (m == 0) return {e, 0.f, 1.f, 0.f};
    if (m == 5) return {e, 0.f, 1.f + 0.5f * z + z * z / 6.f + z * z * z / 24.f, 0.f};
    float p1, p2, p3;
    if (fabsf(z) < 1.5f) {
        p1 = phi_series(z, 1);
        p2 = phi_series(z, 2);
        p3 = phi_series(z, 3);
    } else {
        p1 = expm1f(z) / z;
        p2 = (p1 - 1.f) / z;
        p3 = (p2 - 0.5f) / z;
    }
    if (m == 1) return {e, 0.f, dt * p2, 0.f};
    if (m == 3) return {e, 0.f, p1 + 0.5f * dt * p2, 0.f};
    return {e, 0.f, p1 + dt * p2 + 0.5f * dt * dt * p3, 0.f};
}

__device__ inline DiscPair disc_complex(float dt, float a_re, float a_im, int m) {
    const float x = dt * a_re, y = dt * a_im;
    if (m == 2) {
        const float nr = 1.f + 0.5f * x, ni = 0.5f * y;    // numerator
        const float wr = 1.f - 0.5f * x, wi = -0.5f * y;   // denominator
        const float inv = 1.f / (wr * wr + wi * wi);
        return {(nr * wr + ni * wi) * inv, (ni * wr - nr * wi) * inv, wr * inv, -wi * inv};
    }
    const float r = expf(x), er = r * cosf(y), ei = r * sinf(y);
    if (m == 0) return {er, ei, 1.f, 0.f};
    if (m == 5) {
        const float z2r = x * x - y * y, z2i = x * y;
        const float z3r = z2r * x - z2i * y, z3i = z2r * y + z2i * x;
        return {er, ei, 1.f + 0.5f * x + z2r / 6.f + z3r / 24.f, 0.5f * y + z2i / 6.f + z3i / 24.f};
    }
    float p1r, p1i, p2r, p2i, p3r, p3i;
    const float n2 = x * x + y * y;
    if (n2 < 2.25f) {
        float sr = 1.f, si = 0.f;                          // phi_3 by its series, the others from it
        for (int j = 18; j > 3; --j) {
            const float tr = (sr * x - si * y) / j, ti = (sr * y + si * x) / j;
            sr = 1.f + tr;
            si = ti;
        }
        p3r = sr / 6.f;
        p3i = si / 6.f;
        p2r = 0.5f + p3r * x - p3i * y;
        p2i = p3r * y + p3i * x;
        p1r = 1.f + p2r * x - p2i * y;
        p1i = p2r * y + p2i * x;
    } else {
        const float ir = x / n2, ii = -y / n2;             // 1/z
        p1r = (er - 1.f) * ir - ei * ii;
        p1i = (er - 1.f) * ii + ei * ir;
        p2r = (p1r - 1.f) * ir - p1i * ii;
        p2i = (p1r - 1.f) * ii + p1i * ir;
        p3r = (p2r - 0.5f) * ir - p2i * ii;
        p3i = (p2r - 0.5f) * ii + p2i * ir;
    }
    if (m == 1) return {er, ei, dt * p2r, dt * p2i};
    if (m == 3) return {er, ei, p1r + 0.5f * dt * p2r, p1i + 0.5f * dt * p2i};
    return {er, ei, p1r + dt * p2r + 0.5f * dt * dt * p3r, p1i + dt * p2i + 0.5f * dt * dt * p3i};
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
    const int m = static_cast<int>(method);
    if constexpr (!kIsComplex) {
        const DiscPair p = disc_real(delta_val, A_val, m);
        return make_float2(p.ar, p.hr * delta_u_val);
    } else {
        const DiscPair p = disc_complex(delta_val, A_val.real_, A_val.imag_, m);
        if constexpr (std::is_same<DU, complex_t>::value) {
            const float ur = delta_u_val.real_, ui = delta_u_val.imag_;
            return make_float4(p.ar, p.ai, p.hr * ur - p.hi * ui, p.hr * ui + p.hi * ur);
        } else {
            return make_float4(p.ar, p.ai, p.hr * delta_u_val, p.hi * delta_u_val);
        }
    }
}
