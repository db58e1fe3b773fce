#pragma once
/* Every weight is a pair (re, im) here; a real weight has im = 0. One code path. */
#include "selective_scan_common.h"
#include "selective_scan.h"

struct Pair {
    float re, im;
    __device__ Pair(float r = 0.f, float i = 0.f) : re(r), im(i) {}
    __device__ Pair operator+(Pair o) const { return Pair(re + o.re, im + o.im); }
    __device__ Pair operator-(Pair o) const { return Pair(re - o.re, im - o.im); }
    __device__ Pair operator*(Pair o) const { return Pair(re * o.re - im * o.im, re * o.im + im * o.re); }
    __device__ Pair times(float s) const { return Pair(re * s, im * s); }
    __device__ Pair over(Pair o) const {
        // scaled by the larger part, against overflow of |o|^2
        const float s = 1.f / (fabsf(o.re) > fabsf(o.im) ? fabsf(o.re) : fabsf(o.im));
        const float c = o.re * s, d = o.im * s;
        const float n = c * c + d * d;
        return Pair((re * c + im * d) / n, (im * c - re * d) / n).times(s);
    }
    __device__ Pair ldexp(int k) const { return Pair(ldexpf(re, k), ldexpf(im, k)); }
    __device__ float l1() const { return fabsf(re) + fabsf(im); }
};

__device__ inline Pair as_pair(float x) { return Pair(x, 0.f); }
__device__ inline Pair as_pair(complex_t x) { return Pair(x.real_, x.imag_); }

// e^(z - k log 2) and k; k is not 0 only where e^z is about to overflow
__device__ inline Pair pair_exp(Pair z, int& k) {
    float x = z.re;
    k = 0;
    if (x > 80.f) {
        k = int(x * 1.44269504f + 0.5f);
        x = (x - k * 0.693145752f) - k * 1.42860677e-6f;
    }
    const float m = expf(x);
    float s = 0.f, c = 1.f;
    if (z.im != 0.f) sincosf(z.im, &s, &c);
    return Pair(m * c, m * s);
}

// phi_n for n = 1, 2, 3; scaled by 2^-k as e is
__device__ inline Pair pair_phi(int n, Pair z, Pair e, int k) {
    if (z.l1() < 1e-4f) {
        float factorial = n == 1 ? 1.f : n == 2 ? 2.f : 6.f;
        Pair sum(1.f);
        for (int j = 16; j >= 1; --j) sum = Pair(1.f) + (sum * z).times(1.f / float(n + j));
        return sum.times(1.f / factorial);
    }
    Pair f;
    if (k != 0) {
        f = e.over(z);
        for (int i = 1; i < n; ++i) f = f.over(z);
        return f;
    }
    f = e - Pair(1.f);
    if (n > 1) f = f - z;
    if (n > 2) f = f - (z * z).times(0.5f);
    for (int i = 0; i < n; ++i) f = f.over(z);
    return f;
}

template <typename weight_t, bool kIsComplex, typename du_t>
__device__ auto compute_discretization(float delta_val, weight_t A_val, du_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const int which = int(method);
    const Pair z = as_pair(A_val).times(delta_val);
    const Pair du = as_pair(delta_u_val);
    int k = 0;
    const Pair e = pair_exp(z, k);
    Pair A_bar = k == 0 ? e : e.ldexp(k);
    Pair gain(1.f);
    if (which == 1) {
        gain = pair_phi(2, z, e, k).times(delta_val);
    } else if (which == 2) {
        k = 0;
        const Pair den = Pair(1.f) - z.times(0.5f);
        A_bar = (Pair(1.f) + z.times(0.5f)).over(den);
        gain = Pair(1.f).over(den);
    } else if (which == 3) {
        gain = pair_phi(1, z, e, k) + pair_phi(2, z, e, k).times(0.5f * delta_val);
    } else if (which == 4) {
        gain = pair_phi(1, z, e, k) +
               (pair_phi(2, z, e, k) + pair_phi(3, z, e, k).times(0.5f * delta_val)).times(delta_val);
    } else {
        k = 0;
        if (which == 5) {
            Pair h = Pair(1.f / 6.f) + z.times(1.f / 24.f);
            h = Pair(0.5f) + z * h;
            gain = Pair(1.f) + z * h;
        }
    }
    Pair b;
    if (k == 0) {
        b = gain * du;
    } else {
        const int first = k < 100 ? k : 100;   // in two portions, lest a small product underflow
        b = (gain.ldexp(first) * du).ldexp(k - first);
    }
    if constexpr (kIsComplex) {
        return make_float4(A_bar.re, A_bar.im, b.re, b.im);
    } else {
        return make_float2(A_bar.re, b.re);
    }
}
