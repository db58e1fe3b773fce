#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"
#include <cmath>
#include <type_traits>

// Near z = 0 the input factor is summed as one series whose coefficients hold delta already.
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
            a_im = ((1.f + 0.5f * x) * s - s * c) / m;
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
