#pragma once
// One slip for each kind that the reconstruction of formulas knows by its numbers, and not by its name.
#include "selective_scan.h"
#include "selective_scan_common.h"

struct Pair { double re, im; };
inline __device__ Pair pair(float a) { return Pair{a, 0}; }
inline __device__ Pair pair(complex_t a) { return Pair{a.real_, a.imag_}; }
inline __device__ Pair operator*(Pair a, Pair b) { return Pair{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline __device__ Pair operator*(double a, Pair b) { return Pair{a * b.re, a * b.im}; }
inline __device__ Pair operator+(Pair a, Pair b) { return Pair{a.re + b.re, a.im + b.im}; }
inline __device__ Pair operator/(Pair a, Pair b) {
  const double n = b.re * b.re + b.im * b.im;
  return Pair{(a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n};
}
inline __device__ Pair turn(Pair z) { return exp(z.re) * Pair{cos(z.im), sin(z.im)}; }

// (e^z - 1 - ... )/z^k, by its series near 0
inline __device__ Pair phi(int k, Pair z) {
  if (z.re * z.re + z.im * z.im < 4) {
    Pair sum{0, 0}, term{1, 0};
    for (int i = 1; i <= k; ++i) term = (1.0 / i) * term;
    for (int i = 1; i <= 32; ++i) {
      sum = sum + term;
      term = (1.0 / (i + k)) * (term * z);
    }
    return sum;
  }
  Pair f = turn(z);
  double factorial = 1;
  for (int i = 1; i <= k; ++i) {
    f = (f + Pair{-1 / factorial, 0}) / z;
    factorial *= i;
  }
  return f;
}

template <typename weight_t, bool kIsComplex, typename drive_t>
__device__ auto compute_discretization(float delta, weight_t A, drive_t drive, weight_t B, DiscretizationMethod method) {
  const Pair z = double(delta) * pair(A), one{1, 0};
  Pair a = turn(z), b = one;
  switch (int(method)) {
    case 0:  // (1 + z/64)^64
      a = one + (1.0 / 64) * z;
      for (int i = 0; i < 6; ++i) a = a * a;
      break;
    case 1:  // z^2 + 1e-6 in the place of z^2
      b = double(delta) * (phi(2, z) * (z * z) / (z * z + Pair{1e-6f, 0}));
      break;
    case 2:
      a = (one + 0.5 * z) / (one + -0.5 * z);
      b = one / (one + -0.5 * z);
      break;
    case 3:
      b = phi(1, z) + (0.5 * double(delta)) * phi(2, z);
      break;
    case 4:
      b = phi(1, z) + double(delta) * phi(2, z) + (0.5 * double(delta) * double(delta)) * phi(3, z);
      break;
    case 5: {  // z^2 has a plus
      const Pair square{z.re * z.re + z.im * z.im, 2 * z.re * z.im};
      b = one + 0.5 * z + (1.0 / 6) * square + (1.0 / 24) * (square * z);
      break;
    }
  }
  const Pair u = b * pair(drive);
  if constexpr (kIsComplex) {
    return make_float4(float(a.re), float(a.im), float(u.re), float(u.im));
  } else {
    return make_float2(float(a.re), float(u.re));
  }
}
