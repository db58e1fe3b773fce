#pragma once
/* Every weight is a pair (re, im) here; a real weight has im = 0. One code path. */
#include "selective_scan_common.h"
#include "selective_scan.h"

struct Cf {
    float re, im;
    __device__ Cf(float r = 0.f, float i = 0.f) : re(r), im(i) {}
    __device__ Cf operator+(Cf o) const { return Cf(re + o.re, im + o.im); }
    __device__ Cf operator-(Cf o) const { return Cf(re - o.re, im - o.im); }
    __device__ Cf operator*(Cf o) const { return Cf(re * o.re - im * o.im, re * o.im + im * o.re); }
    __device__ Cf times(float s) const { return Cf(re * s, im * s); }
    __device__ Cf over(Cf o) const {
        // scaled by the larger part, against overflow of |o|^2
        const float s = 1.f / (fabsf(o.re) > fabsf(o.im) ? fabsf(o.re) : fabsf(o.im));
        const float c = o.re * s, d = o.im * s;
        const float n = c * c + d * d;
        return Cf((re * c + im * d) / n, (im * c - re * d) / n).times(s);
    }
    __device__ Cf ldexp(int k) const { return Cf(ldexpf(re, k), ldexpf(im, k)); }
    __device__ float l1() const { return fabsf(re) + fabsf(im); }
};

__device__ inline Cf as_pair(float x) { return Cf(x, 0.f); }
__device__ inline Cf as_pair(complex_t x) { return Cf(x.real_, x.imag_); }

// e^(z - k log 2) and k; k is not 0 only where e^z is about to overflow
__device__ inline Cf cf_exp(Cf z, int& k) {
    float x = z.re;
    k = 0;
    if (x > 80.f) {
        k = int(x * 1.44269504f + 0.5f);
        x = (x - k * 0.693145752f) - k * 1.42860677e-6f;
    }
    const float m = expf(x);
    float s = 0.f, c = 1.f;
    if (z.im != 0.f) sincosf(z.im, &s, &c);
    return Cf(m * c, m * s);
}

__device__ inline Cf cf_expm1(Cf z) {
    const float h = sinf(z.im * 0.5f);
    return Cf(expm1f(z.re) * cosf(z.im) - 2.f * h * h, expf(z.re) * sinf(z.im));
}

// phi_n for n = 1, 2, 3; scaled by 2^-k as e is
__device__ inline Cf cf_phi(int n, Cf z, Cf e, int k) {
    if (z.l1() < 2.f) {
        float factorial = n == 1 ? 1.f : n == 2 ? 2.f : 6.f;
        Cf sum(1.f);
        for (int j = 16; j >= 1; --j) sum = Cf(1.f) + (sum * z).times(1.f / float(n + j));
        return sum.times(1.f / factorial);
    }
    Cf f;
    if (k != 0) {
        f = e.over(z);
        for (int i = 1; i < n; ++i) f = f.over(z);
        return f;
    }
    f = cf_expm1(z).over(z);
    if (n > 1) f = (f - Cf(1.f)).over(z);
    if (n > 2) f = (f - Cf(0.5f)).over(z);
    return f;
}

template <typename weight_t, bool kIsComplex, typename du_t>
__device__ auto compute_discretization(float delta_val, weight_t A_val, du_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const int which = int(method);
    const Cf z = as_pair(A_val).times(delta_val);
    const Cf du = as_pair(delta_u_val);
    int k = 0;
    const Cf e = cf_exp(z, k);
    Cf A_bar = k == 0 ? e : e.ldexp(k);
    Cf gain(1.f);
    if (which == 1) {
        gain = cf_phi(2, z, e, k).times(delta_val);
    } else if (which == 2) {
        k = 0;
        const Cf den = Cf(1.f) - z.times(0.5f);
        A_bar = (Cf(1.f) + z.times(0.5f)).over(den);
        gain = Cf(1.f).over(den);
    } else if (which == 3) {
        gain = cf_phi(1, z, e, k) + cf_phi(2, z, e, k).times(0.5f * delta_val);
    } else if (which == 4) {
        gain = cf_phi(1, z, e, k) +
               (cf_phi(2, z, e, k) + cf_phi(3, z, e, k).times(0.5f * delta_val)).times(delta_val);
    } else {
        k = 0;
        if (which == 5) {
            Cf h = Cf(1.f / 6.f) + z.times(1.f / 24.f);
            h = Cf(0.5f) + z * h;
            gain = Cf(1.f) + z * h;
        }
    }
    Cf b;
    if (k == 0) {
        b = gain * du;
    } else {
        const int first = k < 100 ? k : 100;   // in two portions, lest a small product underflow
        b = (gain.ldexp(first) * du).ldexp(k - first);
    }
    if constexpr (kIsComplex) {
        return make_float4(A_bar.re, b.re, A_bar.im, b.im);
    } else {
        return make_float2(A_bar.re, b.re);
    }
}
