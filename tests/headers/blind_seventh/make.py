"""Writes h01 … h20.cuh and c01 … c05.cuh: three right headers by different hands, and edits of them. cases.json says what was edited."""
import json, os
HERE = os.path.dirname(os.path.abspath(__file__))

# ------------------------------------------------------------------ hand 1: overloads, a small complex struct, a switch
ONE = r'''#pragma once
// Discretization coefficients, shared by the forward kernels.
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace disc {

struct Cx { float re, im; };

__device__ inline Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Cx operator*(Cx a, Cx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Cx operator*(float s, Cx a) { return {s * a.re, s * a.im}; }
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
'''
ONE = ONE.replace("__device__ inline Cx operator+(float s, Cx a)", "__device__ inline Cx operator*(Cx a, float s) { return {a.re * s, a.im * s}; }\n__device__ inline Cx operator+(float s, Cx a)")

# ------------------------------------------------------------------ hand 2: real and imaginary parts spelled out, one branch of kIsComplex each
TWO = r'''// Coefficients by method; real weights above, complex ones below.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// phi_3 first, the others by phi_k = 1/k! + z phi_{k+1}; for |z| <= 1 that loses nothing.
__device__ inline void phis_real(float z, float& e0, float& p1, float& p2, float& p3) {
    e0 = expf(z);
    if (fabsf(z) <= 1.0f) {
        p3 = 1.0f / 6 + z * (1.0f / 24 + z * (1.0f / 120 + z * (1.0f / 720 + z * (1.0f / 5040 + z * (1.0f / 40320 +
             z * (1.0f / 362880 + z * (1.0f / 3628800 + z * (1.0f / 39916800))))))));
        p2 = 0.5f + z * p3;
        p1 = 1.0f + z * p2;
    } else {
        const float em = expm1f(z);
        const float rz = 1.0f / z;
        p1 = em * rz;
        p2 = (em - z) * rz * rz;
        p3 = (p2 - 0.5f) * rz;
    }
}

__device__ inline void cmul(float ar, float ai, float br, float bi, float& cr, float& ci) {
    cr = ar * br - ai * bi;
    ci = ar * bi + ai * br;
}

__device__ inline void phis_complex(float x, float y, float e[2], float p1[2], float p2[2], float p3[2]) {
    const float m = expf(x);
    const float s = sinf(y), c = cosf(y), sh = sinf(y * 0.5f);
    e[0] = m * c;
    e[1] = m * s;
    if (x * x + y * y <= 1.0f) {
        const float k[9] = {1.0f / 39916800, 1.0f / 3628800, 1.0f / 362880, 1.0f / 40320, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6};
        float r = k[0], i = 0.0f, tr, ti;
        for (int j = 1; j < 9; ++j) { cmul(r, i, x, y, tr, ti); r = tr + k[j]; i = ti; }
        p3[0] = r; p3[1] = i;
        cmul(r, i, x, y, tr, ti);
        p2[0] = 0.5f + tr; p2[1] = ti;
        cmul(p2[0], p2[1], x, y, tr, ti);
        p1[0] = 1.0f + tr; p1[1] = ti;
    } else {
        const float q = 1.0f / (x * x + y * y);
        const float wr = x * q, wi = -y * q;                       // 1/z
        const float emr = expm1f(x) * c - 2.0f * sh * sh;          // e^z - 1
        const float emi = m * s;
        cmul(emr, emi, wr, wi, p1[0], p1[1]);
        float tr, ti;
        cmul(emr - x, emi - y, wr, wi, tr, ti);
        cmul(tr, ti, wr, wi, p2[0], p2[1]);
        cmul(p2[0] - 0.5f, p2[1], wr, wi, p3[0], p3[1]);
    }
}

__device__ inline float du_re(float v) { return v; }
__device__ inline float du_im(float) { return 0.0f; }
__device__ inline float du_re(complex_t v) { return v.real_; }
__device__ inline float du_im(complex_t v) { return v.imag_; }

template <typename weight_t, bool kIsComplex, typename du_t>
__device__ auto compute_discretization(float delta_val, weight_t A_val, du_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const int id = int(method);
    if constexpr (!kIsComplex) {
        const float z = delta_val * A_val;
        float e0, p1, p2, p3;
        phis_real(z, e0, p1, p2, p3);
        float a_bar = e0, g = 1.0f;
        if (id == 1) {
            g = delta_val * p2;
        } else if (id == 2) {
            const float r = 1.0f / (1.0f - 0.5f * z);
            a_bar = (1.0f + 0.5f * z) * r;
            g = r;
        } else if (id == 3) {
            g = p1 + 0.5f * delta_val * p2;
        } else if (id == 4) {
            g = p1 + delta_val * p2 + 0.5f * delta_val * delta_val * p3;
        } else if (id == 5) {
            g = 1.0f + z * (0.5f + z * (1.0f / 6 + z / 24));
        }
        return make_float2(a_bar, g * delta_u_val);
    } else {
        const float x = delta_val * A_val.real_, y = delta_val * A_val.imag_;
        float e[2], p1[2], p2[2], p3[2];
        phis_complex(x, y, e, p1, p2, p3);
        float ar = e[0], ai = e[1], gr = 1.0f, gi = 0.0f;
        if (id == 1) {
            gr = delta_val * p2[0];
            gi = delta_val * p2[1];
        } else if (id == 2) {
            const float dr = 1.0f - 0.5f * x, di = -0.5f * y;
            const float q = 1.0f / (dr * dr + di * di);
            gr = dr * q;
            gi = -di * q;
            cmul(1.0f + 0.5f * x, 0.5f * y, gr, gi, ar, ai);
        } else if (id == 3) {
            gr = p1[0] + 0.5f * delta_val * p2[0];
            gi = p1[1] + 0.5f * delta_val * p2[1];
        } else if (id == 4) {
            const float d2 = 0.5f * delta_val * delta_val;
            gr = p1[0] + delta_val * p2[0] + d2 * p3[0];
            gi = p1[1] + delta_val * p2[1] + d2 * p3[1];
        } else if (id == 5) {
            float tr = 1.0f / 6 + x / 24, ti = y / 24, ur, ui;
            cmul(tr, ti, x, y, ur, ui);
            cmul(0.5f + ur, ui, x, y, tr, ti);
            gr = 1.0f + tr;
            gi = ti;
        }
        float br, bi;
        cmul(gr, gi, du_re(delta_u_val), du_im(delta_u_val), br, bi);
        return make_float4(ar, ai, br, bi);
    }
}
'''

