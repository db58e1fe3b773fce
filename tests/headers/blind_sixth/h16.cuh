#pragma once
// Everything between load and store in double: the coefficients cost little beside the scan.
#include "selective_scan_common.h"
#include "selective_scan.h"

struct dcx {
    double r, i;
};
__device__ inline dcx operator+(dcx a, dcx b) { return {a.r + b.r, a.i + b.i}; }
__device__ inline dcx operator*(dcx a, dcx b) { return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
__device__ inline dcx operator*(double s, dcx a) { return {s * a.r, s * a.i}; }
__device__ inline dcx operator/(dcx a, dcx b) {
    // |b|^2 of a float's square has room in a double
    const double n = b.r * b.r + b.i * b.i;
    return {(a.r * b.r + a.i * b.i) / n, (a.i * b.r - a.r * b.i) / n};
}
__device__ inline dcx dcx_exp(dcx z) {
    const double m = exp(z.r);
    return {m * cos(z.i), m * sin(z.i)};
}

// phi_K by recursion; the series of phi_K where the recursion would cancel
template <int K> __device__ inline dcx phi(dcx z) {
    if constexpr (K == 0) {
        return dcx_exp(z);
    } else {
        constexpr double inverse_factorial = K == 1 ? 1.0 : K == 2 ? 0.5 : 1.0 / 6.0;
        if (z.r * z.r + z.i * z.i < 1.0) {
            dcx s{1.0, 0.0};
            for (int j = 20; j > 0; --j) s = dcx{1.0, 0.0} + (1.0 / (K + j)) * (s * z);
            return inverse_factorial * s;
        }
        constexpr double before = K <= 2 ? 1.0 : 0.5;
        return (phi<K - 1>(z) + dcx{-before, 0.0}) / z;
    }
}

__device__ inline dcx to_dcx(float x) { return {double(x), 0.0}; }
__device__ inline dcx to_dcx(complex_t x) { return {double(x.real_), double(x.imag_)}; }

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const double dt = delta_val;
    const dcx one{1.0, 0.0};
    const dcx z = dt * to_dcx(A_val);
    dcx a = phi<0>(z), h = one;
    switch (static_cast<int>(method)) {
        case 1: h = dt * phi<2>(z); break;
        case 2: h = one / (one + -0.5 * z); a = (one + 0.5 * z) * h; break;
        case 3: h = phi<1>(z) + 0.5 * dt * phi<2>(z); break;
        case 4: h = phi<1>(z) + phi<2>(z); break;
        case 5: h = one + 0.5 * z * (one + (1.0 / 3.0) * z * (one + 0.25 * z)); break;
        default: break;
    }
    const dcx b = h * to_dcx(delta_u_val);
    if constexpr (kIsComplex) {
        return make_float4(float(a.r), float(a.i), float(b.r), float(b.i));
    } else {
        return make_float2(float(a.r), float(b.r));
    }
}
