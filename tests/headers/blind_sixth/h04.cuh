#pragma once
#include "selective_scan_common.h"
#include "selective_scan.h"

namespace methods {

// ---- arithmetic of the weight types -----------------------------------------------------------
template <typename W> struct Arith;

template <> struct Arith<float> {
    static __device__ float exp(float z) { return expf(z); }
    static __device__ float expm1(float z) { return expm1f(z); }
    static __device__ float div(float a, float b) { return a / b; }
    static __device__ float ldexp(float a, int k) { return ldexpf(a, k); }
    static __device__ float reduce(float z, float n) { return (z - n * 0.693145752f) - n * 1.42860677e-6f; }
    static __device__ float re(float z) { return z; }
    static __device__ bool small(float z) { return fabsf(z) < 1.5f; }
    static __device__ float2 pack(float a, float b) { return make_float2(a, b); }
};

template <> struct Arith<complex_t> {
    static __device__ complex_t polar(float r, float angle) {
        return complex_t(r * cosf(angle), r * sinf(angle));
    }
    static __device__ complex_t exp(complex_t z) { return polar(expf(z.real_), z.imag_); }
    static __device__ complex_t expm1(complex_t z) {
        const float h = sinf(0.5f * z.imag_);
        const complex_t turned = polar(expm1f(z.real_), z.imag_);
        return complex_t(turned.real_ - 2.f * h * h, expf(z.real_) * sinf(z.imag_));
    }
    static __device__ complex_t div(complex_t a, complex_t b) {
        const float s = fmaxf(fabsf(b.real_), fabsf(b.imag_));
        const complex_t n(b.real_ / s, b.imag_ / s);
        const float d = n.real_ * n.real_ + n.imag_ * n.imag_;
        return complex_t((a.real_ * n.real_ + a.imag_ * n.imag_) / d / s,
                         (a.imag_ * n.real_ - a.real_ * n.imag_) / d / s);
    }
    static __device__ complex_t ldexp(complex_t a, int k) { return complex_t(ldexpf(a.real_, k), ldexpf(a.imag_, k)); }
    static __device__ complex_t reduce(complex_t z, float n) {
        return complex_t((z.real_ - n * 0.693145752f) - n * 1.42860677e-6f, z.imag_);
    }
    static __device__ float re(complex_t z) { return z.real_; }
    static __device__ bool small(complex_t z) { return fabsf(z.real_) < 1.5f && fabsf(z.imag_) < 1.5f; }
    static __device__ float4 pack(complex_t a, complex_t b) { return make_float4(a.real_, a.imag_, b.real_, b.imag_); }
};

// ---- phi-functions ----------------------------------------------------------------------------
template <typename W> class PhiTable {
  public:
    __device__ explicit PhiTable(W z) {
        using M = Arith<W>;
        if (M::small(z)) {
            // series of phi_3, and upwards by phi_{k-1} = z phi_k + 1 / (k-1)!
            W s = 1.f;
            for (int j = 15; j >= 1; --j) s = s * (z * (1.f / (j + 3.f))) + 1.f;
            phi_[3] = s * (1.f / 6.f);
            phi_[2] = phi_[3] * z + 0.5f;
            phi_[1] = phi_[2] * z + 1.f;
            phi_[0] = M::exp(z);
        } else if (M::re(z) > 80.f) {
            const float n = rintf(M::re(z) * 1.44269504f);
            exponent_ = int(n);
            phi_[0] = M::exp(M::reduce(z, n));
            for (int k = 1; k < 4; ++k) phi_[k] = M::div(phi_[k - 1], z);
        } else {
            phi_[0] = M::exp(z);
            phi_[1] = M::div(M::expm1(z), z);
            phi_[2] = M::div(phi_[1] - 1.f, z);
            phi_[3] = M::div(phi_[2] - 0.5f, z);
        }
    }
    __device__ W operator[](int k) const { return phi_[k]; }
    // gain * v, with the exponent that was set aside
    __device__ W apply(W gain, W v) const {
        using M = Arith<W>;
        const int first = exponent_ / 3;
        return exponent_ == 0 ? gain * v : M::ldexp(M::ldexp(gain, first) * v, exponent_ - first);
    }

  private:
    W phi_[4];
    int exponent_ = 0;
};

// ---- the methods ------------------------------------------------------------------------------
struct Exponential {
    template <typename W> static __device__ W transition(W z) { return Arith<W>::exp(z); }
};
struct Zoh : Exponential {
    template <typename W> static __device__ W input(float, W, W v) { return v; }
};
struct Foh : Exponential {
    template <typename W> static __device__ W input(float dt, W z, W v) {
        const PhiTable<W> phi(z);
        return phi.apply(phi[2] * dt, v);
    }
};
struct Bilinear {
    template <typename W> static __device__ W transition(W z) {
        return Arith<W>::div(1.f + z * 0.5f, 1.f - z * 0.5f);
    }
    template <typename W> static __device__ W input(float, W z, W v) { return Arith<W>::div(v, 1.f - z * 0.5f); }
};
struct Poly : Exponential {
    template <typename W> static __device__ W input(float dt, W z, W v) {
        const PhiTable<W> phi(z);
        return phi.apply(phi[1] + phi[2] * (dt * 0.5f), v);
    }
};
struct HighOrder : Exponential {
    template <typename W> static __device__ W input(float dt, W z, W v) {
        const PhiTable<W> phi(z);
        W sum = phi[1];
        float weight = 1.f;
        for (int i = 1; i <= 2; ++i) {
            weight *= dt / (i + 1);
            sum = sum + phi[i + 1] * weight;
        }
        return phi.apply(sum, v);
    }
};
struct Rk4 : Exponential {
    template <typename W> static __device__ W input(float, W z, W v) {
        W term = 1.f, sum = 1.f;
        for (int i = 2; i <= 4; ++i) {
            term = term * z * (1.f / i);
            sum = sum + term;
        }
        return sum * v;
    }
};

template <typename Method, typename W>
__device__ auto step(float dt, W a, W v) {
    const W z = a * dt;
    return Arith<W>::pack(Method::transition(z), Method::template input<W>(dt, z, v));
}

}  // namespace methods

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    using namespace methods;
    const int m = static_cast<int>(method);
    return m == 0   ? step<Zoh>(delta_val, A_val, delta_u_val)
           : m == 1 ? step<Foh>(delta_val, A_val, delta_u_val)
           : m == 2 ? step<Bilinear>(delta_val, A_val, delta_u_val)
           : m == 3 ? step<Poly>(delta_val, A_val, delta_u_val)
           : m == 4 ? step<HighOrder>(delta_val, A_val, delta_u_val)
                    : step<Rk4>(delta_val, A_val, delta_u_val);
}
