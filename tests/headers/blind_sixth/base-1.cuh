#pragma once
// Discretization of a diagonal SSM. Coefficients by free functions, overloaded for real and complex weights.
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace disc {

constexpr int kZoh = 0, kFoh = 1, kBilinear = 2, kPoly = 3, kHighOrder = 4, kRk4 = 5;

// e^z and phi_1..phi_3, all times 2^-shift: shift is 0 unless e^z is near the end of the range.
template <typename W>
struct Series {
    W e, p1, p2, p3;
    int shift;
};

__device__ inline float size_of(float z) { return fabsf(z); }
__device__ inline float size_of(complex_t z) { return fabsf(z.real_) + fabsf(z.imag_); }
__device__ inline float real_of(float z) { return z; }
__device__ inline float real_of(complex_t z) { return z.real_; }

__device__ inline float quotient(float a, float b) { return a / b; }
__device__ inline complex_t quotient(complex_t a, complex_t b) {
    if (fabsf(b.real_) >= fabsf(b.imag_)) {
        const float r = b.imag_ / b.real_, d = b.real_ + b.imag_ * r;
        return complex_t((a.real_ + a.imag_ * r) / d, (a.imag_ - a.real_ * r) / d);
    }
    const float r = b.real_ / b.imag_, d = b.imag_ + b.real_ * r;
    return complex_t((a.real_ * r + a.imag_) / d, (a.imag_ * r - a.real_) / d);
}

__device__ inline float exponential(float z) { return expf(z); }
__device__ inline complex_t exponential(complex_t z) {
    float s, c;
    sincosf(z.imag_, &s, &c);
    const float m = expf(z.real_);
    return complex_t(m * c, m * s);
}

__device__ inline float exponential_minus_one(float z) { return expm1f(z); }
__device__ inline complex_t exponential_minus_one(complex_t z) {
    float s, c;
    sincosf(z.imag_, &s, &c);
    const float h = sinf(0.5f * z.imag_);
    return complex_t(expm1f(z.real_) * c - 2.f * h * h, expf(z.real_) * s);
}

__device__ inline float with_real_part(float, float x) { return x; }
__device__ inline complex_t with_real_part(complex_t z, float x) { return complex_t(x, z.imag_); }

__device__ inline float scaled(float z, int k) { return k == 0 ? z : ldexpf(z, k); }
__device__ inline complex_t scaled(complex_t z, int k) {
    return k == 0 ? z : complex_t(ldexpf(z.real_, k), ldexpf(z.imag_, k));
}

// h * v * 2^k; part of the power goes to h, so that the product of two small factors survives
template <typename W>
__device__ inline W scaled_product(W h, W v, int k) { return scaled(scaled(h, k / 3) * v, k - k / 3); }

template <typename W>
__device__ inline Series<W> expand(W z) {
    Series<W> f;
    f.shift = 0;
    if (size_of(z) <= 2.f) {
        // sum of z^j / (j + 3)!
        W t = z * (1.f / 17.f);
        for (int j = 16; j >= 4; --j) t = (t + 1.f) * z * (1.f / float(j));
        f.p3 = (t + 1.f) * (1.f / 6.f);
        f.p2 = z * f.p3 + 0.5f;
        f.p1 = z * f.p2 + 1.f;
        f.e = exponential(z);
        return f;
    }
    if (real_of(z) > 80.f) {
        const float x = real_of(z);
        const float n = rintf(x * 1.44269504f);
        f.shift = int(n);
        const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
        f.e = exponential(with_real_part(z, r));
        f.p1 = quotient(f.e, z);
        f.p2 = quotient(f.p1, z);
        f.p3 = quotient(f.p2, z);
        return f;
    }
    f.e = exponential(z);
    f.p1 = quotient(exponential_minus_one(z), z);
    f.p2 = quotient(f.p1 - 1.f, z);
    f.p3 = quotient(f.p2 - 0.5f, z);
    return f;
}

__device__ inline float2 packed(float a, float b) { return make_float2(a, b); }
__device__ inline float4 packed(complex_t a, complex_t b) { return make_float4(a.real_, a.imag_, b.real_, b.imag_); }

}  // namespace disc

template <typename weight_t, bool kIsComplex, typename input_t>
__device__ auto compute_discretization(float delta_val, weight_t A_val, input_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    using namespace disc;
    const weight_t du = delta_u_val;
    const weight_t z = A_val * delta_val;
    const int id = static_cast<int>(method);
    weight_t a_bar = 1.f, b_bar_u = du;
    switch (id) {
        case kZoh:
            a_bar = exponential(z);
            b_bar_u = du;
            break;
        case kFoh: {
            const Series<weight_t> f = expand(z);
            a_bar = scaled(f.e, f.shift);
            b_bar_u = scaled_product(f.p2 * delta_val, du, f.shift);
            break;
        }
        case kBilinear: {
            const weight_t den = 1.f - z * 0.5f;
            a_bar = quotient(z * 0.5f + 1.f, den);
            b_bar_u = quotient(du, den);
            break;
        }
        case kPoly: {
            const Series<weight_t> f = expand(z);
            a_bar = scaled(f.e, f.shift);
            b_bar_u = scaled_product(f.p1 + f.p2 * (0.5f * delta_val), du, f.shift);
            break;
        }
        case kHighOrder: {
            const Series<weight_t> f = expand(z);
            a_bar = scaled(f.e, f.shift);
            b_bar_u = scaled_product(f.p1 + (f.p2 + f.p3 * (0.5f * delta_val)) * delta_val, du, f.shift);
            break;
        }
        case kRk4: {
            a_bar = exponential(z);
            const weight_t z2 = z * z;
            b_bar_u = (1.f + z * 0.5f + z2 * (1.f / 6.f) + z2 * z * (1.f / 24.f)) * du;
            break;
        }
    }
    return packed(a_bar, b_bar_u);
}
