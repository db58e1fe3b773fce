// Coefficients by method; real weights above, complex ones below.
#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

// phi_3 first, the others by phi_k = 1/k! + z phi_{k+1}; for |z| <= 1 that loses nothing.
__device__ inline void phis_real(float z, float& e0, float& p1, float& p2, float& p3) {
    e0 = expf(z);
    if (fabsf(z) <= 1.0f) {
        p3 = 1.0f / 6 + z * (1.0f / 24 + z * (1.0f / 120 + z * (1.0f / 720 + z * (1.0f / 5040 + z * (1.0f / 40320 +
             z * (1.0f / 362880 + z * (1.0f / 3628800 + z * (1.0f / 39916800))))))));
        p2 = 0.5f - z * p3;
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
