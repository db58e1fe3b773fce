#pragma once
// phi-functions without a case distinction in z: the series at z / 2^s, then s doublings.
//   e(2z) = e(z)^2, phi1(2z) = (e + 1) phi1 / 2, phi2(2z) = (phi1^2 + 2 phi2) / 4, phi3(2z) = (phi2 (phi1 + 1) + 2 phi3) / 8
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace {

template <int kParts> struct Num;

template <> struct Num<1> {
    double v;
    __device__ Num(double x = 0) : v(x) {}
    __device__ Num operator+(Num o) const { return Num(v + o.v); }
    __device__ Num operator-(Num o) const { return Num(v - o.v); }
    __device__ Num operator*(Num o) const { return Num(v * o.v); }
    __device__ Num inverse() const { return Num(1.0 / v); }
    __device__ Num expo() const { return Num(exp(v)); }
    __device__ double size() const { return fabs(v); }
};

template <> struct Num<2> {
    double v, w;
    __device__ Num(double x = 0, double y = 0) : v(x), w(y) {}
    __device__ Num operator+(Num o) const { return Num(v + o.v, w + o.w); }
    __device__ Num operator-(Num o) const { return Num(v - o.v, w - o.w); }
    __device__ Num operator*(Num o) const { return Num(v * o.v - w * o.w, v * o.w + w * o.v); }
    __device__ Num inverse() const { return Num(v / (v * v + w * w), -w / (v * v + w * w)); }
    __device__ Num expo() const { return Num(exp(v) * cos(w), exp(v) * sin(w)); }
    __device__ double size() const { return fabs(v) + fabs(w); }
};

template <typename N> struct Set {
    N e, a, b, c;   // e^z, phi1, phi2, phi3
};

template <typename N> __device__ Set<N> phi_set(N z) {
    Set<N> p;
    p.e = z.expo();
    if (z.size() > 4096.0) {   // far out the recursion is the better one
        const N r = z.inverse();
        p.a = (p.e - N(1)) * r;
        p.b = (p.a - N(1)) * r;
        p.c = (p.b - N(0.5)) * r;
        return p;
    }
    int s = 0;
    double scale = 1;
    while (z.size() * scale > 0.5) ++s, scale *= 0.5;
    N x = z * N(scale), c = N(1);
    for (int j = 14; j >= 1; --j) c = N(1) + c * x * N(1.0 / (j + 3));
    p.c = c * N(1.0 / 6);
    p.b = N(0.5) + x * p.c;
    p.a = N(1) + x * p.b;
    N e = N(1) + x * p.a;
    for (; s > 0; --s) {
        p.c = (p.b * (p.a + N(1)) + p.c + p.c) * N(0.125);
        p.b = (p.a * p.a + p.b + p.b) * N(0.25);
        p.a = (e + N(1)) * p.a * N(0.5);
        e = e * e;
    }
    return p;
}

template <typename N> __device__ void coefficients(double d, N A, int id, N& transition, N& gain) {
    const N z = A * N(d), one(1), half(0.5);
    if (id == 2) {
        gain = (one - half * z).inverse();
        transition = (one + half * z) * gain;
        return;
    }
    const auto choose = [&](const Set<N>& p) {
        const N by_method[6] = {
            one,
            N(d) * p.b,
            one,
            p.a + N(d * 0.5) * p.b,
            p.a + N(d) * (p.b + N(d * 0.5) * p.c),
            one + z * (half + z * (N(1.0 / 6) + z * N(1.0 / 24))),
        };
        return by_method[id];
    };
    const Set<N> p = phi_set(z);
    transition = p.e;
    gain = choose(p);
}

}  // namespace

template <typename weight_t, bool kIsComplex, typename T>
__device__ auto compute_discretization(float delta_val, weight_t A_val, T delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    Num<kIsComplex ? 2 : 1> a, g;
    if constexpr (kIsComplex) {
        coefficients<Num<2>>(delta_val, Num<2>(A_val.real_, A_val.imag_), int(method), a, g);
        const complex_t du = delta_u_val;
        const Num<2> b = g * Num<2>(du.real_);
        return make_float4(float(a.v), float(a.w), float(b.v), float(b.w));
    } else {
        coefficients<Num<1>>(delta_val, Num<1>(A_val), int(method), a, g);
        return make_float2(float(a.v), float(g.v * delta_u_val));
    }
}
