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
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
// Not the same as <cmath> and <cstdlib>: these bring abs(float), exp(float), isnan(float) and the like into the global
// namespace, where C's functions of a double or an int would take their place without a word.
#include <math.h>
#include <stdlib.h>
#if defined(HOLDFAST_LIBRARY)
// What a header may include itself: the library does not survive a float that is a double.
#include <complex>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>
#endif
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
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef MAX_DSTATE
#define MAX_DSTATE 256
#endif

#if defined(__CUDACC_RTC__)
// NVRTC has no <cfloat>.
#ifndef FLT_EPSILON
#define FLT_EPSILON 1.1920928955078125e-7f
#endif
#ifndef FLT_MIN
#define FLT_MIN 1.17549435082228750797e-38f
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.40282346638528859812e+38f
#endif
#endif

#if !defined(__CUDACC_RTC__)
// The single type itself, which a lifted header cannot name.
using holdfast_single = float;

#define __device__
#define __host__
#define __global__
#define __constant__
#define __forceinline__
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
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
#define fdividef(x, y) ((x) / (y))
#define exp10f(x) powf(10.0f, x)
#define __fmul_rn(x, y) ((x) * (y))
#define __fadd_rn(x, y) ((x) + (y))
#define __fsub_rn(x, y) ((x) - (y))
#define __fdiv_rn(x, y) ((x) / (y))
#define __frcp_rn(x) (1.0f / (x))
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __fsqrt_rn(x) sqrtf(x)
#define __frsqrt_rn(x) (1.0f / sqrtf(x))
#define rsqrtf(x) (1.0f / sqrtf(x))
#define __saturatef(x) fminf(fmaxf(x, 0.0f), 1.0f)

// A device has these in the global namespace; of a NaN and a number they return the number.
inline float max(float x, float y) { return fmaxf(x, y); }
inline float min(float x, float y) { return fminf(x, y); }
inline double max(double x, double y) { return fmax(x, y); }
inline double min(double x, double y) { return fmin(x, y); }
inline double max(float x, double y) { return fmax(double(x), y); }
inline double min(float x, double y) { return fmin(double(x), y); }
inline double max(double x, float y) { return fmax(x, double(y)); }
inline double min(double x, float y) { return fmin(x, double(y)); }
#define HOLDFAST_MAX_MIN(type)                                    \
  inline constexpr type max(type x, type y) { return x < y ? y : x; } \
  inline constexpr type min(type x, type y) { return y < x ? y : x; }
HOLDFAST_MAX_MIN(int)
HOLDFAST_MAX_MIN(unsigned)
HOLDFAST_MAX_MIN(long)
HOLDFAST_MAX_MIN(unsigned long)
HOLDFAST_MAX_MIN(long long)
HOLDFAST_MAX_MIN(unsigned long long)
#undef HOLDFAST_MAX_MIN

// The bits of a single, also where a header is lifted.
template <typename To, typename From>
inline To holdfast_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of the same width");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
inline holdfast_single __int_as_float(int x) { return holdfast_bits<holdfast_single>(x); }
inline holdfast_single __uint_as_float(unsigned x) { return holdfast_bits<holdfast_single>(x); }
inline int __float_as_int(holdfast_single x) { return holdfast_bits<int>(x); }
inline unsigned __float_as_uint(holdfast_single x) { return holdfast_bits<unsigned>(x); }

#if defined(HOLDFAST_LIFTED)
// A function of a float is that of a double under a name of its own: a header's class may have a member `exp` that calls expf.
#define HOLDFAST_LIFTED_FUNCTION(name)                                                           \
  template <class... Arguments>                                                                  \
  auto holdfast_lifted_##name(Arguments... arguments)->decltype(::name(arguments...)) {          \
    return ::name(arguments...);                                                                 \
  }                                                                                              \
  namespace std {                                                                                \
  using ::holdfast_lifted_##name;                                                                \
  }