# ------------------------------------------------------------------ hand 3: a traits struct, published formulas by 1/A, a functor per method
THREE = r'''#pragma once
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
    static __device__ T exp(T a) { return expf(a); }
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
'''
BASES = {1: ONE, 2: TWO, 3: THREE}
E = ["zoh", "foh", "poly", "highorder", "rk4"]          # those whose Ā is e^z
# base, methods wrong, weights, cause, edits (old, new)
FAULTY = [
 (1, ["foh"], "both", "B̄u is Δ²φ₂·(Δu): the published Δ²φ₂ multiplies delta_u, which holds Δ already, so there is one Δ too many.",
  [("            h = dt * phi2(z);", "            h = (dt * dt) * phi2(z);")]),
 (3, ["poly"], "both", "The ½ stands at the wrong term: ½Δφ₁ + Δ²φ₂ in place of Δφ₁ + ½Δ²φ₂.",
  [("N::add(first(), N::scale(0.5f * dt, second()))", "N::add(N::scale(0.5f, first()), N::scale(dt, second()))")]),
 (2, ["highorder"], "both", "1/i! is read as 1/(i+1)!: Δφ₁ + ½Δ²φ₂ + ⅙Δ³φ₃ in place of Δφ₁ + Δ²φ₂ + ½Δ³φ₃.",
  [("g = p1 + delta_val * p2 + 0.5f * delta_val * delta_val * p3;", "g = p1 + delta_val * p2 / 2 + delta_val * delta_val * p3 / 6;"),
   ("const float d2 = 0.5f * delta_val * delta_val;", "const float d1 = delta_val / 2, d2 = delta_val * delta_val / 6;"),
   ("gr = p1[0] + delta_val * p2[0] + d2", "gr = p1[0] + d1 * p2[0] + d2"), ("gi = p1[1] + delta_val * p2[1] + d2", "gi = p1[1] + d1 * p2[1] + d2")]),
 (1, ["rk4"], "both", "The cubic term uses z² where z³ is meant (variable z2 again): 1 + z/2 + z²/6 + z²/24.",
  [("            const T z3 = z2 * z;\n", ""), ("(1.0f / 24.0f) * z3", "(1.0f / 24.0f) * z2")]),
 (2, ["bilinear"], "complex", "The denominator |1 − z/2|² takes Im z unhalved: (1 − x/2)² + y² in place of (1 − x/2)² + (y/2)²; Ā and B̄ share it.",
  [("q = 1.0f / (dr * dr + di * di)", "q = 1.0f / (dr * dr + y * y)")]),
 (3, ["bilinear"], "real", "Ā is clamped to be at least 0 ('a decay is positive'), although it is rightly negative for z < −2.",
  [("    static __device__ T read(float a) { return a; }", "    static __device__ T positive(T a) { return fmaxf(a, 0.0f); }\n    static __device__ T read(float a) { return a; }"),
   ("    static __device__ float4 pack", "    static __device__ T positive(T a) { return a; }\n    static __device__ float4 pack"),
   ("return m == 2 ? N::mul(N::add(N::make(1.0f), N::scale(0.5f, z)), cayley()) : e;", "// a decay is never negative\n        return m == 2 ? N::positive(N::mul(N::add(N::make(1.0f), N::scale(0.5f, z)), cayley())) : e;")]),
 (1, ["highorder"], "both", "φ₃ in its series branch (|z| < 0.7) is cut after three terms: 1/6 + z/24 + z²/120.",
  [("size(z) < 0.7f ? series<3>(z)", "size(z) < 0.7f ? (1.0f / 6.0f) + z * ((1.0f / 24.0f) + (1.0f / 120.0f) * z)")]),
 (2, ["poly", "highorder", "foh"], "complex", "In e^z − 1 the imaginary part lacks the factor e^x: it is sin y, so φ₁, φ₂ and φ₃ are wrong where |z| > 1. Ā is right.",
  [("const float emi = m * s;", "const float emi = s;")]),
 (3, ["foh", "poly", "highorder", "bilinear"], "complex", "The complex reciprocal forgets to conjugate: z/|z|² in place of conj(z)/|z|². It serves 1/z of the closed forms (|z| ≥ ½) and the resolvent of bilinear.",
  [("return {a.r / q, -a.i / q};", "return {a.r / q, a.i / q};")]),
 (2, ["foh", "highorder"], "real", "B is multiplied in once more: the branches of foh and highorder multiply by B_val, though delta_u has B already, or the caller multiplies by it.",
  [("g = delta_val * p2;", "g = delta_val * p2 * B_val;"), ("g = p1 + delta_val * p2 + 0.5f * delta_val * delta_val * p3;", "g = (p1 + delta_val * p2 + 0.5f * delta_val * delta_val * p3) * B_val;")]),
 (1, ["highorder"], "both", "φ₃'s closed form (|z| ≥ 0.7) recurs from φ₁ where φ₂ is meant: (φ₁ − ½)/z.",
  [("over((-0.5f) + phi2(z), z)", "over((-0.5f) + phi1(z), z)")]),
 (1, ["foh"], "both", "A missing break: the case of foh falls through to that of bilinear, so foh's B̄ is Δ/(1 − z/2), with Ā = e^z.",
  [("            h = dt * phi2(z);\n            break;", "            h = dt * phi2(z);")]),
 (2, ["rk4"], "complex", "Horner's loop of complex B̄ multiplies componentwise at its last step, (x·Re, y·Im), and not as complex numbers.",
  [("cmul(0.5f + ur, ui, x, y, tr, ti);", "tr = x * (0.5f + ur);\n            ti = y * ui;")]),
 (3, E, "real", "z is clamped to at least −5 before the exponential of Ā, so Ā never falls below e^−5; B̄ uses the true z.",
  [("static __device__ T exp(T a) { return expf(a); }", "static __device__ T exp(T a) { return expf(fmaxf(a, -5.0f)); }")]),
 (2, ["foh", "poly", "highorder"], "real", "The small-argument branch of φ₂ has alternating signs, ½ − zφ₃, as if z stood for −ΔA; φ₁ is made from that φ₂ and is wrong too.",
  [("        p2 = 0.5f + z * p3;\n", "        p2 = 0.5f - z * p3;\n")]),
 (1, ["bilinear"], "both", "B̄ is ½Δ(1 + e^z): the average of 1 and e^z, where bilinear's is ½Δ(1 + Ā) with Ā the Cayley form. Ā is right.",
  [("            h = inv(1.0f - 0.5f * z);", "            h = 0.5f * (1.0f + ex(z));      // mean of both ends of the step")]),
 (3, ["foh", "highorder", "poly"], "both", "Cancellation: φ₂ = (e^z − 1 − z)/z² is computed by exp as it stands down to |z| = 1e-4, and loses its digits.",
  [("    // (e^z - 1 - z) / z^2\n    __device__ T second() const {\n        if (small)", "    // (e^z - 1 - z) / z^2\n    __device__ T second() const {\n        if (N::norm(z) < 1e-4f)"),
   ("N::mul(N::mul(N::add(em, N::scale(-1.0f, z)), rz), rz)", "N::mul(N::add(e, N::add(N::make(-1.0f), N::scale(-1.0f, z))), N::mul(rz, rz))")]),
 (3, E, "real", "exp by exp2 with a mistyped log₂e: 1.4429504 (a digit is dropped), where 1.44269504 is right; Ā decays too fast by 0.018 % of z.",
  [("static __device__ T exp(T a) { return expf(a); }", "static __device__ T exp(T a) { return exp2f(a * 1.4429504f); }")]),
 (2, ["foh"], "real", "The guard looks at Δ and not at z: for Δ < 0.01 B̄ is Δ²/2 however large ΔA is.",
  [("            g = delta_val * p2;\n        } else if (id == 2) {\n            const float r", "            g = delta_val < 1e-2f ? 0.5f * delta_val : delta_val * p2;\n        } else if (id == 2) {\n            const float r")]),
 (1, ["poly", "foh", "highorder"], "both", "φ₂'s closed form (|z| ≥ 0.7) divides by z once: (e^z − 1 − z)/z; φ₃, which recurs from it, is wrong too.",
  [("over(em1(z) - z, z * z)", "over(em1(z) - z, z)")]),
]
RIGHT = [
 (1, "Right: overloads and a switch.", []),
 (2, "Right: parts spelled out, φ by the upward recurrence from φ₃.", []),
 (3, "Right: traits and published formulas.", [("static __device__ T exp(T a) { return expf(a); }", "static __device__ T exp(T a) { return expf(a); }")]),
 (1, "Right: everything inside in double, rounded at the end.", "double"),
 (2, "Right: bilinear's B̄ by one reciprocal 2/(2 − z), rk4 by ascending powers.", [
   ("const float r = 1.0f / (1.0f - 0.5f * z);\n            a_bar = (1.0f + 0.5f * z) * r;\n            g = r;", "const float r = 1.0f / (2.0f - z);\n            a_bar = (2.0f + z) * r;\n            g = 2.0f * r;"),
   ("g = 1.0f + z * (0.5f + z * (1.0f / 6 + z / 24));", "const float zz = z * z;\n            g = (1.0f + 0.5f * z) + zz * (1.0f / 6) + zz * z * (1.0f / 24);")]),
]


