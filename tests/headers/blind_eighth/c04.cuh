#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"
#include <cmath>
#include <type_traits>

// A functor for each method: a(z) and h(z, dt), with h the input factor beside dt * u.
template <bool kComplex> struct Num;
template <> struct Num<false> {
    float v;
    static __device__ Num make(float r, float) { return {r}; }
    __device__ Num operator*(Num o) const { return {v * o.v}; }
    __device__ Num operator+(Num o) const { return {v + o.v}; }
    __device__ Num operator-(Num o) const { return {v - o.v}; }
    __device__ Num operator/(Num o) const { return {v / o.v}; }
    __device__ Num times(float s) const { return {s * v}; }
    __device__ Num plus(float s) const { return {v + s}; }
    __device__ Num exp() const { return {expf(v)}; }
    __device__ Num expm1() const { return {expm1f(v)}; }
    __device__ float norm() const { return fabsf(v); }
};
template <> struct Num<true> {
    float r, i;
    static __device__ Num make(float re, float im) { return {re, im}; }
    __device__ Num operator*(Num o) const { return {r * o.r - i * o.i, r * o.i + i * o.r}; }
    __device__ Num operator+(Num o) const { return {r + o.r, i + o.i}; }
    __device__ Num operator-(Num o) const { return {r - o.r, i - o.i}; }
    __device__ Num operator/(Num o) const {
        const float d = o.r * o.r + o.i * o.i;
        return {(r * o.r + i * o.i) / d, (i * o.r - r * o.i) / d};
    }
    __device__ Num times(float s) const { return {s * r, s * i}; }
    __device__ Num plus(float s) const { return {r + s, i}; }
    __device__ Num exp() const { const float m = expf(r); return {m * cosf(i), m * sinf(i)}; }
    __device__ Num expm1() const {
        const float m = expf(r), s = sinf(0.5f * i);
        return {expm1f(r) * cosf(i) - 2.f * s * s, m * sinf(i)};
    }
    __device__ float norm() const { return sqrtf(r * r + i * i); }
};

template <int kOrder, typename T> __device__ inline T taylor(T z) {    // sum z^j / (j + kOrder)!
    float inv_factorial = 1.f;
    for (int j = 2; j <= kOrder; ++j) inv_factorial /= j;
    T term = (z - z).plus(inv_factorial), sum = term;
    for (int j = 1; j < 16; ++j) {
        term = (term * z).times(1.f / (j + kOrder));
        sum = sum + term;
    }
    return sum;
}
template <typename T> __device__ inline T phi_one(T z) { return z.norm() < 1.25f ? taylor<1>(z) : z.expm1() / z; }
template <typename T> __device__ inline T phi_two(T z) { return z.norm() < 1.75f ? taylor<2>(z) : (z.expm1() / z).plus(-1.f) / z; }
template <typename T> __device__ inline T phi_three(T z) {
    return z.norm() < 2.25f ? taylor<3>(z) : (phi_two(z).plus(-0.5f)) / z;
}

template <int kMethod> struct Method {
    template <typename T> static __device__ T a(T z) { return z.exp(); }
    template <typename T> static __device__ T h(T z, float dt) { return (z - z).plus(1.f); }
};
template <> struct Method<1> : Method<0> {
    template <typename T> static __device__ T h(T z, float dt) { return phi_two(z).times(dt); }
};
template <> struct Method<2> {
    template <typename T> static __device__ T a(T z) { return z.times(0.5f).plus(1.f) / z.times(-0.5f).plus(1.f); }
    template <typename T> static __device__ T h(T z, float dt) { return (z - z).plus(1.f) / z.times(-0.5f).plus(1.f); }
};
template <> struct Method<3> : Method<0> {
    template <typename T> static __device__ T h(T z, float dt) { return phi_one(z) + phi_two(z).times(0.5f * dt); }
};
template <> struct Method<4> : Method<0> {
    template <typename T> static __device__ T h(T z, float dt) {
        return phi_one(z) + phi_two(z).times(dt) + phi_three(z).times(0.5f * dt * dt);
    }
};
template <> struct Method<5> : Method<0> {
    template <typename T> static __device__ T h(T z, float dt) {
        T s = z.times(1.f / 4.f).plus(1.f);
        s = (z * s).times(1.f / 3.f).plus(1.f);
        return (z * s).times(1.f / 2.f).plus(1.f);
    }
};
template <bool kC> __device__ inline Num<kC> number(float x) { return Num<kC>::make(x, 0.f); }
template <bool kC> __device__ inline Num<kC> number(complex_t x) { return Num<kC>::make(x.real_, x.imag_); }

template <int kMethod, bool kC, typename weight_t, typename DU>
__device__ inline auto discretize_as(float dt, weight_t A, DU du, weight_t B) {
    const Num<kC> z = number<kC>(A).times(dt);
    const Num<kC> a = Method<kMethod>::a(z);
    const Num<kC> bu = Method<kMethod>::h(z, dt) * number<kC>(du);
    if constexpr (kC) return make_float4(a.r, a.i, bu.r, bu.i);
    else return make_float2(a.v, bu.v);
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
    switch (static_cast<int>(method)) {
    case 1: return discretize_as<1, kIsComplex>(delta_val, A_val, delta_u_val, B_val);
    case 2: return discretize_as<2, kIsComplex>(delta_val, A_val, delta_u_val, B_val);
    case 3: return discretize_as<3, kIsComplex>(delta_val, A_val, delta_u_val, B_val);
    case 4: return discretize_as<4, kIsComplex>(delta_val, A_val, delta_u_val, B_val);
    case 5: return discretize_as<5, kIsComplex>(delta_val, A_val, delta_u_val, B_val);
    default: return discretize_as<0, kIsComplex>(delta_val, A_val, delta_u_val, B_val);
    }
}
