// Real and complex numbers in f64 and the elementary functions of them, as src/judge/lanes.rs has them: the same operations in
// the same order, each rounded once, so that every bit is the same. That file derives their accuracy.
#pragma once

#include "judge/platform.cuh"

namespace holdfast_judge {

// 1/k!
JUDGE_CONSTANT double kInverseFactorials[21] = {1.0,
                                                1.0,
                                                1.0 / 2.0,
                                                1.0 / 6.0,
                                                1.0 / 24.0,
                                                1.0 / 120.0,
                                                1.0 / 720.0,
                                                1.0 / 5040.0,
                                                1.0 / 40320.0,
                                                1.0 / 362880.0,
                                                1.0 / 3628800.0,
                                                1.0 / 39916800.0,
                                                1.0 / 479001600.0,
                                                1.0 / 6227020800.0,
                                                1.0 / 87178291200.0,
                                                1.0 / 1307674368000.0,
                                                1.0 / 20922789888000.0,
                                                1.0 / 355687428096000.0,
                                                1.0 / 6402373705728000.0,
                                                1.0 / 121645100408832000.0,
                                                1.0 / 2432902008176640000.0};

// Adding it rounds to an integer, which is then in the low bits: 1.5·2⁵².
constexpr double kRounder = 6755399441055744.0;

JUDGE_DEVICE double size_of_real(double x) { return from_bits(bits_of(x) & 0x7fffffffffffffffull); }
JUDGE_DEVICE double larger(double a, double b) { return a > b ? a : b; }

// a·b, where nothing times whatever is nothing.
JUDGE_DEVICE double times(double a, double b) { return a == 0.0 || b == 0.0 ? 0.0 : a * b; }
JUDGE_DEVICE double unless_zero(double x, double of) { return of == 0.0 ? 0.0 : x; }
JUDGE_DEVICE double over_one_less(double x) { return x < 1.0 ? 1.0 / (1.0 - x) : infinity(); }

// 2ᵏ for the integer in the low bits of what kRounder was added to.
JUDGE_DEVICE double power_of_two(double shifted) { return from_bits((bits_of(shifted) << 52) + (1023ull << 52)); }

JUDGE_DEVICE double exponential(double given) {
  double x = given < -1400.0 ? -1400.0 : given;
  x = x > 1400.0 ? 1400.0 : x;
  const double k = (x * 1.4426950408889634 + kRounder) - kRounder;
  // ln 2 in two parts, the first of 32 bits.
  const double r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
  double value = kInverseFactorials[13];
  JUDGE_UNROLL
  for (int i = 12; i >= 0; --i) value = value * r + kInverseFactorials[i];
  const double half = k * 0.5 + kRounder;
  const double rest = (k - (half - kRounder)) + kRounder;
  return value * power_of_two(half) * power_of_two(rest);
}

// Σ ±x²ᵏ/(first + 2k)!, the signs alternating, for the square of x.
template <int kFirst>
JUDGE_DEVICE double alternating(double square) {
  double sum = 0.0;
  JUDGE_UNROLL
  for (int k = 8; k >= 0; --k) sum = kInverseFactorials[kFirst + 2 * k] - sum * square;
  return sum;
}

// In odd quadrants `odd`, else `even`; the sign is that of bit 1 of the quadrant's number and so many more.
JUDGE_DEVICE double in_quadrant(double odd, double even, double quadrant, Bits more) {
  const Bits number = bits_of(quadrant);
  const double chosen = (number & 1) == 1 ? odd : even;
  return from_bits(bits_of(chosen) ^ (((number + more) & 2) << 62));
}

JUDGE_DEVICE void sine_and_cosine(double x, double& sine, double& cosine) {
  const double shifted = x * 0.6366197723675814 + kRounder;
  const double k = shifted - kRounder;
  // π/2 in three parts of 33 bits.
  const double r = ((x - k * 1.5707963267341256) - k * 6.077100506303966e-11) - k * 2.0222662487959506e-21;
  const double square = r * r;
  const double odd = alternating<1>(square) * r, even = alternating<0>(square);
  sine = in_quadrant(even, odd, shifted, 0);
  cosine = in_quadrant(odd, even, shifted, 1);
}

struct Complex {
  double re, im;
};

JUDGE_DEVICE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
JUDGE_DEVICE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
JUDGE_DEVICE Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
JUDGE_DEVICE Complex operator/(Complex a, Complex b) {
  const Complex conjugate = {b.re, -b.im};
  const double size = b.re * b.re + b.im * b.im;
  const Complex product = a * conjugate;
  return {product.re / size, product.im / size};
}
JUDGE_DEVICE Complex operator*(Complex a, double b) { return {a.re * b, a.im * b}; }
JUDGE_DEVICE Complex operator+(Complex a, double b) { return {a.re + b, a.im}; }
JUDGE_DEVICE Complex operator-(Complex a, double b) { return {a.re - b, a.im}; }

JUDGE_DEVICE double norm(double x) { return size_of_real(x); }
JUDGE_DEVICE double norm(Complex x) {
  const double largest = larger(size_of_real(x.re), size_of_real(x.im));
  double scale = largest < 1.0 / 1e140 ? 1e150 : 1.0;
  scale = largest > 1e140 ? 1.0 / 1e150 : scale;
  const double re = x.re * scale, im = x.im * scale;
  return root(re * re + im * im) / scale;
}

JUDGE_DEVICE double exponential_of(double z) { return exponential(z); }
JUDGE_DEVICE Complex exponential_of(Complex z) {
  const double size = exponential(z.re);
  double sine, cosine;
  sine_and_cosine(z.im, sine, cosine);
  return {times(size, cosine), times(size, sine)};
}

JUDGE_DEVICE double real_part(double x) { return x; }
JUDGE_DEVICE double real_part(Complex x) { return x.re; }

// What is made of numbers of either kind.
template <typename V>
struct Of;

template <>
struct Of<double> {
  static constexpr int kWidth = 1;
  JUDGE_DEVICE static double real(double x) { return x; }
  JUDGE_DEVICE static double load(const float* at) { return static_cast<double>(at[0]); }
  JUDGE_DEVICE static double part(double x, int) { return x; }
};

template <>
struct Of<Complex> {
  static constexpr int kWidth = 2;
  JUDGE_DEVICE static Complex real(double x) { return {x, 0.0}; }
  JUDGE_DEVICE static Complex load(const float* at) {
    return {static_cast<double>(at[0]), static_cast<double>(at[1])};
  }
  JUDGE_DEVICE static double part(Complex x, int which) { return which == 0 ? x.re : x.im; }
};

// zᵏ by repeated products.
template <typename V>
JUDGE_DEVICE V power(V z, int k) {
  V value = Of<V>::real(1.0);
  for (int i = 0; i < k; ++i) value = value * z;
  return value;
}

}  // namespace holdfast_judge
