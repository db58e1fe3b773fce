#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"
#include <cmath>
#include <type_traits>

// Discretization, written once for real and complex states.
struct Cx {
    float re, im;
};
__device__ inline Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Cx operator*(Cx a, Cx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Cx operator*(float s, Cx a) { return {s * a.re, s * a.im}; }
__device__ inline Cx operator+(float s, Cx a) { return {s + a.re, a.im}; }
__device__ inline Cx operator-(Cx a, float s) { return {a.re - s, a.im}; }
__device__ inline Cx operator/(Cx a, Cx b) {
    const float m = 1.f / (b.re * b.re + b.im * b.im);
    return {(a.re * b.re + a.im * b.im) * m, (a.im * b.re - a.re * b.im) * m};
}
__device__ inline float size2(float z) { return z * z; }
__device__ inline float size2(Cx z) { return z.re * z.re + z.im * z.im; }
__device__ inline float exponential(float z) { return expf(z); }
__device__ inline Cx exponential(Cx z) {
    const float e = expf(z.re);
    return {e * cosf(z.im), e * sinf(z.im)};
}
__device__ inline float exp_minus_one(float z) { return expm1f(z); }
__device__ inline Cx exp_minus_one(Cx z) { return exponential(z) - 1.f; }

// sum_j z^j first / ((k+1) ... (k+j)), first = 1/k!
template <typename T>
__device__ inline T series(int k, float first, T z) {
    T sum = 0.f * z;
    for (int j = 16; j >= 1; --j) { sum = (1.f / (k + j)) * (z * (1.f + sum)); }
    return first * (1.f + sum);
}
template <typename T>
__device__ inline T phi1(T z) { return size2(z) < 4.f ? series(1, 1.f, z) : exp_minus_one(z) / z; }
template <typename T>
__device__ inline T phi2(T z) { return size2(z) < 4.f ? series(2, 0.5f, z) : (exp_minus_one(z) - z) / (z * z); }
template <typename T>
__device__ inline T phi3(T z) { return size2(z) < 4.f ? series(3, 1.f / 6.f, z) : (phi2(z) - 0.5f) / z; }

__device__ inline float over_square(float f, float z) { return z == 0.f ? 0.5f : f / (z * z); }
__device__ inline Cx over_square(Cx f, Cx z) {    // f / z^2
    const float n = size2(z);
    if (n == 0.f) return {0.5f, 0.f};
    const Cx inverse = {z.re / n, z.im / n};
    return f * inverse * inverse;
}

// Abar and the factor of delta * u
template <typename T>
__device__ inline void coefficients(float delta, T A, int method, T& a_bar, T& factor) {
    const T z = delta * A;
    const T one = 1.f + 0.f * z;
    a_bar = exponential(z);
    factor = one;
    switch (method) {
    case 0: break;
    case 1: factor = delta * over_square(phi2(z) * (z * z), z); break;
    case 2: {
        const T half = 0.5f * z;
        a_bar = (1.f + half) / (one - half);
        factor = one / (one - half);
        break;
    }
    case 3: factor = phi1(z) + (0.5f * delta) * phi2(z); break;
    case 4: factor = phi1(z) + delta * (phi2(z) + (0.5f * delta) * phi3(z)); break;
    case 5: factor = 1.f + z * (0.5f * one + z * ((1.f / 6.f) * one + (1.f / 24.f) * z)); break;
    }
}
__device__ inline Cx to_cx(float x) { return {x, 0.f}; }
__device__ inline Cx to_cx(complex_t x) { return {x.real_, x.imag_}; }

template <typename weight_t, bool kIsComplex, typename DU>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
    if constexpr (kIsComplex) {
        Cx a_bar, factor;
        coefficients(delta_val, to_cx(A_val), static_cast<int>(method), a_bar, factor);
        const Cx bu = factor * to_cx(delta_u_val);
        return make_float4(a_bar.re, a_bar.im, bu.re, bu.im);
    } else {
        float a_bar, factor;
        coefficients(delta_val, A_val, static_cast<int>(method), a_bar, factor);
        return make_float2(a_bar, factor * delta_u_val);
    }
}
