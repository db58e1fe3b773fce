// Unevaluated sums of two floats (or doubles): about 46 (104) bits out of 24-bit (53-bit) arithmetic.
//
// Formula: Dekker 1971, Knuth TAOCP 4.2.2 (two_sum), with the exact product by one fma.
// Why: spec.md §2's z = ΔA rounded to f32 would cost |z|/2 ulp in e^z, and φ₂, φ₃ cancel. Cost: + 10, × 7 flops.
// Deviation: the error terms assume no overflow, and no underflow of the low parts; callers guard the range.
#pragma once

#include "platform.cuh"

namespace HOLDFAST_NAMESPACE {

template <class T>
struct Pair {
  T hi, lo;
};

// a + b = hi + lo exactly.
template <class T>
HOLDFAST_DEVICE Pair<T> two_sum(T a, T b) {
  const T s = add_rn(a, b);
  const T bb = add_rn(s, -a);
  return {s, add_rn(add_rn(a, -add_rn(s, -bb)), add_rn(b, -bb))};
}

// The same where |a| >= |b| or a == 0.
template <class T>
HOLDFAST_DEVICE Pair<T> quick_two_sum(T a, T b) {
  const T s = add_rn(a, b);
  return {s, add_rn(b, -add_rn(s, -a))};
}

// a b = hi + lo exactly.
template <class T>
HOLDFAST_DEVICE Pair<T> two_prod(T a, T b) {
  const T p = mul_rn(a, b);
  return {p, fused(a, b, -p)};
}

template <class T>
HOLDFAST_DEVICE Pair<T> operator-(Pair<T> a) {
  return {-a.hi, -a.lo};
}

template <class T>
HOLDFAST_DEVICE Pair<T> operator+(Pair<T> a, Pair<T> b) {
  const Pair<T> s = two_sum(a.hi, b.hi);
  return quick_two_sum(s.hi, add_rn(s.lo, add_rn(a.lo, b.lo)));
}

template <class T>
HOLDFAST_DEVICE Pair<T> operator-(Pair<T> a, Pair<T> b) {
  return a + (-b);
}

template <class T>
HOLDFAST_DEVICE Pair<T> operator+(Pair<T> a, T b) {
  const Pair<T> s = two_sum(a.hi, b);
  return quick_two_sum(s.hi, add_rn(s.lo, a.lo));
}

template <class T>
HOLDFAST_DEVICE Pair<T> operator*(Pair<T> a, Pair<T> b) {
  const Pair<T> p = two_prod(a.hi, b.hi);
  return quick_two_sum(p.hi, add_rn(p.lo, fused(a.hi, b.lo, mul_rn(a.lo, b.hi))));
}

template <class T>
HOLDFAST_DEVICE Pair<T> operator*(Pair<T> a, T b) {
  const Pair<T> p = two_prod(a.hi, b);
  return quick_two_sum(p.hi, fused(a.lo, b, p.lo));
}

// num / den, where inv is 1 / den.hi rounded.
template <class T>
HOLDFAST_DEVICE Pair<T> divide(Pair<T> num, Pair<T> den, T inv) {
  const T q = mul_rn(num.hi, inv);
  const T rest = add_rn(fused(-q, den.hi, num.hi), fused(-q, den.lo, num.lo));
  return quick_two_sum(q, mul_rn(rest, inv));
}

HOLDFAST_DEVICE float rounded(float a) { return a; }
HOLDFAST_DEVICE double rounded(double a) { return a; }
template <class T>
HOLDFAST_DEVICE T rounded(Pair<T> a) {
  return a.hi;
}

}  // namespace HOLDFAST_NAMESPACE