def in_double(s):
    """Hand 1 with double inside: its float functions lose their f, its results are rounded once."""
    head, body = s.split("struct Cx", 1)
    inner, outer = body.split("__device__ inline float load", 1)
    for f in ["expf", "expm1f", "cosf", "sinf", "fabsf"]: inner = inner.replace(f + "(", f[:-1] + "(")
    inner = inner.replace("fmaxf(", "fmax(").replace("float", "double").replace("0f", "0").replace("0.7f", "0.7").replace("5f", "5")
    inner = inner.replace("c[14]", "c[20]").replace("j < 14", "j < 20").replace("c[13]", "c[19]").replace("j = 12", "j = 18")
    outer = "__device__ inline float load" + outer
    outer = outer.replace("inline float load(float a)", "inline double load(float a)").replace("store(float a, float b) { return make_float2(a, b)", "store(double a, double b) { return make_float2(float(a), float(b))")
    outer = outer.replace("make_float4(a.re, a.im, b.re, b.im)", "make_float4(float(a.re), float(a.im), float(b.re), float(b.im))")
    outer = outer.replace("store(Cx a, float b) { return make_float4(a.re, a.im, b, 0.0f)", "store(Cx a, double b) { return make_float4(float(a.re), float(a.im), float(b), 0.0f)")
    outer = outer.replace("gain(T z, float dt", "gain(T z, double dt").replace("const auto z = delta_val *", "const auto z = double(delta_val) *")
    outer = outer.replace(".0f / ", ".0 / ").replace("6.0f", "6.0").replace("24.0f", "24.0").replace("0.5f", "0.5").replace("1.0f", "1.0").replace("0.0f * z", "0.0 * z").replace("disc::gain(z, delta_val", "disc::gain(z, double(delta_val)")
    return head + "struct Cx" + inner + outer


def edit(text, edits):
    for old, new in edits:
        assert text.count(old) == 1, (text.count(old), old)
        text = text.replace(old, new)
    return text


cases = []
for i, (base, methods, weights, cause, edits) in enumerate(FAULTY):
    name = f"h{i + 1:02d}.cuh"; open(os.path.join(HERE, name), "w").write(edit(BASES[base], edits))
    cases.append({"file": name, "right": False, "methods": methods, "weights": weights, "cause": cause})
for i, (base, cause, edits) in enumerate(RIGHT):
    name = f"c{i + 1:02d}.cuh"; text = in_double(BASES[base]) if edits == "double" else edit(BASES[base], edits)
    open(os.path.join(HERE, name), "w").write(text)
    cases.append({"file": name, "right": True, "methods": [], "weights": "both", "cause": cause})
json.dump(cases, open(os.path.join(HERE, "cases.json"), "w"), indent=1, ensure_ascii=False)
