// One step's coefficients and how far a correct kernel's may be from them: src/judge/model.rs and src/judge/sums.rs, which
// derive every bound, in the same operations and the same order.
#pragma once

#include "judge/numbers.cuh"
#include "judge/params.h"

namespace holdfast_judge {

enum Function { kPhi = 0, kPower = 1, kResolvent = 2 };
enum Transition { kExponential = 0, kQuotient = 1, kPolynomial = 2 };

// φ₀ … φ₃ at z.
template <typename V>
struct Phis {
  V phi0, phi1, phi2, phi3;

  // A choice, and no array that is indexed at run time.
  JUDGE_DEVICE V at(int k) const { return k == 0 ? phi0 : k == 1 ? phi1 : k == 2 ? phi2 : phi3; }
};

template <typename V>
JUDGE_DEVICE Phis<V> phis_at(V z, double size, int highest) {
  const V phi0 = exponential_of(z);
  if (highest == 0) return {phi0, phi0, phi0, phi0};
  if (size < 1.0) {
    V phi3 = Of<V>::real(0.0);
    JUDGE_UNROLL
    for (int k = 17; k >= 0; --k) phi3 = phi3 * z + kInverseFactorials[k + 3];
    const V phi2 = z * phi3 + 0.5;
    return {phi0, z * phi2 + 1.0, phi2, phi3};
  }
  const V phi1 = (phi0 - 1.0) / z;
  const V phi2 = (phi1 - 1.0) / z;
  return {phi0, phi1, phi2, (phi2 - 0.5) / z};
}

// f at z, and z f′.
template <typename V>
JUDGE_DEVICE void function_and_change(const JudgeTerm& term, V z, const Phis<V>& phis, V& value, V& changed) {
  if (term.function == kPhi) {
    value = phis.at(term.k);
    if (term.k == 0) {
      changed = z * value;
    } else {
      changed = (z - static_cast<double>(term.k)) * value + kInverseFactorials[term.k - 1];
    }
  } else if (term.function == kPower) {
    value = power(z, term.k);
    changed = value * static_cast<double>(term.k);
  } else {
    const V share = z * term.alpha;
    value = Of<V>::real(1.0) / (Of<V>::real(1.0) - share);
    changed = value * value * share;
  }
}

// A bound on |z (z f′)′|.
template <typename V>
JUDGE_DEVICE double second_change(const JudgeTerm& term, double size, V value, V changed) {
  const double k = static_cast<double>(term.k);
  if (term.function == kPhi) return size * norm(value) + (size + k) * norm(changed);
  if (term.function == kPower) return norm(changed) * k;
  return norm(changed) * (size * norm(value) * (2.0 * term.alpha) + 1.0);
}

// What φ₁, φ₂ and φ₃ are off, summed in plain arithmetic.
struct PhiErrors {
  double e1, e2, e3;

