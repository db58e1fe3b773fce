#pragma once
// Discretization coefficients, shared by the forward kernels.
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace disc {

struct Cx { float re, im; };

__device__ inline Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Cx operator*(Cx a, Cx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Cx operator*(float s, Cx a) { return {s * a.re, s * a.im}; }
__device__ inline Cx operator*(Cx a, float s) { return {a.re * s, a.im * s}; }
__device__ inline Cx operator+(float s, Cx a) { return {s + a.re, a.im}; }
__device__ inline Cx operator-(float s, Cx a) { return {s - a.re, -a.im}; }
__device__ inline Cx inv(Cx a) { const float q = 1.0f / (a.re * a.re + a.im * a.im); return {a.re * q, -a.im * q}; }
__device__ inline Cx over(Cx a, Cx b) { return a * inv(b); }
__device__ inline float inv(float a) { return 1.0f / a; }
__device__ inline float over(float a, float b) { return a / b; }
__device__ inline float size(float a) { return fabsf(a); }
__device__ inline float size(Cx a) { return fmaxf(fabsf(a.re), fabsf(a.im)); }

// e^z, and e^z - 1 without cancellation
__device__ inline float ex(float z) { return expf(z); }
__device__ inline Cx ex(Cx z) { const float m = expf(z.re); return {m * cosf(z.im), m * sinf(z.im)}; }
__device__ inline float em1(float z) { return expm1f(z); }
__device__ inline Cx em1(Cx z) {
    const float s = sinf(0.5f * z.im);
    return {expm1f(z.re) * cosf(z.im) - 2.0f * s * s, expf(z.re) * sinf(z.im)};
}

// phi_k(z) = sum_j z^j / (j + k)!
template <int k, typename T>
__device__ inline T series(T z) {
    float c[14];
    float f = 1.0f;
    for (int i = 2; i <= k; ++i) f *= i;
    for (int j = 0; j < 14; ++j) { c[j] = 1.0f / f; f *= (j + k + 1); }
    T s = c[13] + 0.0f * z;
    for (int j = 12; j >= 0; --j) s = c[j] + z * s;
    return s;
}
template <typename T> __device__ inline T phi1(T z) { return size(z) < 0.7f ? series<1>(z) : over(em1(z), z); }
template <typename T> __device__ inline T phi2(T z) { return size(z) < 0.7f ? series<2>(z) : over(em1(z) - z, z * z); }
template <typename T> __device__ inline T phi3(T z) { return size(z) < 0.7f ? series<3>(z) : over((-0.5f) + phi2(z), z); }

__device__ inline float load(float a) { return a; }
__device__ inline Cx load(complex_t a) { return {a.real_, a.imag_}; }
__device__ inline float2 store(float a, float b) { return make_float2(a, b); }
__device__ inline float4 store(Cx a, Cx b) { return make_float4(a.re, a.im, b.re, b.im); }
__device__ inline float4 store(Cx a, float b) { return make_float4(a.re, a.im, b, 0.0f); }

// What B̄ is, over ΔB.
template <typename T>
__device__ inline T gain(T z, float dt, int method) {
    T h = 1.0f + 0.0f * z;
    switch (method) {
        case 0: break;
        case 1:
            h = dt * phi2(z);
            break;
        case 2:
            h = inv(1.0f - 0.5f * z);
            break;
        case 3:
            h = phi1(z) + (0.5f * dt) * phi2(z);
            break;
        case 4:
            h = phi1(z) + dt * phi2(z) + (0.5f * dt * dt) * phi3(z);
            break;
        case 5: {
            const T z2 = z * z;
            const T z3 = z2 * z;
            h = 1.0f + 0.5f * z + (1.0f / 6.0f) * z2 + (1.0f / 24.0f) * z3;
            break;
        }
    }
    return h;
}

template <typename T>
__device__ inline T decay(T z, int method) {
    if (method == 2) return over(1.0f + 0.5f * z, 1.0f - 0.5f * z);
    return ex(z);
}

}  // namespace disc

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const auto z = delta_val * disc::load(A_val);
    const int m = static_cast<int>(method);
    return disc::store(disc::decay(z, m), disc::gain(z, delta_val, m) * (1.0f * disc::load(delta_u_val)));
}
