#pragma once
// Discretization coefficients, shared by the forward kernels.
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace disc {

struct Cx { double re, im; };

__device__ inline Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Cx operator*(Cx a, Cx b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Cx operator*(double s, Cx a) { return {s * a.re, s * a.im}; }
__device__ inline Cx operator*(Cx a, double s) { return {a.re * s, a.im * s}; }
__device__ inline Cx operator+(double s, Cx a) { return {s + a.re, a.im}; }
__device__ inline Cx operator-(double s, Cx a) { return {s - a.re, -a.im}; }
__device__ inline Cx inv(Cx a) { const double q = 1.0 / (a.re * a.re + a.im * a.im); return {a.re * q, -a.im * q}; }
__device__ inline Cx over(Cx a, Cx b) { return a * inv(b); }
__device__ inline double inv(double a) { return 1.0 / a; }
__device__ inline double over(double a, double b) { return a / b; }
__device__ inline double size(double a) { return fabs(a); }
__device__ inline double size(Cx a) { return fmax(fabs(a.re), fabs(a.im)); }

// e^z, and e^z - 1 without cancellation
__device__ inline double ex(double z) { return exp(z); }
__device__ inline Cx ex(Cx z) { const double m = exp(z.re); return {m * cos(z.im), m * sin(z.im)}; }
__device__ inline double em1(double z) { return expm1(z); }
__device__ inline Cx em1(Cx z) {
    const double s = sin(0.5 * z.im);
    return {expm1(z.re) * cos(z.im) - 2.0 * s * s, exp(z.re) * sin(z.im)};
}

// phi_k(z) = sum_j z^j / (j + k)!
template <int k, typename T>
__device__ inline T series(T z) {
    double c[20];
    double f = 1.0;
    for (int i = 2; i <= k; ++i) f *= i;
    for (int j = 0; j < 20; ++j) { c[j] = 1.0 / f; f *= (j + k + 1); }
    T s = c[19] + 0.0 * z;
    for (int j = 18; j >= 0; --j) s = c[j] + z * s;
    return s;
}
template <typename T> __device__ inline T phi1(T z) { return size(z) < 0.7 ? series<1>(z) : over(em1(z), z); }
template <typename T> __device__ inline T phi2(T z) { return size(z) < 0.7 ? series<2>(z) : over(em1(z) - z, z * z); }
template <typename T> __device__ inline T phi3(T z) { return size(z) < 0.7 ? series<3>(z) : over((-0.5) + phi2(z), z); }

__device__ inline double load(float a) { return a; }
__device__ inline Cx load(complex_t a) { return {a.real_, a.imag_}; }
__device__ inline float2 store(double a, double b) { return make_float2(float(a), float(b)); }
__device__ inline float4 store(Cx a, Cx b) { return make_float4(float(a.re), float(a.im), float(b.re), float(b.im)); }
__device__ inline float4 store(Cx a, double b) { return make_float4(float(a.re), float(a.im), float(b), 0.0f); }

// What B̄ is, over ΔB.
template <typename T>
__device__ inline T gain(T z, double dt, int method) {
    T h = 1.0 + 0.0 * z;
    switch (method) {
        case 0: break;
        case 1:
            h = dt * phi2(z);
            break;
        case 2:
            h = inv(1.0 - 0.5 * z);
            break;
        case 3:
            h = phi1(z) + (0.5 * dt) * phi2(z);
            break;
        case 4:
            h = phi1(z) + dt * phi2(z) + (0.5 * dt * dt) * phi3(z);
            break;
        case 5: {
            const T z2 = z * z;
            const T z3 = z2 * z;
            h = 1.0 + 0.5 * z + (1.0 / 6.0) * z2 + (1.0 / 24.0) * z3;
            break;
        }
    }
    return h;
}

template <typename T>
__device__ inline T decay(T z, int method) {
    if (method == 2) return over(1.0 + 0.5 * z, 1.0 - 0.5 * z);
    return ex(z);
}

}  // namespace disc

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const auto z = double(delta_val) * disc::load(A_val);
    const int m = static_cast<int>(method);
    return disc::store(disc::decay(z, m), disc::gain(z, double(delta_val), m) * (1.0 * disc::load(delta_u_val)));
}
