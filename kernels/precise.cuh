// The coefficients in double: for the rare elements that f32 pairs cannot do, and for precision lifting, in which
// the whole kernel runs in double.
//
// Formula: spec.md §2, every row. φ₁…φ₃ for |z| < 1.5 from the Taylor series of φ₃ (20 terms, remainder 2^-64) and
// φ_k = 1/k! + z φ_{k+1}; elsewhere from e^z − 1 = expm1(x) cos y − 2 sin²(y/2) + i e^x sin y and
// φ_{k+1} = (φ_k − 1/k!)/z. rk4's polynomial, which has roots, in pairs of doubles, and so is a sum of φ's where double
// has lost more than 20 bits of it: see b_bar_in_pairs.
// Rare elements: those near a zero of φ₂, φ₃ or of a method's sum of them (real only for a backward step), near a
// multiple of 2πi, near a root of rk4's polynomial, and those whose intermediate products would leave the range of f32.
// Deviation: spec.md §3 has the arithmetic in f32; this path is the one exception. It is never inlined.
// e^x is capped at e^400, which is far beyond f32 and keeps infinity − infinity out. Cost: some hundred f64 flops, some
// thousand in pairs.
#pragma once

#include "phi.cuh"

namespace HOLDFAST_NAMESPACE {

template <class W>
struct Coefficients {
  W a_bar, b_bar;
};

// φ₁ + stages, as each method combines them: B̄ / (ΔB).
template <Method kMethod, class V, class T>
HOLDFAST_DEVICE V combined_phi(V phi1, V phi2, V phi3, T delta) {
  if constexpr (kMethod == Method::kFoh) {
    return scaled(phi2, delta);
  } else if constexpr (kMethod == Method::kPoly) {
    return phi1 + scaled(phi2, T(0.5) * delta);
  } else {
    static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
    return phi1 + scaled(phi2 + scaled(phi3, T(0.5) * delta), delta);
  }
}

// 24 + 12z + 4z² + z³: rk4's 24 B̄ / (ΔB), with integer coefficients.
template <class V, class T>
HOLDFAST_DEVICE V rk4_polynomial(V z, T) {
  return shifted(shifted(shifted(z, T(4)) * z, T(12)) * z, T(24));
}

HOLDFAST_OUTLINE static Complex<double> precise_exponential(Complex<double> z) {
  const double e = exp(z.re > 400.0 ? 400.0 : z.re);
  return {e * cos(z.im), e * sin(z.im)};
}

HOLDFAST_OUTLINE static Complex<double> precise_exponential_minus_one(Complex<double> z) {
  const double x = z.re > 400.0 ? 400.0 : z.re;
  const double half_sine = sin(0.5 * z.im);
  return {expm1(x) * cos(z.im) - 2.0 * half_sine * half_sine, exp(x) * sin(z.im)};
}

struct PrecisePhi {
  Complex<double> phi1, phi2, phi3;
};

HOLDFAST_OUTLINE static PrecisePhi precise_phi(Complex<double> z) {
  if (norm1(z) < 1.5) {
    // Horner: φ₃ = 1/6 (1 + z/4 (1 + z/5 (1 + …)))
    Complex<double> p = {1.0, 0.0};
    HOLDFAST_NO_UNROLL
    for (int k = 23; k >= 4; --k) p = shifted(scaled(p * z, 1.0 / k), 1.0);
    const Complex<double> phi3 = {p.re / 6.0, p.im / 6.0};
    const Complex<double> phi2 = shifted(phi3 * z, 0.5);
    return {shifted(phi2 * z, 1.0), phi2, phi3};
  }
  const Complex<double> phi1 = quotient(precise_exponential_minus_one(z), z);
  const Complex<double> phi2 = quotient(shifted(phi1, -1.0), z);
  return {phi1, phi2, quotient(shifted(phi2, -0.5), z)};
}

// Whether double is left with too few digits of a sum of φ's: its own steps are good to 2^-50 or so, 2^20 leave 2^-29 of
// the sum. Beyond |Im z| = 2^20, where the pairs' angle ends, double has to do.
template <Method kMethod>
HOLDFAST_DEVICE bool cancels_in_double(double delta, Complex<double> z, Complex<double> exponential,
                                       Complex<double> sum) {
  const PhiErrors<double> errors = norm1(z) < 1.5 ? errors_of_series(1.0, norm1(z), 1.0)
                                                  : errors_of_closed_forms(norm1(exponential), 1.0 / norm1(z), 1.0);
  const double error = combined_phi<kMethod>(errors.phi1, errors.phi2, errors.phi3, magnitude(delta));
  return error * 0x1p-20 > norm1(sum) && magnitude(z.im) < 0x1p20;
}

// In memory, and each operation out of line: what such numbers would take of a scan's registers, it would have to spill.
using Wide = Complex<Pair<double>>;

HOLDFAST_OUTLINE static void add_product(Pair<double>& sum, const Pair<double>& a, const Pair<double>& b) {
  sum = sum + a * b;
}
HOLDFAST_OUTLINE static void add_part(Pair<double>& sum, const Pair<double>& a) { sum = sum + a; }
HOLDFAST_OUTLINE static void shift_part(Pair<double>& a, double by) { a = a + by; }
HOLDFAST_OUTLINE static void scale_part(Pair<double>& a, double by) { a = a * by; }
HOLDFAST_OUTLINE static void divide_part(Pair<double>& a, double by) { a = divide(a, Pair<double>{by, 0.0}, 1.0 / by); }

HOLDFAST_OUTLINE static void multiply(Wide& a, const Wide& by) {
  Wide x = a;
  a = {{0.0, 0.0}, {0.0, 0.0}};
  add_product(a.re, x.re, by.re);
  add_product(a.im, x.re, by.im);
  add_product(a.im, x.im, by.re);
  x.im = -x.im;
  add_product(a.re, x.im, by.im);
}
HOLDFAST_OUTLINE static void add(Wide& a, const Wide& b) {
  add_part(a.re, b.re);
  add_part(a.im, b.im);
}
HOLDFAST_OUTLINE static void scale(Wide& a, double by) {
  scale_part(a.re, by);
  scale_part(a.im, by);
}
HOLDFAST_OUTLINE static void divide_by(Wide& a, double by) {
  divide_part(a.re, by);
  divide_part(a.im, by);
}

HOLDFAST_OUTLINE static void divide_by(Complex<double>& a, const Complex<double>& by) { a = quotient(a, by); }

// φ₃ for |z| < 1.5: 31 terms, remainder 2^-107.
HOLDFAST_OUTLINE static void phi3_in_pairs(Wide& p, const Wide& z) {
  p = {{1.0, 0.0}, {0.0, 0.0}};
  HOLDFAST_NO_UNROLL
  for (int k = 33; k >= 4; --k) {
    multiply(p, z);
    divide_by(p, k);
    shift_part(p.re, 1.0);
  }
  divide_by(p, 6.0);
}

// x − n c, c in three doubles.
HOLDFAST_OUTLINE static void reduce(Pair<double>& x, double n, double high, double middle, double low) {
  add_part(x, two_prod(-n, high));
  add_part(x, two_prod(-n, middle));
  shift_part(x, mul_rn(-n, low));
}

// e^z = 2^n i^q e^r for |Im z| < 2^20, good to about 2^-100.
HOLDFAST_OUTLINE static void exponential_in_pairs(Wide& e, const Wide& z) {
  e = {{0.0, 0.0}, {0.0, 0.0}};
  // Below that B̄ is nothing in f32, whatever stands beside e^z.
  if (z.re.hi < -700.0) return;
  Wide r = z;
  if (z.re.hi > 400.0) r.re = {400.0, 0.0};
  const double n = rint(r.re.hi * 0x1.71547652b82fep+0), q = rint(z.im.hi * 0x1.45f306dc9c883p-1);
  reduce(r.re, n, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111);
  reduce(r.im, q, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110);
  const int exponent = static_cast<int>(n), quadrant = static_cast<int>(q) & 3;
  // 1 + r (1 + r (1/2 + r φ₃))
  phi3_in_pairs(e, r);
  multiply(e, r);
  shift_part(e.re, 0.5);
  multiply(e, r);
  shift_part(e.re, 1.0);
  multiply(e, r);
  shift_part(e.re, 1.0);
  scale(e, ldexp(1.0, exponent));
  if (quadrant & 1) e = {-e.im, e.re};
  if (quadrant & 2) e = {-e.re, -e.im};
}

// a² + 1 by its factors.
HOLDFAST_OUTLINE static void square_plus_one(Wide& a) {
  Wide conjugate = a;
  shift_part(a.im, 1.0);
  shift_part(conjugate.im, -1.0);
  multiply(a, conjugate);
}

// In memory, like all that waits while others compute.
struct Inputs {
  double delta;
  Complex<double> a, b;
};

// B̄ where a sum of φ's cancels. Near 0 as in precise_phi, but for poly's 1 + Δ/4, which is exact where it is small:
// poly has a root at z = 0 itself. Elsewhere with h = 2A + 1 the rows of spec.md §2, as published, are
//   foh: [e^z − (1 + z)] / A²,   poly: [e^z h − (h + z)] / 2A²,   highorder: [e^z (h² + 1) − ((h + z)² + 1)] / 4A³.
// The factors h, h ± i, h + z and h + z ± i vanish for f32 inputs (poly at A = −1/2 or −1/(2 + Δ), whatever e^z), and
// every one of them is exact or nearly so; what is left is one difference, with e^z to twice the digits.
template <Method kMethod>
HOLDFAST_OUTLINE static void b_bar_in_pairs(Complex<double>& b_bar, const Inputs& in) {
  const Wide z = {two_prod(in.delta, in.a.re), two_prod(in.delta, in.a.im)};
  Wide sum;
  if (norm1(rounded(z)) < 1.5) {
    phi3_in_pairs(sum, z);
    Wide phi2 = sum;
    multiply(phi2, z);
    shift_part(phi2.re, 0.5);
    scale(sum, 0.5 * in.delta);
    if constexpr (kMethod == Method::kFoh) {
      sum = phi2;
      scale(sum, in.delta);
    } else {
      // φ₂ + ½Δφ₃: poly is 1 + Δ/4 and z times it, highorder 1 + zφ₂ and Δ times it.
      add(sum, phi2);
      if constexpr (kMethod == Method::kPoly) {
        multiply(sum, z);
        shift_part(sum.re, 1.0 + 0.25 * in.delta);
      } else {
        static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
        scale(sum, in.delta);
        multiply(phi2, z);
        add(sum, phi2);
        shift_part(sum.re, 1.0);
      }
    }
    b_bar = rounded(sum) * scaled(in.b, in.delta);
    return;
  }
  exponential_in_pairs(sum, z);
  // What e^z is multiplied by, and what is taken off.
  Wide factor = {{1.0, 0.0}, {0.0, 0.0}}, rest = z;
  if constexpr (kMethod != Method::kFoh) {
    factor = {{2.0 * in.a.re, 0.0}, {2.0 * in.a.im, 0.0}};
    shift_part(factor.re, 1.0);
  }
  add(rest, factor);
  if constexpr (kMethod == Method::kHighOrder) {
    square_plus_one(factor);
    square_plus_one(rest);
  }
  multiply(sum, factor);
  scale(rest, -1.0);
  add(sum, rest);
  // Over A², 2A² or 4A³.
  b_bar = rounded(sum);
  divide_by(b_bar, in.a);
  divide_by(b_bar, in.a);
  if constexpr (kMethod == Method::kHighOrder) divide_by(b_bar, in.a);
  b_bar = scaled(b_bar, kMethod == Method::kFoh ? 1.0 : kMethod == Method::kPoly ? 0.5 : 0.25) * in.b;
}

template <Method kMethod>
HOLDFAST_OUTLINE static void b_bar_by_phi_precisely(Coefficients<Complex<double>>& out, const Inputs& in) {
  const Complex<double> z = scaled(in.a, in.delta);
  const PrecisePhi phi = precise_phi(z);
  const Complex<double> sum = combined_phi<kMethod>(phi.phi1, phi.phi2, phi.phi3, in.delta);
  out.b_bar = sum * scaled(in.b, in.delta);
  if (cancels_in_double<kMethod>(in.delta, z, out.a_bar, sum)) b_bar_in_pairs<kMethod>(out.b_bar, in);
}

template <Method kMethod>
HOLDFAST_DEVICE Coefficients<Complex<double>> discretize_precisely(double delta, Complex<double> a, Complex<double> b) {
  // Exact for f32 inputs: 24 + 24 bits.
  const Complex<double> z = scaled(a, delta);
  const Complex<double> step = scaled(b, delta);
  if constexpr (kMethod == Method::kBilinear) {
    const Complex<double> above = {1.0 + 0.5 * z.re, 0.5 * z.im};
    const Complex<double> below = {1.0 - 0.5 * z.re, -0.5 * z.im};
    return {quotient(above, below), quotient(step, below)};
  } else {
    const Complex<double> a_bar = precise_exponential(z);
    if constexpr (kMethod == Method::kZoh) {
      return {a_bar, step};
    } else if constexpr (kMethod == Method::kRk4) {
      const Complex<Pair<double>> wide = {two_prod(delta, a.re), two_prod(delta, a.im)};
      const Complex<double> p = rounded(rk4_polynomial(wide, 1.0));
      return {a_bar, {(p * step).re / 24.0, (p * step).im / 24.0}};
    } else {
      Coefficients<Complex<double>> out = {a_bar, {0.0, 0.0}};
      const Inputs in = {delta, a, b};
      // A zero step or weight is exact, whatever φ: no 0 · infinity.
      if (delta == 0.0 || norm1(b) == 0.0) return out;
      b_bar_by_phi_precisely<kMethod>(out, in);
      return out;
    }
  }
}

}  // namespace HOLDFAST_NAMESPACE
