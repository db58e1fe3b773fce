#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// Closed forms as published where |dt A| > 1/2, Taylor below. du already holds dt, so that B̄u = (B̄ / dt) du.
struct Pair { float r, i; };
template <bool kIsComplex> struct Num;

template <> struct Num<false> {
    using T = float;
    static __device__ T make(float v) { return v; }
    static __device__ T of(float r, float) { return r; }
    static __device__ T add(T a, T b) { return a + b; }
    static __device__ T mul(T a, T b) { return a * b; }
    static __device__ T scale(float s, T a) { return s * a; }
    static __device__ T recip(T a) { return 1.0f / a; }
    static __device__ float norm(T a) { return fabsf(a); }
    static __device__ T exp(T a) { return exp2f(a * 1.4429504f); }
    static __device__ T expm1(T a) { return expm1f(a); }
    static __device__ float2 pack(T a, T b) { return make_float2(a, b); }
    static __device__ T read(float a) { return a; }
};

template <> struct Num<true> {
    using T = Pair;
    static __device__ T make(float v) { return {v, 0.0f}; }
    static __device__ T of(float r, float i) { return {r, i}; }
    static __device__ T add(T a, T b) { return {a.r + b.r, a.i + b.i}; }
    static __device__ T mul(T a, T b) { return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
    static __device__ T scale(float s, T a) { return {s * a.r, s * a.i}; }
    static __device__ T recip(T a) { float q = a.r * a.r + a.i * a.i; return {a.r / q, -a.i / q}; }
    static __device__ float norm(T a) { return hypotf(a.r, a.i); }
    static __device__ T exp(T a) { float m = expf(a.r); return {m * cosf(a.i), m * sinf(a.i)}; }
    static __device__ T expm1(T a) {
        float h = sinf(a.i / 2);
        return {expm1f(a.r) * cosf(a.i) - 2 * h * h, expf(a.r) * sinf(a.i)};
    }
    static __device__ float4 pack(T a, T b) { return make_float4(a.r, a.i, b.r, b.i); }
    static __device__ T read(float a) { return {a, 0.0f}; }
    static __device__ T read(complex_t a) { return {a.real_, a.imag_}; }
};

template <bool kC>
struct Step {
    using N = Num<kC>;
    using T = typename N::T;
    float dt;
    T z, e, em;
    bool small;

    __device__ Step(float dt_, T A) : dt(dt_), z(N::scale(dt_, A)), e(N::exp(z)), em(N::expm1(z)), small(N::norm(z) < 0.5f) {}

    __device__ T poly(float c0, float c1, float c2, float c3, float c4, float c5, float c6, float c7) const {
        T s = N::make(c7);
        const float c[7] = {c0, c1, c2, c3, c4, c5, c6};
        for (int j = 6; j >= 0; --j) s = N::add(N::make(c[j]), N::mul(z, s));
        return s;
    }
    // (e^z - 1) / z
    __device__ T first() const {
        if (small) return poly(1.f, 1.f / 2, 1.f / 6, 1.f / 24, 1.f / 120, 1.f / 720, 1.f / 5040, 1.f / 40320);
        return N::mul(em, N::recip(z));
    }
    // (e^z - 1 - z) / z^2
    __device__ T second() const {
        if (small) return poly(1.f / 2, 1.f / 6, 1.f / 24, 1.f / 120, 1.f / 720, 1.f / 5040, 1.f / 40320, 1.f / 362880);
        const T rz = N::recip(z);
        return N::mul(N::mul(N::add(em, N::scale(-1.0f, z)), rz), rz);
    }
    // (e^z - 1 - z - z^2/2) / z^3
    __device__ T third() const {
        if (small) return poly(1.f / 6, 1.f / 24, 1.f / 120, 1.f / 720, 1.f / 5040, 1.f / 40320, 1.f / 362880, 1.f / 3628800);
        return N::mul(N::add(second(), N::make(-0.5f)), N::recip(z));
    }
    __device__ T cayley() const { return N::recip(N::add(N::make(1.0f), N::scale(-0.5f, z))); }

    __device__ T a_bar(int m) const {
        return m == 2 ? N::mul(N::add(N::make(1.0f), N::scale(0.5f, z)), cayley()) : e;
    }
    __device__ T b_over_dt(int m) const {
        if (m == 1) return N::scale(dt, second());
        if (m == 2) return cayley();
        if (m == 3) return N::add(first(), N::scale(0.5f * dt, second()));
        if (m == 4) return N::add(N::add(first(), N::scale(dt, second())), N::scale(0.5f * dt * dt, third()));
        if (m == 5) {
            T s = N::add(N::make(1.0f / 6), N::scale(1.0f / 24, z));
            s = N::add(N::make(0.5f), N::mul(z, s));
            return N::add(N::make(1.0f), N::mul(z, s));
        }
        return N::make(1.0f);
    }
};

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    using N = Num<kIsComplex>;
    const int m = static_cast<int>(method);
    const Step<kIsComplex> step(delta_val, N::read(A_val));
    const auto du = N::read(delta_u_val);
    return N::pack(step.a_bar(m), N::mul(step.b_over_dt(m), du));
}
