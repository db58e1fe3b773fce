#pragma once
#include "selective_scan.h"
#include "selective_scan_common.h"
#include <cmath>
#include <type_traits>

// One complex path. A real state is a complex one whose imaginary part is 0.
namespace lifted {
struct C2 { float r, i; };
struct Exponentials { C2 e, p1, p2, p3; };

__device__ inline C2 mul(C2 a, C2 b) { return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
__device__ inline C2 axpy(C2 a, C2 b, float c) { const C2 p = mul(a, b); return {p.r + c, p.i}; }    // a b + c
__device__ inline C2 over(C2 a, C2 z) {
    const float n = z.r * z.r + z.i * z.i;
    return {(a.r * z.r + a.i * z.i) / n, (a.i * z.r - a.r * z.i) / n};
}

__device__ inline Exponentials exponentials(C2 z) {
    Exponentials f;
    const float size = expf(z.r), angle = z.i;
    f.e = {size * cosf(angle), size * sinf(angle)};
    if (z.r * z.r + z.i * z.i < 3.f) {
        // 1/3!, 1/4!, ...; then down: phi_k = z phi_{k+1} + 1/k!
        C2 s = {0.f, 0.f};
        float c[16];
        c[0] = 1.f / 6.f;
        for (int j = 1; j < 16; ++j) c[j] = c[j - 1] / (j + 3);
        for (int j = 15; j >= 0; --j) s = axpy(s, z, c[j]);
        f.p3 = s;
        f.p2 = axpy(f.p3, z, 0.5f);
        f.p1 = axpy(f.p2, z, 1.f);
    } else {
        f.p1 = over({f.e.r - 1.f, f.e.i}, z);
        f.p2 = over({f.p1.r - 1.f, f.p1.i}, z);
        f.p3 = over({f.p2.r - 0.5f, f.p2.i}, z);
    }
    return f;
}

struct Step { C2 a, h; };

__device__ inline Step step(float dt, C2 A, int id) {
    const C2 z = {dt * A.r, dt * A.i};
    if (id == 2) {
        const C2 den = {1.f - z.r / 2, -z.i / 2};
        return {over({1.f + z.r / 2, z.i / 2}, den), over({1.f, 0.f}, den)};
    }
    const Exponentials f = exponentials(z);
    if (id == 5) {
        C2 k = {1.f, 0.f}, total = {1.f, 0.f};        // stages of the classical scheme for x' = A x + 1
        k = axpy({k.r / 2, k.i / 2}, z, 1.f);
        total = {total.r + 2 * k.r, total.i + 2 * k.i};
        k = axpy({k.r / 2, k.i / 2}, z, 1.f);
        total = {total.r + 2 * k.r, total.i + 2 * k.i};
        k = axpy(k, z, 1.f);
        total = {total.r + k.r, total.i + k.i};
        return {f.e, {total.r / 6, total.i / 6}};
    }
    const float w1 = id == 1 ? 0.f : 1.f;
    const float w2 = id == 3 ? dt / 2 : dt;
    const float w3 = id == 4 ? dt * dt / 2 : 0.f;
    if (id == 0) return {f.e, {1.f, 0.f}};
    return {f.e, {w1 * f.p1.r + w2 * f.p2.r + w3 * f.p3.r, w1 * f.p1.i + w2 * f.p2.i + w3 * f.p3.i}};
}
__device__ inline C2 lift(float x) { return {x, 0.f}; }
__device__ inline C2 lift(complex_t x) { return {x.real_, x.imag_}; }
}  // namespace lifted

template <typename weight_t, bool kIsComplex, typename DU>
__device__ inline auto compute_discretization(float delta_val, weight_t A_val, DU delta_u_val, weight_t B_val,
                                              DiscretizationMethod method) {
    const lifted::Step s = lifted::step(delta_val, lifted::lift(A_val), static_cast<int>(method));
    const lifted::C2 bu = lifted::mul(s.h, lifted::lift(delta_u_val));
    if constexpr (kIsComplex) {
        return make_float4(s.a.r, s.a.i, bu.r, bu.i);
    } else {
        return make_float2(s.a.r, bu.r);
    }
}
