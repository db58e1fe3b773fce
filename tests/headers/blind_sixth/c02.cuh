#pragma once
// Data-driven: a row per method says how the transition is made, and with which weights the input term is summed.
#include "selective_scan_common.h"
#include "selective_scan.h"

enum class Transition { kExp, kCayley };
enum class Basis { kPowers, kPhi, kResolvent };

struct MethodRow {
    Transition transition;
    Basis basis;
    float w[4];     // of z^0..z^3, of phi_0..phi_3, or of the resolvent
    int power[4];   // and the power of delta that goes with each, beside the delta in delta * u
};

__device__ inline MethodRow method_row(int id) {
    const MethodRow rows[] = {
        {Transition::kExp, Basis::kPowers, {1.f, 0.f, 0.f, 0.f}, {0, 0, 0, 0}},
        {Transition::kExp, Basis::kPhi, {0.f, 0.f, 1.f, 0.f}, {0, 0, 1, 0}},
        {Transition::kCayley, Basis::kResolvent, {1.f, 0.f, 0.f, 0.f}, {0, 0, 0, 0}},
        {Transition::kExp, Basis::kPhi, {0.f, 1.f, 0.5f, 0.f}, {0, 0, 1, 0}},
        {Transition::kExp, Basis::kPhi, {0.f, 1.f, 1.f, 0.5f}, {0, 0, 1, 2}},
        {Transition::kExp, Basis::kPowers, {1.f, 0.5f, 1.f / 6.f, 1.f / 24.f}, {0, 0, 0, 0}},
    };
    return rows[id];
}

namespace cx {
struct C {
    float x, y;
};
__device__ inline C add(C a, C b) { return C{a.x + b.x, a.y + b.y}; }
__device__ inline C mul(C a, C b) { return C{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ inline C mul(C a, float s) { return C{a.x * s, a.y * s}; }
__device__ inline C div(C a, C b) {
    if (b.y == 0.f) return C{a.x / b.x, a.y / b.x};
    const bool swap = fabsf(b.x) < fabsf(b.y);
    const float big = swap ? b.y : b.x, small = swap ? b.x : b.y;
    const float r = small / big, d = big + small * r;
    return swap ? C{(a.x * r + a.y) / d, (a.y * r - a.x) / d} : C{(a.x + a.y * r) / d, (a.y - a.x * r) / d};
}
__device__ inline C expi(float m, float t) {
    return t == 0.f ? C{m, 0.f} : C{m * cosf(t), m * sinf(t)};
}
}  // namespace cx

struct Coefficients {
    cx::C a, b;
};

__device__ inline Coefficients discretize(float dt, cx::C lambda, cx::C du, int id) {
    using namespace cx;
    const MethodRow row = method_row(id);
    const C z = mul(lambda, dt);
    const C half = mul(z, 0.5f);
    const C plus{1.f + half.x, half.y}, minus{1.f - half.x, -half.y};

    // e^z = e * 2^k
    int k = 0;
    float x = z.x;
    if (row.basis == Basis::kPhi && x > 80.f) {
        const float n = rintf(x * 1.44269504f);
        k = int(n);
        x = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    }
    const C e = expi(expf(x), z.y);

    Coefficients out;
    out.a = row.transition == Transition::kCayley ? div(plus, minus) : C{ldexpf(e.x, k), ldexpf(e.y, k)};

    C f[4] = {C{1.f, 0.f}, C{0.f, 0.f}, C{0.f, 0.f}, C{0.f, 0.f}};
    if (row.basis == Basis::kResolvent) {
        out.b = div(du, minus);
        return out;
    }
    if (row.basis == Basis::kPowers) {
        for (int i = 1; i < 4; ++i) f[i] = mul(f[i - 1], z);
    } else {
        f[0] = e;
        const float reach = fabsf(z.x) + fabsf(z.y);
        if (reach < 2.f) {
            C s{1.f, 0.f};
            for (int j = 15; j > 0; --j) s = add(C{1.f, 0.f}, mul(mul(s, z), 1.f / float(j + 3)));
            f[3] = mul(s, 1.f / 6.f);
            f[2] = add(C{0.5f, 0.f}, mul(f[3], z));
            f[1] = add(C{1.f, 0.f}, mul(f[2], z));
        } else if (k != 0) {
            for (int i = 1; i < 4; ++i) f[i] = div(f[i - 1], z);
        } else {
            const float s = sinf(half.y);
            const C em1{expm1f(x) * cosf(z.y) - 2.f * s * s, expf(x) * sinf(z.y)};
            f[1] = div(em1, z);
            f[2] = div(C{f[1].x - 1.f, f[1].y}, z);
            f[3] = div(C{f[2].x - 0.5f, f[2].y}, z);
        }
    }
    C sum{0.f, 0.f};
    for (int i = 3; i >= 0; --i) {
        if (row.w[i] == 0.f) continue;
        C term = mul(f[i], row.w[i]);
        for (int p = 0; p < row.power[i]; ++p) term = mul(term, dt);
        sum = add(sum, term);
    }
    if (k == 0) {
        out.b = mul(sum, du);
    } else {
        const int k1 = k < 100 ? k : 100, k2 = k - k1;   // in two portions: sum * du alone may underflow
        const C s = mul(C{ldexpf(sum.x, k1), ldexpf(sum.y, k1)}, du);
        out.b = C{ldexpf(s.x, k2), ldexpf(s.y, k2)};
    }
    return out;
}

template <typename weight_t, bool kIsComplex, typename DU>
__device__ auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
    const int id = static_cast<int>(method);
    if constexpr (kIsComplex) {
        const complex_t v = delta_u_val;
        const Coefficients r = discretize(delta_val, cx::C{A_val.real_, A_val.imag_}, cx::C{v.real_, v.imag_}, id);
        return make_float4(r.a.x, r.a.y, r.b.x, r.b.y);
    } else {
        const Coefficients r = discretize(delta_val, cx::C{A_val, 0.f}, cx::C{delta_u_val, 0.f}, id);
        return make_float2(r.a.x, r.b.x);
    }
}
