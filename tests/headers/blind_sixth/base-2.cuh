#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// A step of one state: inputs in, coefficients out. The method picks an entry of a table.
template <typename W>
struct StateStep {
    float dt;
    W a, du;       // A, delta * u (with B in it where B varies)
    W abar, bbaru;

    using Rule = void (*)(StateStep&);

    static __device__ float head(float v) { return v; }
    static __device__ float head(complex_t v) { return v.real_; }
    static __device__ float len(float v) { return fabsf(v); }
    static __device__ float len(complex_t v) { return hypotf(v.real_, v.imag_); }

    static __device__ float div(float p, float q) { return p / q; }
    static __device__ complex_t div(complex_t p, complex_t q) {
        const bool tall = fabsf(q.imag_) > fabsf(q.real_);
        // turn by 90 degrees so that the real part is the larger one
        if (tall) {
            p = complex_t(p.imag_, -p.real_);
            q = complex_t(q.imag_, -q.real_);
        }
        const float t = q.imag_ / q.real_, n = q.real_ + t * q.imag_;
        return complex_t((p.real_ + t * p.imag_) / n, (p.imag_ - t * p.real_) / n);
    }
    static __device__ float ex(float v) { return expf(v); }
    static __device__ complex_t ex(complex_t v) {
        float s, c;
        sincosf(v.imag_, &s, &c);
        const float m = expf(v.real_);
        return complex_t(m * c, m * s);
    }
    static __device__ float exm1(float v) { return expm1f(v); }
    static __device__ complex_t exm1(complex_t v) {
        float s, c;
        sincosf(v.imag_, &s, &c);
        const float m = expm1f(v.real_);
        const float vers = sinf(v.imag_ * 0.5f) * sinf(v.imag_ * 0.5f) * 2.f;
        return complex_t(m * c - vers, (m + 1.f) * s);
    }
    static __device__ float shifted(float v, float by) { return v - by; }
    static __device__ complex_t shifted(complex_t v, float by) { return complex_t(v.real_ - by, v.imag_); }
    static __device__ float up(float v, int k) { return ldexpf(v, k); }
    static __device__ complex_t up(complex_t v, int k) { return complex_t(ldexpf(v.real_, k), ldexpf(v.imag_, k)); }

    __device__ W z() const { return a * dt; }

    // b_bar u = (c1 phi_1 + c2 phi_2 + c3 phi_3) du
    __device__ void by_phi(float c1, float c2, float c3) {
        const W v = z();
        if (len(v) <= 2.f) {
            static constexpr float inverse_factorials[] = {
                1.f, 1.f, 1.f / 2.f, 1.f / 6.f, 1.f / 24.f, 1.f / 120.f, 1.f / 720.f, 1.f / 5040.f, 1.f / 40320.f,
                1.f / 362880.f, 1.f / 3628800.f, 1.f / 39916800.f, 1.f / 479001600.f, 1.f / 6227020800.f,
                1.f / 87178291200.f, 1.f / 1307674368000.f, 1.f / 20922789888000.f};
            W f3 = inverse_factorials[16];
            for (int j = 15; j >= 3; --j) f3 = f3 * v + inverse_factorials[j];
            const W f2 = f3 * v + inverse_factorials[2];
            const W f1 = f2 * v + inverse_factorials[1];
            abar = ex(v);
            bbaru = (f1 * c1 + f2 * c2 + f3 * c3) * du;
        } else if (head(v) > 80.f) {
            const int k = int(rintf(head(v) * 1.44269504f));
            const W low = shifted(shifted(v, k * 0.693145752f), k * 1.42860677e-6f);
            const W e = ex(low);
            const W f1 = div(e, v), f2 = div(f1, v), f3 = div(f2, v);
            abar = up(e, k);
            bbaru = up(up(f1 * c1 + f2 * c2 + f3 * c3, k / 3) * du, k - k / 3);
        } else {
            const W f1 = div(exm1(v), v);
            const W f2 = div(f1 - 1.f, v);
            const W f3 = div(f2 - 0.5f, v);
            abar = ex(v);
            bbaru = (f1 * c1 + f2 * c2 + f3 * c3) * du;
        }
    }

    static __device__ void zoh(StateStep& s) { s.abar = ex(s.z()), s.bbaru = s.du; }
    static __device__ void foh(StateStep& s) { s.by_phi(0.f, s.dt, 0.f); }
    static __device__ void poly(StateStep& s) { s.by_phi(1.f, 0.5f * s.dt, 0.f); }
    static __device__ void highorder(StateStep& s) { s.by_phi(1.f, s.dt, 0.5f * s.dt * s.dt); }
    static __device__ void bilinear(StateStep& s) {
        const W half = s.z() * 0.5f;
        s.abar = div(1.f + half, 1.f - half);
        s.bbaru = div(s.du, 1.f - half);
    }
    static __device__ void rk4(StateStep& s) {
        const W v = s.z();
        s.abar = ex(v);
        s.bbaru = (1.f + v * (0.5f + v * (1.f / 6.f + v * (1.f / 24.f)))) * s.du;
    }
    __device__ void run(int id) {
        const Rule rules[6] = {&zoh, &foh, &bilinear, &poly, &highorder, &rk4};
        rules[id](*this);
    }
};

template <typename weight_t, bool kIsComplex, typename T>
__device__ auto compute_discretization(float delta_val, weight_t A_val, T delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    StateStep<weight_t> s;
    s.dt = delta_val;
    s.a = A_val;
    s.du = delta_u_val;
    s.run(static_cast<int>(method));
    if constexpr (kIsComplex) {
        return make_float4(s.abar.real_, s.abar.imag_, s.bbaru.real_, s.bbaru.imag_);
    } else {
        return make_float2(s.abar, s.bbaru);
    }
}