  JUDGE_DEVICE double at(int k) const { return k == 1 ? e1 : k == 2 ? e2 : e3; }
};

JUDGE_DEVICE double up(const JudgeAllowance& allowed, double size, double error, double from, double to) {
  return size * (error + from * allowed.product) + to * allowed.unit;
}

template <typename V>
JUDGE_DEVICE PhiErrors phi_errors(const JudgeAllowance& allowed, double size, const Phis<V>& phis) {
  const double u = allowed.unit;
  if (size < 1.0) {
    double e3 = 0.0;
    JUDGE_UNROLL
    for (int i = kSeries - 1; i >= 0; --i) e3 = e3 * size + allowed.series[i];
    const double e2 = up(allowed, size, e3, norm(phis.phi3), norm(phis.phi2));
    return {up(allowed, size, e2, norm(phis.phi2), norm(phis.phi1)), e2, e3};
  }
  const double exponential_size = norm(phis.phi0);
  const double less_one = norm(phis.phi0 - 1.0);
  double e0, quotient;
  if (Of<V>::kWidth == 1) {
    e0 = exponential_size * (4.0 * u) + less_one * (2.0 * u);
    quotient = u;
  } else {
    e0 = larger(exponential_size, 1.0) * (25.0 * u);
    quotient = 5.0 * u;
  }
  const double e1 = (e0 + less_one * quotient) / size;
  const double e2 = (e1 + norm(phis.phi1 - 1.0) * (u + quotient)) / size;
  return {e1, e2, (e2 + norm(phis.phi2 - 0.5) * (u + quotient)) / size};
}

JUDGE_DEVICE double power_of(double x, int k) {
  // Δ, Δ² or Δ³, the last one as Δ·Δ².
  return k == 0 ? 1.0 : k == 1 ? x : k == 2 ? x * x : x * (x * x);
}

// What h = B̄/B loses where it is summed term by term.
template <typename V>
JUDGE_DEVICE double sum_error(const JudgeAllowance& allowed, const JudgeTerm* terms, int count, double delta, double size,
                              const Phis<V>& phis) {
  bool of_phi = false, polynomial = false;
  for (int i = 0; i < count; ++i) {
    of_phi = of_phi || (terms[i].function == kPhi && terms[i].k > 0);
    polynomial = polynomial || (terms[i].function == kPower && terms[i].k > 0);
  }
  PhiErrors errors = {0.0, 0.0, 0.0};
  if (of_phi) errors = phi_errors(allowed, size, phis);
  double total = 0.0;
  for (int i = 0; i < count; ++i) {
    const JudgeTerm& term = terms[i];
    const double factor = size_of_real(term.factor * power_of(delta, term.delta));
    double error;
    if (term.function == kPhi && term.k > 0) {
      error = errors.at(term.k) + norm(phis.at(term.k)) * (5.0 * allowed.unit);
    } else if (term.function == kPower && polynomial) {
      const double of_power = static_cast<double>(term.k) * (allowed.product + 2.0 * allowed.unit) + allowed.unit;
      error = power(size, term.k) * of_power;
    } else {
      continue;
    }
    total = total + error * factor;
  }
  return total;
}

template <typename V>
struct Step {
  V a_bar;
  double a_bar_error;
  // Of u_l, u_{l−1} and u_{l+1}.
  V b_bar[kInputs];
  double b_bar_error[kInputs];
};

template <typename V>
JUDGE_DEVICE void step_at(const JudgeFormula& formula, const JudgeAllowance& allowed, double delta, double delta_error, V a,
                          V b, Step<V>& step) {
  const V z = a * delta;
  const double size = norm(z);
  const double zeta = allowed.z_error + allowed.narrow_state_unit;
  const double theta = zeta + delta_error;
  Phis<V> phis = {z, z, z, z};
  if (!formula.is_rational) phis = phis_at(z, size, formula.phis);
  const V denominator = Of<V>::real(1.0) - z * formula.alpha;
  double moved, higher_orders;
  if (formula.has_pole) {
    moved = size * (formula.alpha * theta) / norm(denominator);
    higher_orders = over_one_less(moved);
  } else {
    moved = size * theta;
    // Below ½ the quotient bounds the exponential.
    higher_orders = moved < 0.5 ? over_one_less(moved) : exponential(moved);
  }
  double a_bar_error;
  if (formula.a_bar == kQuotient) {
    step.a_bar = (z * formula.complement + 1.0) / denominator;
    const double below = norm(denominator);
    a_bar_error = norm(step.a_bar) * allowed.a_units + size * theta / (below * below) * higher_orders;
  } else if (formula.a_bar == kExponential) {
    step.a_bar = phis.phi0;
    a_bar_error = times(norm(phis.phi0), (moved + allowed.a_units) * higher_orders);
  } else {
    step.a_bar = Of<V>::real(0.0);
    a_bar_error = 0.0;
    for (int k = 0; k < formula.powers; ++k) {
      const V value = power(z, k) * formula.power[k];
      step.a_bar = step.a_bar + value;
      a_bar_error = a_bar_error +
                    norm(value) * (higher_orders * (static_cast<double>(k) * theta) + allowed.a_units);
    }
  }
  a_bar_error = a_bar_error + norm(step.a_bar) * allowed.narrow_state_unit +
                2.0 * (allowed.underflow + allowed.narrow_state_underflow);
  step.a_bar_error = unless_zero(a_bar_error, size);
  JUDGE_UNROLL
  for (int input = 0; input < kInputs; ++input) {
    const int count = formula.terms[input];
    step.b_bar[input] = Of<V>::real(0.0);
    step.b_bar_error[input] = 0.0;
    if (count == 0) continue;
    const JudgeTerm* const terms = formula.term + input * kTerms;
    V h = Of<V>::real(0.0), by_z = h, by_delta = h;
    double second = 0.0;
    for (int i = 0; i < count; ++i) {
      const JudgeTerm& term = terms[i];
      V value, changed;
      function_and_change(term, z, phis, value, changed);
      const double factor = term.factor * power_of(delta, term.delta);
      const double order = static_cast<double>(term.delta);
      h = h + value * factor;
      by_z = by_z + changed * factor;
      by_delta = by_delta + value * (order * factor);
      if (delta_error > allowed.narrow) {
        const double first = norm(changed) * (2.0 * order);
        const double of_term = norm(value) * (order * order) + first + second_change(term, size, value, changed);
        second = second + of_term * size_of_real(factor);
      }
    }
    double change = norm(by_z) * zeta + norm(by_z + by_delta) * delta_error;
    change = change + second * (0.5 * delta_error * delta_error);
    const double summed = sum_error(allowed, terms, count, delta, size, phis);
    const double error = summed + norm(h) * allowed.b_units + times(change, higher_orders);
    step.b_bar[input] = h * b;
    // Nothing is off where Δ or B is 0. Elsewhere h may come out as 0 because its terms cancel, and is not known to be.
    const double given = delta == 0.0 ? 0.0 : norm(b);
    step.b_bar_error[input] = unless_zero(error * norm(b) + 2.0 * allowed.underflow, given);
  }
}

}  // namespace holdfast_judge
