// What differs between compilers: NVRTC or nvcc for a GPU, a C++17 compiler for the CPU (host/).
//
// Formula: none. Cost: none. Everything else in kernels/ includes this file first and names no compiler.
// Results must not depend on the compiler's liking for fused multiply-adds: wherever an error term relies on a
// rounding, mul_rn/add_rn pin it down (they are never contracted), and fma is always asked for by name.
#pragma once

#if defined(__CUDACC__)
#define HOLDFAST_DEVICE __device__ __forceinline__
#define HOLDFAST_OUTLINE __device__ __noinline__
#define HOLDFAST_UNROLL _Pragma("unroll")
#define HOLDFAST_NO_UNROLL _Pragma("unroll 1")
#define HOLDFAST_PRAGMA(text) _Pragma(#text)
#define HOLDFAST_UNROLL_BY(count) HOLDFAST_PRAGMA(unroll count)
// Inlined on a GPU, a function or two per method in the CPU build: inlining it into each of the 24 kernels of a
// method would multiply the build time by ten.
#define HOLDFAST_ONCE __device__ __forceinline__
#define HOLDFAST_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
// Shared memory: one object, and an array whose size the launch gives.
#define HOLDFAST_SHARED(type, name) __shared__ type name
#define HOLDFAST_DYNAMIC_SHARED(type, name)                       \
  extern __shared__ __align__(16) unsigned char name##_bytes[]; \
  type* const name = reinterpret_cast<type*>(name##_bytes)
#else
#include "host/cuda_host.h"
#define HOLDFAST_DEVICE inline
// GCC 12's modref pass forgets stores that such a function makes through a reference: what it knows of it must not be used.
#if defined(__GNUC__) && !defined(__clang__)
#define HOLDFAST_OUTLINE __attribute__((noipa))
#else
#define HOLDFAST_OUTLINE __attribute__((noinline))
#endif
#define HOLDFAST_UNROLL
#define HOLDFAST_NO_UNROLL
#define HOLDFAST_UNROLL_BY(count)
#define HOLDFAST_ONCE HOLDFAST_OUTLINE
#define HOLDFAST_LAUNCH_BOUNDS(threads, blocks)
#define HOLDFAST_SHARED(type, name) type& name = *static_cast<type*>(holdfast_host::static_shared(__LINE__, sizeof(type)))
#define HOLDFAST_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(holdfast_host::dynamic_shared())
#endif

// The CPU build compiles these files a second time, with hooks.cuh's hooks in use, into a namespace of its own.
#ifndef HOLDFAST_NAMESPACE
#define HOLDFAST_NAMESPACE holdfast
#endif

// Which of the two tiers the forward kernels are compiled for; each has a promise of its own (src/promise/contract.rs). The fast one
// takes plain f32 and a GPU's own approximations (hardware.cuh) for common elements.
#ifndef HOLDFAST_FAST
#define HOLDFAST_FAST 0
#endif

namespace HOLDFAST_NAMESPACE {

constexpr bool kFast = HOLDFAST_FAST != 0;

// The ids of spec.md §2.
enum class Method : int { kZoh = 0, kFoh = 1, kBilinear = 2, kPoly = 3, kHighOrder = 4, kRk4 = 5, kCount };
constexpr int kMethods = static_cast<int>(Method::kCount);

#if defined(__CUDACC__)
HOLDFAST_DEVICE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
HOLDFAST_DEVICE double mul_rn(double a, double b) { return __dmul_rn(a, b); }
HOLDFAST_DEVICE float add_rn(float a, float b) { return __fadd_rn(a, b); }
HOLDFAST_DEVICE double add_rn(double a, double b) { return __dadd_rn(a, b); }
// No load from shared memory moves ahead of it.
HOLDFAST_DEVICE void keep_order() { __syncwarp(); }
#else
HOLDFAST_DEVICE float mul_rn(float a, float b) { return a * b; }
HOLDFAST_DEVICE double mul_rn(double a, double b) { return a * b; }
HOLDFAST_DEVICE float add_rn(float a, float b) { return a + b; }
HOLDFAST_DEVICE double add_rn(double a, double b) { return a + b; }
HOLDFAST_DEVICE void keep_order() {}
#endif

HOLDFAST_DEVICE float fused(float a, float b, float c) { return fmaf(a, b, c); }
HOLDFAST_DEVICE double fused(double a, double b, double c) { return fma(a, b, c); }
// A polynomial by Horner's scheme, the coefficient of the highest power first.
template <class T>
HOLDFAST_DEVICE T horner(T, T first) {
  return first;
}
template <class T, class... Others>
HOLDFAST_DEVICE T horner(T x, T first, T second, Others... others) {
  return horner(x, fused(first, x, second), others...);
}
// NaN where one of them is.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
HOLDFAST_DEVICE float least_of(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
HOLDFAST_DEVICE float largest_of(float a, float b) {
  float largest;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(largest) : "f"(a), "f"(b));
  return largest;
}
#else
HOLDFAST_DEVICE float least_of(float a, float b) { return a < b || a != a ? a : b; }
HOLDFAST_DEVICE float largest_of(float a, float b) { return a > b || a != a ? a : b; }
#endif
HOLDFAST_DEVICE double least_of(double a, double b) { return a < b || a != a ? a : b; }
HOLDFAST_DEVICE double largest_of(double a, double b) { return a > b || a != a ? a : b; }

HOLDFAST_DEVICE float magnitude(float a) { return fabsf(a); }
HOLDFAST_DEVICE double magnitude(double a) { return fabs(a); }

}  // namespace HOLDFAST_NAMESPACE