HOLDFAST_LIFTED_FUNCTION(exp)
HOLDFAST_LIFTED_FUNCTION(exp2)
HOLDFAST_LIFTED_FUNCTION(expm1)
HOLDFAST_LIFTED_FUNCTION(log)
HOLDFAST_LIFTED_FUNCTION(log2)
HOLDFAST_LIFTED_FUNCTION(log10)
HOLDFAST_LIFTED_FUNCTION(log1p)
HOLDFAST_LIFTED_FUNCTION(pow)
HOLDFAST_LIFTED_FUNCTION(sqrt)
HOLDFAST_LIFTED_FUNCTION(cbrt)
HOLDFAST_LIFTED_FUNCTION(sin)
HOLDFAST_LIFTED_FUNCTION(cos)
HOLDFAST_LIFTED_FUNCTION(tan)
HOLDFAST_LIFTED_FUNCTION(asin)
HOLDFAST_LIFTED_FUNCTION(acos)
HOLDFAST_LIFTED_FUNCTION(atan)
HOLDFAST_LIFTED_FUNCTION(asinh)
HOLDFAST_LIFTED_FUNCTION(acosh)
HOLDFAST_LIFTED_FUNCTION(atanh)
HOLDFAST_LIFTED_FUNCTION(erf)
HOLDFAST_LIFTED_FUNCTION(erfc)
HOLDFAST_LIFTED_FUNCTION(sinh)
HOLDFAST_LIFTED_FUNCTION(cosh)
HOLDFAST_LIFTED_FUNCTION(tanh)
HOLDFAST_LIFTED_FUNCTION(atan2)
HOLDFAST_LIFTED_FUNCTION(hypot)
HOLDFAST_LIFTED_FUNCTION(fabs)
HOLDFAST_LIFTED_FUNCTION(fma)
HOLDFAST_LIFTED_FUNCTION(fmax)
HOLDFAST_LIFTED_FUNCTION(fmin)
HOLDFAST_LIFTED_FUNCTION(fmod)
HOLDFAST_LIFTED_FUNCTION(ldexp)
HOLDFAST_LIFTED_FUNCTION(copysign)
HOLDFAST_LIFTED_FUNCTION(round)
HOLDFAST_LIFTED_FUNCTION(rint)
HOLDFAST_LIFTED_FUNCTION(trunc)
HOLDFAST_LIFTED_FUNCTION(nearbyint)
HOLDFAST_LIFTED_FUNCTION(remainder)
HOLDFAST_LIFTED_FUNCTION(frexp)
HOLDFAST_LIFTED_FUNCTION(scalbn)
HOLDFAST_LIFTED_FUNCTION(fdim)
HOLDFAST_LIFTED_FUNCTION(floor)
HOLDFAST_LIFTED_FUNCTION(ceil)
#define float double
#define expf holdfast_lifted_exp
#define exp2f holdfast_lifted_exp2
#define expm1f holdfast_lifted_expm1
#define logf holdfast_lifted_log
#define log2f holdfast_lifted_log2
#define log10f holdfast_lifted_log10
#define log1pf holdfast_lifted_log1p
#define powf holdfast_lifted_pow
#define sqrtf holdfast_lifted_sqrt
#define cbrtf holdfast_lifted_cbrt
#define sinf holdfast_lifted_sin
#define cosf holdfast_lifted_cos
#define tanf holdfast_lifted_tan
#define asinf holdfast_lifted_asin
#define acosf holdfast_lifted_acos
#define atanf holdfast_lifted_atan
#define asinhf holdfast_lifted_asinh
#define acoshf holdfast_lifted_acosh
#define atanhf holdfast_lifted_atanh
#define erff holdfast_lifted_erf
#define erfcf holdfast_lifted_erfc
#define sinhf holdfast_lifted_sinh
#define coshf holdfast_lifted_cosh
#define tanhf holdfast_lifted_tanh
#define atan2f holdfast_lifted_atan2
#define hypotf holdfast_lifted_hypot
#define fabsf holdfast_lifted_fabs
#define fmaf holdfast_lifted_fma
#define fmaxf holdfast_lifted_fmax
#define fminf holdfast_lifted_fmin
#define fmodf holdfast_lifted_fmod
#define ldexpf holdfast_lifted_ldexp
#define copysignf holdfast_lifted_copysign
#define roundf holdfast_lifted_round
#define rintf holdfast_lifted_rint
#define truncf holdfast_lifted_trunc
#define nearbyintf holdfast_lifted_nearbyint
#define remainderf holdfast_lifted_remainder
#define frexpf holdfast_lifted_frexp
#define scalbnf holdfast_lifted_scalbn
#define fdimf holdfast_lifted_fdim
#define floorf holdfast_lifted_floor
#define ceilf holdfast_lifted_ceil
#endif

// Not every C library has it.
inline void holdfast_sincos(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
#define sincosf holdfast_sincos

// sin(πx) and cos(πx), exact where they are 0 or ±1.
inline float holdfast_sinpi(float x) {
  double turn = std::remainder(double(x), 2.0);
  if (std::fabs(turn) > 0.5) turn = std::copysign(1.0, turn) - turn;
  return float(std::sin(M_PI * turn));
}
inline float holdfast_cospi(float x) {
  return float(std::sin(M_PI * (0.5 - std::fabs(std::remainder(double(x), 2.0)))));
}
inline void holdfast_sincospi(float x, float* s, float* c) {
  *s = holdfast_sinpi(x);
  *c = holdfast_cospi(x);
}
#define sinpif holdfast_sinpi
#define cospif holdfast_cospi
#define sincospif holdfast_sincospi

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
