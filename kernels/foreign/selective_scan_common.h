// What a foreign header of coefficients finds under this name: the vocabulary of a CUDA kernel, and complex_t.
//
// Supplied in the place of the production file, which needs PyTorch. The same text serves NVRTC and a C++17 compiler;
// with HOLDFAST_LIFTED (CPU only) it turns every float of the header into a double, to tell a wrong formula from one
// that loses digits.
#pragma once

#if defined(__CUDACC_RTC__)
#include <type_traits>
#else
#include <algorithm>
#include <array>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#endif

#ifndef M_LOG2E
#define M_LOG2E 1.4426950408889634074
#endif
#ifndef M_LN2
#define M_LN2 0.69314718055994530942
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

#if !defined(__CUDACC_RTC__)
// The single type itself, which a lifted header cannot name.
using holdfast_single = float;

#define __device__
#define __host__
#define __global__
#define __forceinline__
#define __launch_bounds__(...)
#define __ldg(pointer) (*(pointer))

// The compiler's intrinsics for a device, as the functions that they round like or approximate.
#define __expf(x) expf(x)
#define __exp10f(x) powf(10.0f, x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)
#define __fdividef(x, y) ((x) / (y))
#define __fmul_rn(x, y) ((x) * (y))
#define __fadd_rn(x, y) ((x) + (y))
#define __fsub_rn(x, y) ((x) - (y))
#define __fdiv_rn(x, y) ((x) / (y))
#define __frcp_rn(x) (1.0f / (x))
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __fsqrt_rn(x) sqrtf(x)
#define rsqrtf(x) (1.0f / sqrtf(x))

#if defined(HOLDFAST_LIFTED)
#define float double
#define expf exp
#define exp2f exp2
#define expm1f expm1
#define logf log
#define log2f log2
#define log1pf log1p
#define powf pow
#define sqrtf sqrt
#define cbrtf cbrt
#define sinf sin
#define cosf cos
#define tanf tan
#define sinhf sinh
#define coshf cosh
#define tanhf tanh
#define atan2f atan2
#define hypotf hypot
#define fabsf fabs
#define fmaf fma
#define fmaxf fmax
#define fminf fmin
#define fmodf fmod
#define ldexpf ldexp
#define copysignf copysign
#define roundf round
#define rintf rint
#define floorf floor
#define ceilf ceil
#endif

// Not every C library has it.
inline void holdfast_sincos(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
#define sincosf holdfast_sincos

struct float2 {
  float x, y;
};
struct float3 {
  float x, y, z;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
#endif

namespace c10 {

// The complex number of PyTorch's kernels, as far as kernels use it.
template <typename T>
struct alignas(2 * sizeof(T)) complex {
  using value_type = T;

  T real_ = T(0);
  T imag_ = T(0);

  constexpr complex() = default;
  __host__ __device__ constexpr complex(const T& re, const T& im = T()) : real_(re), imag_(im) {}

  __host__ __device__ constexpr T real() const { return real_; }
  __host__ __device__ constexpr T imag() const { return imag_; }
  __host__ __device__ constexpr void real(T value) { real_ = value; }
  __host__ __device__ constexpr void imag(T value) { imag_ = value; }

  __host__ __device__ friend constexpr complex operator+(complex a) { return a; }
  __host__ __device__ friend constexpr complex operator-(complex a) { return {-a.real_, -a.imag_}; }

  __host__ __device__ friend constexpr complex operator+(complex a, complex b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  __host__ __device__ friend constexpr complex operator+(complex a, T b) { return {a.real_ + b, a.imag_}; }
  __host__ __device__ friend constexpr complex operator+(T a, complex b) { return {a + b.real_, b.imag_}; }

  __host__ __device__ friend constexpr complex operator-(complex a, complex b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  __host__ __device__ friend constexpr complex operator-(complex a, T b) { return {a.real_ - b, a.imag_}; }
  __host__ __device__ friend constexpr complex operator-(T a, complex b) { return {a - b.real_, -b.imag_}; }

  __host__ __device__ friend constexpr complex operator*(complex a, complex b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
  __host__ __device__ friend constexpr complex operator*(complex a, T b) { return {a.real_ * b, a.imag_ * b}; }
  __host__ __device__ friend constexpr complex operator*(T a, complex b) { return {a * b.real_, a * b.imag_}; }

  __host__ __device__ friend constexpr complex operator/(complex a, complex b) {
    const T norm = b.real_ * b.real_ + b.imag_ * b.imag_;
    return {(a.real_ * b.real_ + a.imag_ * b.imag_) / norm, (a.imag_ * b.real_ - a.real_ * b.imag_) / norm};
  }
  __host__ __device__ friend constexpr complex operator/(complex a, T b) { return {a.real_ / b, a.imag_ / b}; }
  __host__ __device__ friend constexpr complex operator/(T a, complex b) { return complex(a) / b; }

  __host__ __device__ constexpr complex& operator+=(complex b) { return *this = *this + b; }
  __host__ __device__ constexpr complex& operator-=(complex b) { return *this = *this - b; }
  __host__ __device__ constexpr complex& operator*=(complex b) { return *this = *this * b; }
  __host__ __device__ constexpr complex& operator/=(complex b) { return *this = *this / b; }
  __host__ __device__ constexpr complex& operator+=(T b) { return *this = *this + b; }
  __host__ __device__ constexpr complex& operator-=(T b) { return *this = *this - b; }
  __host__ __device__ constexpr complex& operator*=(T b) { return *this = *this * b; }
  __host__ __device__ constexpr complex& operator/=(T b) { return *this = *this / b; }

  __host__ __device__ friend constexpr bool operator==(complex a, complex b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  __host__ __device__ friend constexpr bool operator!=(complex a, complex b) { return !(a == b); }
};

}  // namespace c10

using complex_t = c10::complex<float>;

// Base 2 for the real part, radians for the imaginary part.
__device__ __forceinline__ complex_t cexp2f(complex_t z) {
  const float modulus = exp2f(z.real_);
  float s, c;
  sincosf(z.imag_, &s, &c);
  return complex_t(modulus * c, modulus * s);
}

__device__ __forceinline__ complex_t cexpf(complex_t z) {
  const float modulus = expf(z.real_);
  float s, c;
  sincosf(z.imag_, &s, &c);
  return complex_t(modulus * c, modulus * s);
}
