// Complex numbers over float, double or Pair, and the operations that real and complex weights share.
//
// Formula: the schoolbook product, over floats with one fma per part: normwise error 2 u (Brent, Percival and
// Zimmermann 2007 with Jeannerod et al. 2017, u = 2^-24 the unit roundoff). Cost: product 4, quotient 11 flops.
// Deviation: quotient() forms |d|^2 without scaling; callers keep |d| within 1e±15.
#pragma once

#include "pair.cuh"

namespace HOLDFAST_NAMESPACE {

template <class T>
struct Complex {
  T re, im;
};

// a b + c d and a b - c d
template <class T>
HOLDFAST_DEVICE T sum_of_products(T a, T b, T c, T d) {
  return fused(a, b, mul_rn(c, d));
}
template <class T>
HOLDFAST_DEVICE T difference_of_products(T a, T b, T c, T d) {
  return fused(a, b, -mul_rn(c, d));
}
template <class T>
HOLDFAST_DEVICE Pair<T> sum_of_products(Pair<T> a, Pair<T> b, Pair<T> c, Pair<T> d) {
  return a * b + c * d;
}
template <class T>
HOLDFAST_DEVICE Pair<T> difference_of_products(Pair<T> a, Pair<T> b, Pair<T> c, Pair<T> d) {
  return a * b - c * d;
}

template <class T>
HOLDFAST_DEVICE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}

template <class T>
HOLDFAST_DEVICE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}

template <class T>
HOLDFAST_DEVICE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {difference_of_products(a.re, b.re, a.im, b.im), sum_of_products(a.re, b.im, a.im, b.re)};
}

// By a real number.
HOLDFAST_DEVICE float scaled(float a, float s) { return a * s; }
HOLDFAST_DEVICE double scaled(double a, double s) { return a * s; }
template <class T>
HOLDFAST_DEVICE Pair<T> scaled(Pair<T> a, T s) {
  return a * s;
}
template <class V, class T>
HOLDFAST_DEVICE Complex<V> scaled(Complex<V> a, T s) {
  return {scaled(a.re, s), scaled(a.im, s)};
}

// Plus a real number.
HOLDFAST_DEVICE float shifted(float a, float s) { return a + s; }
HOLDFAST_DEVICE double shifted(double a, double s) { return a + s; }
template <class T>
HOLDFAST_DEVICE Pair<T> shifted(Pair<T> a, T s) {
  return a + s;
}
template <class V, class T>
HOLDFAST_DEVICE Complex<V> shifted(Complex<V> a, T s) {
  return {shifted(a.re, s), a.im};
}

template <class T>
HOLDFAST_DEVICE Complex<T> quotient(Complex<T> n, Complex<T> d) {
  const T square = sum_of_products(d.re, d.re, d.im, d.im);
  return {sum_of_products(n.re, d.re, n.im, d.im) / square, difference_of_products(n.im, d.re, n.re, d.im) / square};
}

// |re| + |im|: between the modulus and 1.42 times it, and all that a monitor needs.
HOLDFAST_DEVICE float norm1(float a) { return fabsf(a); }
HOLDFAST_DEVICE double norm1(double a) { return fabs(a); }
template <class T>
HOLDFAST_DEVICE T norm1(Complex<T> a) {
  return magnitude(a.re) + magnitude(a.im);
}

template <class T>
HOLDFAST_DEVICE Complex<T> rounded(Complex<Pair<T>> a) {
  return {a.re.hi, a.im.hi};
}

HOLDFAST_DEVICE Pair<float> widened(float a) { return {a, 0.0f}; }

HOLDFAST_DEVICE double to_double(float a) { return a; }
HOLDFAST_DEVICE double to_double(double a) { return a; }
HOLDFAST_DEVICE Complex<double> to_complex_double(float a) { return {a, 0.0}; }
HOLDFAST_DEVICE Complex<double> to_complex_double(double a) { return {a, 0.0}; }
template <class T>
HOLDFAST_DEVICE Complex<double> to_complex_double(Complex<T> a) {
  return {a.re, a.im};
}

// From the double path back to the weight's own type.
template <class W>
struct FromDouble;
template <>
struct FromDouble<float> {
  static HOLDFAST_DEVICE float of(Complex<double> a) { return static_cast<float>(a.re); }
};
template <>
struct FromDouble<double> {
  static HOLDFAST_DEVICE double of(Complex<double> a) { return a.re; }
};
template <class T>
struct FromDouble<Complex<T>> {
  static HOLDFAST_DEVICE Complex<T> of(Complex<double> a) { return {static_cast<T>(a.re), static_cast<T>(a.im)}; }
};

}  // namespace HOLDFAST_NAMESPACE
