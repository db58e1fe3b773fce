#pragma once
// Step and its vector-Jacobian product. One struct holds abar, h (the B_bar of B = 1, over delta) and their derivatives.
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace vjp {

struct Z {
    double re, im;
    __device__ Z(double r = 0.0, double i = 0.0) : re(r), im(i) {}
    __device__ Z conj() const { return Z(re, -im); }
};
__device__ inline Z operator+(Z a, Z b) { return Z(a.re + b.re, a.im + b.im); }
__device__ inline Z operator-(Z a, Z b) { return Z(a.re - b.re, a.im - b.im); }
__device__ inline Z operator*(Z a, Z b) { return Z(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
__device__ inline Z operator/(Z a, Z b) {
    const double n = b.re * b.re + b.im * b.im;
    return Z((a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n);
}
__device__ inline Z load(float v) { return Z(v); }
__device__ inline Z load(complex_t v) { return Z(v.real_, v.imag_); }
__device__ inline void store(Z v, float& to) { to = float(v.re); }
__device__ inline void store(Z v, complex_t& to) { to = complex_t(float(v.re), float(v.im)); }

// phi_0 .. phi_4
struct Phi {
    Z f[5];
    __device__ explicit Phi(Z z) {
        f[0] = Z(exp(z.re) * cos(z.im), exp(z.re) * sin(z.im));
        if (fabs(z.re) + fabs(z.im) < 4.0) {
            Z s(1.0);
            for (int j = 32; j > 0; --j) s = Z(1.0) + Z(1.0 / (4 + j)) * z * s;
            f[4] = Z(1.0 / 24.0) * s;
            f[3] = Z(1.0 / 6.0) + z * f[4];
            f[2] = Z(0.5) + z * f[3];
            f[1] = Z(1.0) + z * f[2];
        } else {
            f[1] = (f[0] - Z(1.0)) / z;
            f[2] = (f[1] - Z(1.0)) / z;
            f[3] = (f[2] - Z(0.5)) / z;
            f[4] = (f[3] - Z(1.0 / 6.0)) / z;
        }
    }
    // phi_k'
    __device__ Z slope(Z z, int k) const {
        if (k == 0) return f[0];
        if (fabs(z.re) + fabs(z.im) < 4.0) return f[k] - Z(k) * f[k + 1];
        return (f[k - 1] - Z(k) * f[k]) / z;
    }
};

struct Step {
    Z abar, abar_by_dt, abar_by_a;
    Z b, b_by_dt, b_by_a;   // of B_bar / B
    Z gain;                 // B_bar / (delta B)

    __device__ Step(double d, Z a, int method) {
        const Z dt(d), z = dt * a, half = Z(0.5) * z;
        if (method == 2) {
            const Z r = Z(1.0) / (Z(1.0) - half);
            abar = (Z(1.0) + half) * r;
            abar_by_a = dt * r * r;
            abar_by_dt = a * r * r;
            gain = r;
            b_by_a = Z(0.5) * dt * dt * r * r;
            b_by_dt = r;
        } else {
            const Phi p(z);
            abar = p.f[0];
            abar_by_a = dt * p.f[0];
            abar_by_dt = a * p.f[0];
            switch (method) {
                case 0:
                    gain = Z(1.0);
                    b_by_dt = Z(1.0);
                    b_by_a = Z(0.0);
                    break;
                case 1:
                    gain = dt * p.f[2];
                    b_by_dt = dt * p.f[1];
                    b_by_a = dt * dt * dt * p.slope(z, 2);
                    break;
                case 3:
                    gain = p.f[1] + Z(0.5) * dt * p.f[2];
                    b_by_dt = p.f[0] + Z(0.5) * dt * p.f[1];
                    b_by_a = dt * dt * (p.slope(z, 1) + Z(0.5) * dt * p.slope(z, 2));
                    break;
                case 4:
                    gain = p.f[1] + dt * (p.f[2] + Z(0.5) * dt * p.f[3]);
                    b_by_dt = p.f[0] + dt * (p.f[1] + Z(0.5) * dt * p.f[2]);
                    b_by_a = dt * dt * (p.slope(z, 1) + dt * (p.slope(z, 2) + Z(0.5) * dt * p.slope(z, 3)));
                    break;
                default:
                    gain = Z(1.0) + half * (Z(1.0) + Z(1.0 / 3.0) * z * (Z(1.0) + Z(0.25) * z));
                    b_by_dt = Z(1.0) + z * (Z(1.0) + half * (Z(1.0) + Z(1.0 / 3.0) * z));
                    b_by_a = dt * dt * (Z(0.5) + z * (Z(1.0 / 3.0) + Z(0.125) * z));
            }
        }
        b = dt * gain;
    }
};

}  // namespace vjp

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const vjp::Step s(delta_val, vjp::load(A_val), static_cast<int>(method));
    const vjp::Z v = s.gain * vjp::load(delta_u_val);
    if constexpr (kIsComplex) {
        return make_float4(float(s.abar.re), float(s.abar.im), float(v.re), float(v.im));
    } else {
        return make_float2(float(s.abar.re), float(v.re));
    }
}

template <typename weight_t, bool kIsComplex>
__device__ void compute_discretization_backward(float delta_val, weight_t A_val, weight_t B_val, weight_t d_A_bar,
                                                weight_t d_B_bar, DiscretizationMethod method, float& d_delta,
                                                weight_t& d_A, weight_t& d_B) {
    using namespace vjp;
    const Step s(delta_val, load(A_val), static_cast<int>(method));
    const Z B = load(B_val), ga = load(d_A_bar), gb = load(d_B_bar);
    d_delta = float((s.abar_by_dt.conj() * ga + (s.b_by_dt * B).conj() * gb).re);
    store(s.abar_by_a.conj() * ga + (s.b_by_a * B).conj() * gb, d_A);
    store(s.b.conj() * gb, d_B);
}
