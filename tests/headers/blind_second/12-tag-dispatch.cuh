#pragma once
#include <type_traits>
#include "selective_scan_common.h"
#include "selective_scan.h"

template <int N>
struct MethodTag : std::integral_constant<int, N> {};
using Zoh = MethodTag<0>;
using Foh = MethodTag<1>;
using Bilinear = MethodTag<2>;
using Poly = MethodTag<3>;
using HighOrder = MethodTag<4>;
using Rk4 = MethodTag<5>;

template <typename T>
class Discretizer {
 public:
  __device__ Discretizer(float dt, T A, T dtu) : dt_(dt), z_(A * dt), dtu_(dtu) {}

  __device__ T transition(Bilinear) const { return divide(T(1.f) + z_ * 0.5f, T(1.f) - z_ * 0.5f); }
  template <int N>
  __device__ T transition(MethodTag<N>) const { return exponential(z_); }

  __device__ T input(Zoh) const { return dtu_ * dt_; }
  __device__ T input(Foh) const { return dtu_ * (phi(2) * dt_); }
  __device__ T input(Bilinear) const { return divide(dtu_, T(1.f) - z_ * 0.5f); }
  __device__ T input(Poly) const { return dtu_ * (phi(1) + phi(2) * dt_ * 0.5f); }
  __device__ T input(HighOrder) const { return dtu_ * (phi(1) + (phi(2) + phi(3) * dt_ * 0.5f) * dt_); }
  __device__ T input(Rk4) const {
    T k = z_ * 0.25f + 1.f;
    k = z_ * k / 3.f + 1.f;
    k = z_ * k / 2.f + 1.f;
    return dtu_ * k;
  }

 private:
  static __device__ float exponential(float v) { return expf(v); }
  static __device__ complex_t exponential(complex_t v) { return cexpf(v); }
  static __device__ float bound(float v) { return fabsf(v); }
  static __device__ float bound(complex_t v) { return fabsf(v.real_) + fabsf(v.imag_); }
  static __device__ float divide(float p, float q) { return p / q; }
  static __device__ complex_t divide(complex_t p, complex_t q) {
    const float b = bound(q);
    return p / b / (q / b);
  }
  __device__ T phi(int k) const {
    const float f = k == 3 ? 6.f : k == 2 ? 2.f : 1.f;
    if (bound(z_) < 1.f) {
      T sum = T(1.f / f), t = T(1.f / f);
      for (int j = 1; j < 16; ++j) {
        t = t * z_ / float(k + j);
        sum += t;
      }
      return sum;
    }
    T p = exponential(z_);
    float g = 1.f;
    for (int j = 1; j <= k; ++j) {
      p = divide(p - g, z_);
      g /= float(j);
    }
    return p;
  }

  float dt_;
  T z_, dtu_;
};

template <typename Tag, typename T>
__device__ inline auto evaluate(const Discretizer<T>& d, Tag tag) {
  const T a = d.transition(tag), b = d.input(tag);
  if constexpr (std::is_same<T, complex_t>::value) return make_float4(a.real_, a.imag_, b.real_, b.imag_);
  else return make_float2(a, b);
}

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  const Discretizer<weight_t> d(delta_val, A_val, delta_u_val);
  switch (static_cast<int>(method)) {
    case Foh::value: return evaluate(d, Foh());
    case Bilinear::value: return evaluate(d, Bilinear());
    case Poly::value: return evaluate(d, Poly());
    case HighOrder::value: return evaluate(d, HighOrder());
    case Rk4::value: return evaluate(d, Rk4());
    default: return evaluate(d, Zoh());
  }
}
