"""Writes c01 … c05 (right, five styles) and h01 … h20 (each one of the styles with an edit), and cases.json."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = '#pragma once\n#include "selective_scan.h"\n#include "selective_scan_common.h"\n#include <cmath>\n#include <type_traits>\n\n'

# Style 1: one code for float and a small complex type, by overloads.
GENERIC = TOP + r'''// Discretization, written once for real and complex states.
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

// Abar and the factor of delta * u
template <typename T>
__device__ inline void coefficients(float delta, T A, int method, T& a_bar, T& factor) {
    const T z = delta * A;
    const T one = 1.f + 0.f * z;
    a_bar = exponential(z);
    factor = one;
    switch (method) {
    case 0: break;
    case 1: factor = delta * phi2(z); break;
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
'''

# Style 2: real and imaginary parts by hand, two separate paths.
SPLIT = TOP + r'''// Real and imaginary parts are written out: no complex class in the inner loop.
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
        const float z2r = x * x - y * y, z2i = 2.f * x * y;
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
'''

# Style 3: everything is complex; a real state has the imaginary part 0. All phi-functions at once.
LIFTED = TOP + r'''// One complex path. A real state is a complex one whose imaginary part is 0.
namespace lifted {
struct C2 { float r, i; };
struct Exponentials { C2 e, p1, p2, p3; };

__device__ inline C2 mul(C2 a, C2 b) { return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
__device__ inline C2 axpy(C2 a, C2 b, float c) { const C2 p = mul(a, b); return {p.r + c, p.i}; }    // a b + c
__device__ inline C2 over(C2 a, C2 z) {
    const float n = z.r * z.r + z.i * z.i;
    return {(a.r * z.r + a.i * z.i) / n, (a.i * z.r - a.r * z.i) / n};
}

__device__ inline Exponentials exponentials(C2 z) {
    Exponentials f;
    const float size = expf(z.r), angle = z.i;
    f.e = {size * cosf(angle), size * sinf(angle)};
    if (z.r * z.r + z.i * z.i < 3.f) {
        // 1/3!, 1/4!, ...; then down: phi_k = z phi_{k+1} + 1/k!
        C2 s = {0.f, 0.f};
        float c[16];
        c[0] = 1.f / 6.f;
        for (int j = 1; j < 16; ++j) c[j] = c[j - 1] / (j + 3);
        for (int j = 15; j >= 0; --j) s = axpy(s, z, c[j]);
        f.p3 = s;
        f.p2 = axpy(f.p3, z, 0.5f);
        f.p1 = axpy(f.p2, z, 1.f);
    } else {
        f.p1 = over({f.e.r - 1.f, f.e.i}, z);
        f.p2 = over({f.p1.r - 1.f, f.p1.i}, z);
        f.p3 = over({f.p2.r - 0.5f, f.p2.i}, z);
    }
    return f;
}

struct Step { C2 a, h; };

__device__ inline Step step(float dt, C2 A, int id) {
    const C2 z = {dt * A.r, dt * A.i};
    if (id == 2) {
        const C2 den = {1.f - z.r / 2, -z.i / 2};
        return {over({1.f + z.r / 2, z.i / 2}, den), over({1.f, 0.f}, den)};
    }
    const Exponentials f = exponentials(z);
    if (id == 5) {
        C2 k = {1.f, 0.f}, total = {1.f, 0.f};        // stages of the classical scheme for x' = A x + 1
        k = axpy({k.r / 2, k.i / 2}, z, 1.f);
        total = {total.r + 2 * k.r, total.i + 2 * k.i};
        k = axpy({k.r / 2, k.i / 2}, z, 1.f);
        total = {total.r + 2 * k.r, total.i + 2 * k.i};
        k = axpy(k, z, 1.f);
        total = {total.r + k.r, total.i + k.i};
        return {f.e, {total.r / 6, total.i / 6}};
    }
    const float w1 = id == 1 ? 0.f : 1.f;
    const float w2 = id == 3 ? dt / 2 : dt;
    const float w3 = id == 4 ? dt * dt / 2 : 0.f;
    if (id == 0) return {f.e, {1.f, 0.f}};
    return {f.e, {w1 * f.p1.r + w2 * f.p2.r + w3 * f.p3.r, w1 * f.p1.i + w2 * f.p2.i + w3 * f.p3.i}};
}
__device__ inline C2 lift(float x) { return {x, 0.f}; }
__device__ inline C2 lift(complex_t x) { return {x.real_, x.imag_}; }
}  // namespace lifted

template <typename weight_t, bool kIsComplex, typename DU>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
    const lifted::Step s = lifted::step(delta_val, lifted::lift(A_val), static_cast<int>(method));
    const lifted::C2 bu = lifted::mul(s.h, lifted::lift(delta_u_val));
    if constexpr (kIsComplex) {
        return make_float4(s.a.r, s.a.i, bu.r, bu.i);
    } else {
        return make_float2(s.a.r, bu.r);
    }
}
'''

# Style 4: a struct for each method, chosen at compile time by a template of its number.
FUNCTORS = TOP + r'''// A functor for each method: a(z) and h(z, dt), with h the input factor beside dt * u.
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
'''

# Style 5: the input factor of poly and highorder is one sum of powers near 0; B_bar is assembled in place.
MERGED = TOP + r'''// Near z = 0 the input factor is summed as one series whose coefficients hold delta already.
__device__ inline float inv_fact(int n) {
    float f = 1.f;
    for (int j = 2; j <= n; ++j) f *= j;
    return 1.f / f;
}

struct Weights { float one, two, three; };    // of phi_1, phi_2, phi_3

__device__ inline Weights weights_of(int method, float dt) {
    switch (method) {
    case 1: return {0.f, dt, 0.f};
    case 3: return {1.f, 0.5f * dt, 0.f};
    default: return {1.f, dt, 0.5f * dt * dt};
    }
}

// h = sum_j z^j (one/(j+1)! + two/(j+2)! + three/(j+3)!)
__device__ inline float merged_coefficient(Weights w, int j) {
    return w.one * inv_fact(j + 1) + w.two * inv_fact(j + 2) + w.three * inv_fact(j + 3);
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
    const int id = static_cast<int>(method);
    if constexpr (!kIsComplex) {
        const float z = delta_val * A_val;
        if (id == 2) return make_float2((1.f + 0.5f * z) / (1.f - 0.5f * z), delta_u_val / (1.f - 0.5f * z));
        const float a_bar = expf(z);
        if (id == 0) return make_float2(a_bar, delta_u_val);
        float h = 0.f;
        if (id == 5) {
            for (int j = 4; j >= 1; --j) h = h * z + inv_fact(j);
            return make_float2(a_bar, h * delta_u_val);
        }
        const Weights w = weights_of(id, delta_val);
        if (fabsf(z) < 1.75f) {
            for (int j = 14; j >= 0; --j) h = h * z + merged_coefficient(w, j);
        } else {
            const float p1 = expm1f(z) / z, p2 = (p1 - 1.f) / z, p3 = (p2 - 0.5f) / z;
            h = w.one * p1 + w.two * p2 + w.three * p3;
        }
        return make_float2(a_bar, h * delta_u_val);
    } else {
        const float x = delta_val * A_val.real_, y = delta_val * A_val.imag_;
        float a_re, a_im, h_re = 0.f, h_im = 0.f;
        const float radius = expf(x);
        a_re = radius * cosf(y);
        a_im = radius * sinf(y);
        if (id == 0) {
            h_re = 1.f;
        } else if (id == 2) {
            const float c = 1.f - 0.5f * x, s = 0.5f * y, m = c * c + s * s;    // 1/(c - i s) = (c + i s)/m
            h_re = c / m;
            h_im = s / m;
            a_re = ((1.f + 0.5f * x) * c - s * s) / m;
            a_im = ((1.f + 0.5f * x) * s + s * c) / m;
        } else if (id == 5 || x * x + y * y < 3.f) {
            const Weights w = weights_of(id, delta_val);
            for (int j = id == 5 ? 3 : 15; j >= 0; --j) {
                const float t = h_re * x - h_im * y + (id == 5 ? inv_fact(j + 1) : merged_coefficient(w, j));
                h_im = h_re * y + h_im * x;
                h_re = t;
            }
        } else {
            const Weights w = weights_of(id, delta_val);
            const float n = x * x + y * y;
            float p_re = a_re, p_im = a_im, less = 1.f;
            const float weight[3] = {w.one, w.two, w.three};
            for (int k = 0; k < 3; ++k) {    // phi_{k+1} = (phi_k - 1/k!)/z
                less = inv_fact(k);
                const float q_re = p_re - less;
                const float r_re = (q_re * x + p_im * y) / n, r_im = (p_im * x - q_re * y) / n;
                p_re = r_re;
                p_im = r_im;
                h_re += weight[k] * p_re;
                h_im += weight[k] * p_im;
            }
        }
        if constexpr (std::is_same<DU, complex_t>::value) {
            return make_float4(a_re, a_im, h_re * delta_u_val.real_ - h_im * delta_u_val.imag_,
                               h_re * delta_u_val.imag_ + h_im * delta_u_val.real_);
        } else {
            return make_float4(a_re, a_im, h_re * delta_u_val, h_im * delta_u_val);
        }
    }
}
'''
RIGHT = [(GENERIC, "one code for both weights by overloads, series up to |z| = 2"), (SPLIT, "real and imaginary parts by hand"),
         (LIFTED, "real states as complex ones, rk4 by its stages"), (FUNCTORS, "a functor for each method"),
         (MERGED, "one merged series for the input factor")]

# (style, [(old, new), …], methods, weights, cause)
FAULTY = [
    (GENERIC, [("case 1: factor = delta * phi2(z); break;",
                "case 1: factor = delta * delta * phi2(z); break;    // A^-2 (e^z - 1 - z) = delta^2 phi_2")],
     "foh", "both", "foh multiplies by delta^2 phi_2 although delta_u already holds one delta: B_bar is Delta^3 phi_2, one Delta too many."),
    (GENERIC, [("phi1(z) + delta * (phi2(z) + (0.5f * delta) * phi3(z))", "phi1(z) + phi2(z) + 0.5f * phi3(z)")],
     "highorder", "both", "highorder has Delta in place of Delta^2 and Delta^3 before phi_2 and phi_3 (delta factored out of the whole sum): B_bar = Delta (phi_1 + phi_2 + phi_3/2)."),
    (SPLIT, [("z2i = 2.f * x * y", "z2i = x * y")],
     "rk4", "complex", "The imaginary part of z^2 lacks its factor 2 (x y in place of 2 x y), and z^3 is made of it: rk4's input term."),
    (LIFTED, [("c[0] = 1.f / 6.f;", "c[0] = 1.f / 24.f;"), ("c[j] = c[j - 1] / (j + 3)", "c[j] = c[j - 1] / (j + 4)")],
     "foh poly highorder", "both", "The series of phi_3 for small |z| starts at 1/4! in place of 1/3! (it is that of phi_4); phi_2 and phi_1 are made of it by the downward recurrence."),
    (SPLIT, [("const float ir = x / n2, ii = -y / n2;             // 1/z", "const float n = sqrtf(n2), ir = x / n, ii = -y / n;    // 1/z")],
     "foh poly highorder", "complex", "For |z| >= 1.5 the reciprocal 1/z is conj(z)/|z| in place of conj(z)/|z|^2, in all phi-functions."),
    (FUNCTORS, [("return phi_one(z) + phi_two(z).times(0.5f * dt);", "return phi_one(z) + phi_two(z).times(0.5f);")],
     "poly", "both", "poly's second term lacks one power of Delta: Delta phi_2/2 in place of Delta^2 phi_2/2."),
    (FUNCTORS, [("return phi_one(z) + phi_two(z).times(0.5f * dt);", "return (phi_one(z) + phi_two(z).times(0.5f * dt)).times(0.5f);")],
     "poly", "both", "poly's whole B_bar is halved: the 1/2 of the mean of both directions, which the scan applies, is in the coefficient too."),
    (MERGED, [("a_im = ((1.f + 0.5f * x) * s + s * c) / m;", "a_im = ((1.f + 0.5f * x) * s - s * c) / m;")],
     "bilinear", "complex", "A wrong sign in the imaginary part of bilinear's A_bar: (1 + x/2) s - s c in place of + s c. B_bar is right."),
    (FUNCTORS, [("T s = z.times(1.f / 4.f).plus(1.f);", "T s = z.times(1.f / 3.f).plus(1.f);")],
     "rk4", "both", "rk4's innermost Horner factor is 1 + z/3 in place of 1 + z/4: the last term is Delta^4 A^3/18, not /24."),
    (GENERIC, [(": (phi2(z) - 0.5f) / z; }", ": (phi1(z) - 0.5f) / z; }")],
     "highorder", "both", "For |z| >= 2 phi_3 is made of phi_1 in place of phi_2: (phi_1 - 1/2)/z."),
    (SPLIT, [("if (m == 0) return {e, 0.f, 1.f, 0.f};\n    if (m == 5)", "if (m == 0) return {e, 0.f, z == 0.f ? 1.f : expm1f(z) / z, 0.f};\n    if (m == 5)")],
     "zoh", "real", "zoh with real weights has the exact hold's B_bar = Delta phi_1 B in place of the specified Delta B."),
    (LIFTED, [("angle = z.i;", "angle = z.i - 6.28f * rintf(z.i / 6.28f);    // into [-pi, pi], for the fast sine")],
     "zoh foh poly highorder rk4", "complex", "The angle Im z is reduced by multiples of 6.28, a 2 pi cut to three digits: e^z (and the phi-functions made of it) turns wrong by 3.2e-3 for each turn, once |Im z| > pi."),
    (FUNCTORS, [("z.norm() < 1.75f ? taylor<2>(z) : (z", "z.norm() < 0.5f ? z.times(1.f / 6.f).plus(0.5f) : (z")],
     "foh poly highorder", "both", "Below |z| = 0.5 phi_2 is cut to 1/2 + z/6: the next terms z^2/24 … are missing, too short a series for such a wide guard."),
    (GENERIC, [("phi1(z) + delta * (phi2(z) + (0.5f * delta) * phi3(z))", "phi1(z) + (delta * delta) * phi2(z) + (0.5f * delta) * phi3(z)")],
     "highorder", "both", "highorder's powers of Delta are exchanged between its second and third terms: Delta^3 phi_2 and Delta^2 phi_3/2."),
    (FUNCTORS, [("const Num<kC> bu = Method<kMethod>::h(z, dt) * number<kC>(du);",
                 "Num<kC> bu = Method<kMethod>::h(z, dt) * number<kC>(du);\n    if (kMethod == 1 || kMethod == 5) bu = bu * number<kC>(B);    // B_bar = h B")],
     "foh rk4", "both", "foh and rk4 multiply by B_val although B is in delta_u already, or is applied by the caller: B enters twice."),
    (GENERIC, [("case 1: factor = delta * phi2(z); break;",
                "case 1: factor = delta * over_square(phi2(z) * (z * z), z); break;"),
               ("// Abar and the factor of", "__device__ inline float over_square(float f, float z) { return z == 0.f ? 0.5f : f / (z * z); }\n"
                "__device__ inline Cx over_square(Cx f, Cx z) {    // f / z^2\n    const float n = size2(z);\n    if (n == 0.f) return {0.5f, 0.f};\n"
                "    const Cx inverse = {z.re / n, z.im / n};\n    return f * inverse * inverse;\n}\n\n// Abar and the factor of")],
     "foh", "complex", "foh divides by conj(z)^2 in place of z^2: the reciprocal z/|z|^2 lacks its conjugate."),
    (GENERIC, [("a_bar = (1.f + half) / (one - half);", "a_bar = 1.f + half / (one - half);"),
               ("(1.f / 6.f) * one + (1.f / 24.f) * z", "(1.f / 8.f) * one + (1.f / 24.f) * z")],
     "bilinear rk4", "both", "Two mistakes: bilinear's A_bar lacks parentheres, 1 + (z/2)/(1 - z/2) in place of (1 + z/2)/(1 - z/2), and rk4's third term is Delta^3 A^2/8 in place of /6.".replace("parentheres", "parentheses")),
    (SPLIT, [("p.hr * ur - p.hi * ui, p.hr * ui + p.hi * ur", "p.hr * ur, p.hi * ur"),
             ("float ur = delta_u_val.real_, ui = delta_u_val.imag_;", "float ur = delta_u_val.real_;    // Delta u is real")],
     "zoh foh bilinear poly highorder rk4", "complex", "The imaginary part of a complex delta_u (Delta B u, where B varies) is dropped: only its real part is multiplied by the coefficient. A constant B is not affected where delta_u comes as a float."),
    (GENERIC, [("(exp_minus_one(z) - z) / (z * z)", "less_one_and_z(z) / (z * z)"),
               ("// sum_j z^j first", "__device__ inline float less_one_and_z(float z) { return expm1f(z) - 1.f - z; }\n"
                "__device__ inline Cx less_one_and_z(Cx z) { return exponential(z) - 1.f - z; }\n\n// sum_j z^j first")],
     "foh poly highorder", "real", "After the change from exp to expm1 the 1 is still subtracted: for |z| >= 2 phi_2 of real weights is (expm1(z) - 1 - z)/z^2; phi_3 is made of it."),
    (MERGED, [("default: return {1.f, dt, 0.5f * dt * dt};", "default: return {1.f, 0.5f * dt, dt * dt / 6.f};")],
     "highorder", "both", "highorder's terms are divided by (i+1)! in place of i!: Delta phi_1 + Delta^2 phi_2/2 + Delta^3 phi_3/6."),
]


def main():
    about = []
    for i, (text, style) in enumerate(RIGHT):
        name = f"c{i + 1:02d}.cuh"
        open(os.path.join(HERE, name), "w").write(text)
        about.append({"file": name, "right": True, "methods": [], "weights": "both", "cause": f"Right: {style}."})
    for i, (text, edits, methods, weights, cause) in enumerate(FAULTY):
        for old, new in edits:
            assert text.count(old) == 1, (i + 1, old, text.count(old))
            text = text.replace(old, new)
        name = f"h{i + 1:02d}.cuh"
        open(os.path.join(HERE, name), "w").write(text)
        about.append({"file": name, "right": False, "methods": methods.split(), "weights": weights, "cause": cause})
    json.dump(about, open(os.path.join(HERE, "cases.json"), "w"), indent=1)


if __name__ == "__main__":
    main()
