#pragma once
// The six steps, written once as macros and expanded for float and for complex_t.
#include "selective_scan_common.h"
#include "selective_scan.h"

#define SSM_INLINE __device__ __forceinline__

SSM_INLINE float ssm_re(float v) { return v; }
SSM_INLINE float ssm_re(complex_t v) { return v.real_; }
SSM_INLINE float ssm_norm(float v) { return fabsf(v); }
SSM_INLINE float ssm_norm(complex_t v) { return fmaxf(fabsf(v.real_), fabsf(v.imag_)); }

SSM_INLINE float ssm_inv(float v) { return 1.0f / v; }
SSM_INLINE complex_t ssm_inv(complex_t v) {
    const float s = 1.0f / ssm_norm(v);
    const float c = v.real_ * s, d = v.imag_ * s, n = c * c + d * d;
    return complex_t(c / n * s, -d / n * s);
}
SSM_INLINE float ssm_div(float a, float b) { return a / b; }
SSM_INLINE complex_t ssm_div(complex_t a, complex_t b) {
    const float s = 1.0f / ssm_norm(b);
    const float c = b.real_ * s, d = b.imag_ * s, n = c * c + d * d;
    return complex_t((a.real_ * c + a.imag_ * d) / n * s, (a.imag_ * c - a.real_ * d) / n * s);
}

// exp of z with the real part x in place of its own
SSM_INLINE float ssm_exp(float, float x) { return expf(x); }
SSM_INLINE complex_t ssm_exp(complex_t z, float x) {
    const float m = expf(x);
    return complex_t(m * cosf(z.imag_), m * sinf(z.imag_));
}
SSM_INLINE float ssm_expm1(float z) { return expm1f(z); }
SSM_INLINE complex_t ssm_expm1(complex_t z) {
    const float h = sinf(z.imag_ * 0.5f), m = expf(z.real_);
    return complex_t(expm1f(z.real_) * cosf(z.imag_) - 2.0f * h * h, m * sinf(z.imag_));
}
SSM_INLINE float ssm_ldexp(float v, int k) { return k ? ldexpf(v, k) : v; }
SSM_INLINE complex_t ssm_ldexp(complex_t v, int k) {
    return k ? complex_t(ldexpf(v.real_, k), ldexpf(v.imag_, k)) : v;
}
SSM_INLINE float2 ssm_pack(float a, float b) { return make_float2(a, b); }
SSM_INLINE float4 ssm_pack(complex_t a, complex_t b) { return make_float4(a.real_, a.imag_, b.real_, b.imag_); }

// declares e, f1, f2, f3 (times 2^-sh) and sh
#define SSM_PHIS(W, z)                                                              \
    W e, f1, f2, f3;                                                                \
    int sh = 0;                                                                     \
    if (ssm_norm(z) < 1.75f) {                                                      \
        f3 = z * (1.0f / 19.0f) + 1.0f;                                             \
        SSM_TERM(f3, z, 18) SSM_TERM(f3, z, 17) SSM_TERM(f3, z, 16)                 \
        SSM_TERM(f3, z, 15) SSM_TERM(f3, z, 14) SSM_TERM(f3, z, 13)                 \
        SSM_TERM(f3, z, 12) SSM_TERM(f3, z, 11) SSM_TERM(f3, z, 10)                 \
        SSM_TERM(f3, z, 9) SSM_TERM(f3, z, 8) SSM_TERM(f3, z, 7)                    \
        SSM_TERM(f3, z, 6) SSM_TERM(f3, z, 5) SSM_TERM(f3, z, 4)                    \
        f3 = f3 * (1.0f / 6.0f);                                                    \
        f2 = f3 * z + 0.5f;                                                         \
        f1 = f2 * z + 1.0f;                                                         \
        e = ssm_exp(z, ssm_re(z));                                                  \
    } else if (ssm_re(z) > 80.0f) {                                                 \
        const float n = rintf(ssm_re(z) * 1.44269504f);                             \
        sh = int(n);                                                                \
        e = ssm_exp(z, (ssm_re(z) - n * 0.693145752f) - n * 1.42860677e-6f);        \
        f1 = ssm_div(e, z), f2 = ssm_div(f1, z), f3 = ssm_div(f2, z);               \
    } else {                                                                        \
        e = ssm_exp(z, ssm_re(z));                                                  \
        f1 = ssm_div(ssm_expm1(z), z);                                              \
        f2 = ssm_div(f1 - 1.0f, z);                                                 \
        f3 = ssm_div(f2 - 0.5f, z);                                                 \
    }
#define SSM_TERM(acc, z, j) acc = acc * z * (1.0f / j) + 1.0f;

#define SSM_STEP(W)                                                                 \
    SSM_INLINE auto ssm_step(float dt, W a, W du, int id) {                         \
        const W z = a * dt;                                                         \
        if (id == 2) {                                                              \
            const W q = 1.0f - z * 0.5f;                                            \
            const W qi = ssm_inv(q);                                                \
            return ssm_pack(ssm_div(z * 0.5f + 1.0f, q), qi * du);                  \
        }                                                                           \
        if (id == 5) {                                                              \
            const W p = ((z * (1.0f / 24.0f) + 1.0f / 6.0f) * z + 0.5f) * z + 1.0f; \
            return ssm_pack(ssm_exp(z, ssm_re(z)), p * du);                         \
        }                                                                           \
        if (id == 0) return ssm_pack(ssm_exp(z, ssm_re(z)), du);                    \
        SSM_PHIS(W, z)                                                              \
        W h = f1;                                                                   \
        if (id == 1) h = f2 * dt;                                                   \
        if (id == 3) h = f1 + f2 * (0.5f * dt);                                     \
        if (id == 4) h = f1 + (f2 + f3 * (0.5f * dt)) * dt;                         \
        return ssm_pack(ssm_ldexp(e, sh), ssm_ldexp(ssm_ldexp(h, sh / 3) * du, sh - sh / 3));                   \
    }

SSM_STEP(float)
SSM_STEP(complex_t)

#undef SSM_STEP
#undef SSM_PHIS
#undef SSM_TERM

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    return ssm_step(delta_val, A_val, weight_t(delta_u_val), (int)method);
}
