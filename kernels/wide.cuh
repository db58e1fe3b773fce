// e^z, sums of φ-functions and rk4's polynomial of common complex elements, in double (spec.md §2).
//
// Formula: e^z = σ w + σ, with z = r + n ln 2 + i q π/2, σ = 2^n i^q and w = e^r − 1. In its polynomials r and r²/2 stand as they are: where
// σ = 1, e^z − 1 = w keeps the digits of z. B̄ = h B, with k₁, k₂ and k₃ that A alone decides:
//
//   h = (e^z − 1) k₁ − Δ (k₂ + Δ k₃)      k₁                    k₂             k₃
//     foh        Δ²φ₂                      1/A²                  1/A            0
//     poly       Δφ₁ + ½Δ²φ₂               1/A + 1/2A²           1/2A           0
//     highorder  Δφ₁ + Δ²φ₂ + ½Δ³φ₃        1/A + 1/A² + 1/2A³    1/A + 1/2A²    1/4A
//
// Near 0, where that cancels, the series of φ₄ and φ_k = 1/k! + z φ_{k+1}.
// Why double: pairs of floats would take several times as many instructions, and double has half the rate of float on the GPUs that are made
// for computing. On others it is slow.
// Accuracy: e^z to 2^-44, and h to 2^-28 where `keeps_digits` holds; then every part is rounded once. Cost: e^z 45 flops, h 10, in double.
#pragma once

#include "precise.cuh"
#include "step.cuh"

