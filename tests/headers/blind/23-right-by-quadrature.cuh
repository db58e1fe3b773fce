// phi_k(z) = integral over s in [0, 1] of e^((1-s)z) s^(k-1)/(k-1)!: by Gauss and Legendre's rule of eight nodes where |z| is
// small (no cancellation, whatever the sign), by the recurrence elsewhere. A functor for each kind of method.
#pragma once

#include "selective_scan_common.h"
#include "selective_scan.h"

namespace quadrature {

template <typename T>
struct Field;

template <>
struct Field<float> {
  __device__ static float exponential(float z) { return expf(z); }
  __device__ static float growth(float z) { return z == 0.0f ? 1.0f : expm1f(z) / z; }
  __device__ static float over(float a, float b) { return a / b; }
  __device__ static float modulus(float z) { return fabsf(z); }
  __device__ static float left(float z) { return z; }
  __device__ static float phase(float) { return 1.0f; }
};

template <>
struct Field<complex_t> {
  __device__ static complex_t exponential(complex_t z) { return cexpf(z); }
  __device__ static complex_t over(complex_t a, complex_t b) {
    const float m = fmaxf(fabsf(b.real()), fabsf(b.imag()));
    const complex_t n(b.real() / m, b.imag() / m);
    const complex_t q = a / n;
    return complex_t(q.real() / m, q.imag() / m);
  }
  __device__ static float modulus(complex_t z) { return hypotf(z.real(), z.imag()); }
  __device__ static float left(complex_t z) { return z.real(); }
  __device__ static complex_t phase(complex_t z) { return complex_t(cosf(z.imag()), sinf(z.imag())); }
  __device__ static complex_t growth(complex_t z) {
    if (modulus(z) < 1e-9f) return complex_t(1.0f);
    const float em1 = expm1f(z.real());
    const float sh = sinf(z.imag() / 2.0f);
    return over(complex_t(em1 * (1.0f - 2.0f * sh * sh) - 2.0f * sh * sh, (em1 + 1.0f) * sinf(z.imag())), z);
  }
};

template <typename T>
struct Moments {
  T first, second, third;
  float root = 1.0f;  // all of them are to be multiplied by its fourth power

  __device__ explicit Moments(T z) {
    if (Field<T>::left(z) > 80.0f) {
      root = expf(Field<T>::left(z) / 4.0f);
      first = Field<T>::over(Field<T>::phase(z), z);
      second = Field<T>::over(first, z);
      third = Field<T>::over(second, z);
      return;
    }
    first = Field<T>::growth(z);
    if (Field<T>::modulus(z) > 2.5f) {
      second = Field<T>::over(first - 1.0f, z);
      third = Field<T>::over(second - 0.5f, z);
      return;
    }
    const float node[4] = {0.09171732f, 0.26276621f, 0.39833324f, 0.48014493f};
    const float weight[4] = {0.18134189f, 0.15685332f, 0.11119052f, 0.05061427f};
    second = T(0.0f);
    third = T(0.0f);
    for (int i = 3; i >= 0; --i) {
      const float before = 0.5f - node[i], after = 0.5f + node[i];
      const T early = Field<T>::exponential(z * after) * (weight[i] * before);
      const T late = Field<T>::exponential(z * before) * (weight[i] * after);
      second = second + (early + late);
      third = third + (early * (0.5f * before) + late * (0.5f * after));
    }
  }
};

template <typename T>
struct Pair {
  T a_bar, input;
};

template <typename T>
struct Exponential {
  __device__ static Pair<T> at(float, T z, T w) { return {Field<T>::exponential(z), w}; }
};
// one Delta phi_1 + two Delta^2 phi_2 + three Delta^3 phi_3
template <typename T>
struct Hold {
  float one, two, three;
  __device__ Pair<T> at(float dt, T z, T w) const {
    const Moments<T> m(z);
    const T v = w * m.root * m.root;
    T sum = v * (m.second * dt) * two;
    if (one != 0.0f) sum = sum + v * m.first * one;
    if (three != 0.0f) sum = sum + v * (m.third * dt) * (dt * three);
    return {Field<T>::exponential(z), sum * m.root * m.root};
  }
};
template <typename T>
struct Trapezoid {
  __device__ static Pair<T> at(float, T z, T w) {
    const T back = 1.0f - z * 0.5f;
    return {Field<T>::over(1.0f + z * 0.5f, back), Field<T>::over(w, back)};
  }
};
template <typename T>
struct RungeKutta {
  __device__ static Pair<T> at(float, T z, T w) {
    const T z2 = z * z;
    return {Field<T>::exponential(z), ((z * 0.5f + 1.0f) + z2 * (z + 4.0f) / 24.0f) * w};
  }
};

template <typename T>
__device__ Pair<T> choose(int method, float dt, T z, T w) {
  return method == 0   ? Exponential<T>::at(dt, z, w)
         : method == 1 ? Hold<T>{0.0f, 1.0f, 0.0f}.at(dt, z, w)
         : method == 2 ? Trapezoid<T>::at(dt, z, w)
         : method == 3 ? Hold<T>{1.0f, 0.5f, 0.0f}.at(dt, z, w)
         : method == 4 ? Hold<T>{1.0f, 1.0f, 0.5f}.at(dt, z, w)
                       : RungeKutta<T>::at(dt, z, w);
}

}  // namespace quadrature

template <typename weight_t, bool kIsComplex>
__device__ auto compute_discretization(float delta_val, weight_t A_val, weight_t delta_u_val, weight_t B_val,
                                       DiscretizationMethod method) {
  (void)B_val;
  const auto r = quadrature::choose<weight_t>(static_cast<int>(method), delta_val, A_val * delta_val, delta_u_val);
  const weight_t b = r.input;
  if constexpr (kIsComplex) {
    return make_float4(r.a_bar.real(), r.a_bar.imag(), b.real(), b.imag());
  } else {
    return make_float2(r.a_bar, b);
  }
}