namespace HOLDFAST_NAMESPACE {

// Whether a method's B̄/B is a sum of φ-functions.
template <Method kMethod>
constexpr bool kSumsPhi = kMethod == Method::kFoh || kMethod == Method::kPoly || kMethod == Method::kHighOrder;

HOLDFAST_DEVICE Complex<double> wide_inverse(Complex<float> a) { return quotient(Complex<double>{1.0, 0.0}, to_complex_double(a)); }

struct WideExponential {
  Complex<double> value, minus_one;
  bool reduced;  // whether that is off by 2^-44 of e^z, or else by 2^-41 of its terms from z³ on
};

// For |Im z| <= 1000 and Re z <= 700; beyond −700 on the left e^z is nothing in f32.
HOLDFAST_DEVICE WideExponential wide_exponential(Complex<double> z) {
  // Leaves an integer in the low bits.
  constexpr double magic = 0x1.8p+52;
  const double re = z.re < -700.0 ? -700.0 : z.re;
  const double halvings = fused(re, 0x1.71547652b82fep+0, magic), turns = fused(z.im, 0x1.45f306dc9c883p-1, magic);
  const double x = fused(add_rn(halvings, -magic), -0x1.62e42fefa39efp-1, re);
  const double y = fused(add_rn(turns, -magic), -0x1.921fb54442d18p+0, z.im), square = y * y;
  // e^x = 1 + x + x²/2 + p x³, |x| <= 0.347; sin y = y + s y³ and cos y = 1 − y²/2 + c y⁴, |y| <= 0.786. Minimax, to 2^-46.
  const double p = horner(x, 0x1.2892a7d7f78c5p-22, 0x1.72ae7a2f7d7e4p-19, 0x1.a019ba33ba6bep-16, 0x1.a019c2b1bc7bdp-13,
                          0x1.6c16c1774388ep-10, 0x1.1111111726abap-7, 0x1.555555555459ep-5, 0x1.5555555554f73p-3);
  const double s = horner(square, -0x1.aa25440e5542ep-26, 0x1.71d9a35a10c70p-19, -0x1.a019fd928ef06p-13, 0x1.1111110fd050dp-7,
                          -0x1.555555555515ep-3);
  const double c = horner(square, 0x1.1c7ffddb525e7p-29, -0x1.27e25b7d8acf1p-22, 0x1.a019ff4ea82fbp-16, -0x1.6c16c16b5f47bp-10,
                          0x1.5555555555433p-5);
  const double growth = fused(x * x, fused(p, x, 0.5), x);
  const double sine = fused(y * square, s, y), cosine_minus_one = square * fused(c, square, -0.5);
  const Complex<double> w = {fused(growth, cosine_minus_one, growth) + cosine_minus_one, fused(growth, sine, sine)};
  // σ: 2^n along one of the axes.
  const unsigned n = __double2loint(halvings), q = __double2loint(turns);
  const int size = static_cast<int>((n + 1023u) << 20 | (q & 2u) << 30);
  const Complex<double> sigma = {__hiloint2double(q & 1 ? 0 : size, 0), __hiloint2double(q & 1 ? size : 0, 0)};
  const Complex<double> value = multiply_add(sigma, w, sigma);
  const bool reduced = (n | q) != 0;
  return {value, {reduced ? value.re - 1.0 : w.re, value.im}, reduced};
}

// c₀ + c₁z + c₂z² + c₃z³
HOLDFAST_DEVICE Complex<double> cubic(Complex<double> z, double c0, double c1, double c2, double c3) {
  const Complex<double> last = {fused(z.re, c3, c2), z.im * c3};
  return multiply_add(z, multiply_add(z, last, Complex<double>{c1, 0.0}), Complex<double>{c0, 0.0});
}

// Whether z is so near 0 that closed forms lose more than 2^-28: where |z|² is below a limit. Of h poly's and foh's lose |z|, highorder's |z|².
HOLDFAST_DEVICE bool is_near(float delta, Complex<float> a, float limit) {
  const Complex<float> z = {mul_rn(delta, a.re), mul_rn(delta, a.im)};
  return sum_of_products(z.re, z.re, z.im, z.im) <= limit;
}
template <Method kMethod>
constexpr float kNear = kMethod == Method::kHighOrder ? 0x1p-20f : 0x1p-40f;

// φ₄ for |z| <= 2^-5; and what it leads to.
HOLDFAST_DEVICE Complex<double> near_phi4(Complex<double> z) { return cubic(z, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040); }
HOLDFAST_DEVICE PrecisePhi lower_phi(Complex<double> z, Complex<double> phi4) {
  const auto next = [&](Complex<double> phi, double shift) { return multiply_add(z, phi, Complex<double>{shift, 0.0}); };
  const Complex<double> phi3 = next(phi4, 1.0 / 6.0), phi2 = next(phi3, 0.5);
  return {next(phi2, 1.0), phi2, phi3};
}

// k₁, k₂ and k₃ of h, from 1/A.
struct ClosedForm {
  Complex<double> first, second, third;
};
template <Method kMethod>
HOLDFAST_DEVICE ClosedForm closed_form(Complex<double> inverse) {
  const Complex<double> square = inverse * inverse, half = scaled(inverse, 0.5);
  if constexpr (kMethod == Method::kFoh) {
    return {square, inverse, {0.0, 0.0}};
  } else if constexpr (kMethod == Method::kPoly) {
    return {inverse + scaled(square, 0.5), half, {0.0, 0.0}};
  } else {
    static_assert(kMethod == Method::kHighOrder, "a method without a branch of its own");
    return {inverse + square + half * square, inverse + scaled(square, 0.5), scaled(half, 0.5)};
  }
}

// Whether z is in reach.
HOLDFAST_DEVICE bool is_in_reach(float delta, Complex<float> a) {
  const float re = mul_rn(delta, a.re);
  return (re >= -1e6f) & (re <= 80.5f) & (fabsf(mul_rn(delta, a.im)) <= 1000.0f);
}

// Whether a number of about this size is off by 2^-28 of itself at most, which (e^z − 1) k and something else made, with this |k| and e^z.
HOLDFAST_DEVICE bool keeps_digits(const WideExponential& e, float size, float k, Complex<float> exponential) {
  return !e.reduced | (size >= 0x1p-16f * k * (1.0f + norm1(exponential)));
}

// h = B̄/B of a sum of φ's.
template <Method kMethod>
HOLDFAST_DEVICE Complex<double> wide_sum(double delta, const WideExponential& e, const ClosedForm& k) {
  const Complex<double> rest = kMethod == Method::kHighOrder ? k.second + scaled(k.third, delta) : k.second;
  return multiply_add(e.minus_one, k.first, scaled(rest, -delta));
}

// Whether z is further than 2^-14 from the roots of rk4's polynomial, so that double leaves enough of it.
HOLDFAST_DEVICE bool is_off_rk4_roots(Complex<float> z) {
  return (fabsf(z.re + 0x1.64848p+1f) + fabsf(z.im) > 0x1p-14f) &
         (fabsf(z.re + 0x1.36f7p-1f) + fabsf(fabsf(z.im) - 0x1.6f9a6ap+1f) > 0x1p-14f);
}

// Ā and B̄, bilinear's excepted. Returns false where this would not do; `out` is then worthless. Near 0 the B̄ of sums of φ's is yet to come.
template <Method kMethod>
HOLDFAST_DEVICE bool discretize_widely(float delta, Complex<float> a, Complex<float> b, const Complex<double>& inverse,
                                       Coefficients<Complex<float>>& out) {
  const double step = delta;
  const Complex<double> z = scaled(to_complex_double(a), step);
  const WideExponential e = wide_exponential(z);
  const auto narrowed = [](Complex<double> x) { return FromDouble<Complex<float>>::of(x); };
  out.a_bar = narrowed(e.value);
  if constexpr (kMethod == Method::kZoh) {
    out.b_bar = scaled(b, delta);
    return is_in_reach(delta, a);
  } else if constexpr (kMethod == Method::kRk4) {
    out.b_bar = narrowed(cubic(z, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24) * scaled(to_complex_double(b), step));
    return is_in_reach(delta, a) & is_off_rk4_roots(scaled(a, delta));
  } else {
    const ClosedForm k = closed_form<kMethod>(inverse);
    out.b_bar = narrowed(wide_sum<kMethod>(step, e, k) * to_complex_double(b));
    // With a step backwards sums cancel where z is not reduced, too.
    return is_in_reach(delta, a) & (delta >= 0.0f) &
           keeps_digits(e, norm1(out.b_bar), norm1(b) * static_cast<float>(norm1(k.first)), out.a_bar);
  }
}
template <Method kMethod>
HOLDFAST_DEVICE void discretize_near(float delta, Complex<float> a, Complex<float> b, Coefficients<Complex<float>>& out) {
  const double step = delta;
  const Complex<double> z = scaled(to_complex_double(a), step);
  const PrecisePhi phi = lower_phi(z, near_phi4(z));
  const Complex<double> h = scaled(combined_phi<kMethod>(phi.phi1, phi.phi2, phi.phi3, step), step);
  if (is_near(delta, a, kNear<kMethod>)) out.b_bar = FromDouble<Complex<float>>::of(h * to_complex_double(b));
}

}  // namespace HOLDFAST_NAMESPACE
