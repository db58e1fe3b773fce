//! The methods in f64, with their sensitivities: what error budgets are made of. Not a truth: relative
//! errors of 1e-13 are nothing to a bound.

use num_complex::Complex64;

use crate::formula::{Form, Formula, Fraction, Function, Transition};
use crate::judge::lanes::{ComplexLanes, INVERSE_FACTORIALS, Lanes, Value};
use crate::judge::sums;
use crate::problem::{Stage, Weights};
use crate::promise::Contract;
use crate::promise::allowance::Arithmetic;

/// One step's coefficients and how far a correct kernel's may be from them: of one state, or of eight.
#[derive(Clone, Copy, Debug)]
pub struct Step<V = Complex64, E = f64> {
    pub a_bar: V,
    /// Bound on |computed Ā − Ā|.
    pub a_bar_error: E,
    pub b_bar: V,
    /// Bound on |computed B̄ − B̄|.
    pub b_bar_error: E,
    /// The same of what multiplies u_{l−1} and u_{l+1}, where they are read.
    pub neighbours: [Option<(V, E)>; 2],
}

/// φ₀(z)…φ₃(z) (spec.md §1).
pub fn phi(z: Complex64) -> [Complex64; 4] {
    phis(alone(z), 3).map(|phi| phi.at(0))
}

/// z whose φ-functions are computed at a time.
const TOGETHER: usize = 8;

/// Where no φ-function leaves the range of f64.
const FINITE: f64 = 700.0;

/// [`phi`] at each z, the same to the last bit, but for the sign of a zero.
#[multiversion::multiversion(targets("x86_64+avx2"))]
pub fn phi_of_each(z: &[Complex64]) -> Vec<[Complex64; 4]> {
    let mut all = Vec::with_capacity(z.len());
    for block in z.chunks(TOGETHER) {
        if block.len() <= TOGETHER / 4 {
            all.extend(block.iter().map(|z| phi(*z)));
            continue;
        }
        let (mut re, mut im, mut is_real) = ([0.0; TOGETHER], [0.0; TOGETHER], true);
        for (i, z) in block.iter().enumerate() {
            (re[i], im[i]) = (z.re, z.im);
            is_real &= z.im == 0.0 && z.re.abs() < FINITE;
        }
        // Plain loops, as in [`crate::judge::lanes`].
        if is_real {
            // What a complex quotient makes of real numbers.
            let [phi0, phi1, phi2, phi3] = phis_by(Lanes(re), 3, |a, b| a * b / (b * b));
            for i in 0..block.len() {
                all.push([phi0.at(i), phi1.at(i), phi2.at(i), phi3.at(i)]);
            }
        } else {
            let [phi0, phi1, phi2, phi3] = phis(ComplexLanes { re: Lanes(re), im: Lanes(im) }, 3);
            for i in 0..block.len() {
                all.push([phi0.at(i), phi1.at(i), phi2.at(i), phi3.at(i)]);
            }
        }
    }
    all
}

/// φ₀…φₖ for k = `highest`; what is beyond has no meaning.
#[inline(always)]
fn phis<const W: usize, V: Value<W>>(z: V, highest: usize) -> [V; 4] {
    phis_by(z, highest, |a, b| a / b)
}

/// The same with a quotient that is computed like this.
#[inline(always)]
fn phis_by<const W: usize, V: Value<W>>(z: V, highest: usize, over: impl Fn(V, V) -> V) -> [V; 4] {
    let phi0 = z.exp();
    if highest == 0 {
        return [phi0; 4];
    }
    let size = z.norm();
    let mut phis = [phi0; 4];
    if size.any_below(1.0) {
        // Taylor for φ₃: |z|ᵏ·3!/(k+3)! is below 2⁻⁵³ from k = 16 on. Then φₖ = 1/k! + z·φₖ₊₁.
        let mut phi3 = V::all(0.0);
        for k in (0..18).rev() {
            phi3 = phi3 * z + INVERSE_FACTORIALS[k + 3];
        }
        let phi2 = z * phi3 + 0.5;
        phis = [phi0, z * phi2 + 1.0, phi2, phi3];
    }
    if !size.all_below(1.0) {
        let phi1 = over(phi0 - 1.0, z);
        let phi2 = over(phi1 - 1.0, z);
        let closed = [phi0, phi1, phi2, over(phi2 - 0.5, z)];
        for (phi, closed) in phis.iter_mut().zip(closed) {
            *phi = V::if_less(size, Lanes::ONE, *phi, closed);
        }
    }
    phis
}

/// zᵏ by repeated products.
#[inline(always)]
fn power<const W: usize, V: Value<W>>(z: V, k: u32) -> V {
    let mut power = V::all(1.0);
    for _ in 0..k {
        power = power * z;
    }
    power
}

/// f(z), of φ₀…φ₃ there.
#[inline]
pub fn function(of: Function, z: Complex64, phis: &[Complex64; 4]) -> Complex64 {
    match of {
        Function::Phi(k) => phis[k],
        _ => function_and_change(of, alone(z), &[alone(Complex64::ZERO); 4]).0.at(0),
    }
}

fn alone(z: Complex64) -> ComplexLanes<1> {
    ComplexLanes { re: Lanes([z.re]), im: Lanes([z.im]) }
}

/// A function f at z, and z f′, of φ₀…φ₃ there: zφₖ′ = (z − k)φₖ + 1/(k−1)!.
#[inline(always)]
fn function_and_change<const W: usize, V: Value<W>>(of: Function, z: V, phis: &[V; 4]) -> (V, V) {
    match of {
        Function::Phi(0) => (phis[0], z * phis[0]),
        Function::Phi(k) => (phis[k], (z - k as f64) * phis[k] + INVERSE_FACTORIALS[k - 1]),
        Function::Power(k) => {
            let power = power(z, k as u32);
            (power, power * k as f64)
        }
        Function::Resolvent(alpha) => {
            let share = z * alpha.value();
            let value = V::all(1.0) / (V::all(1.0) - share);
            (value, value * value * share)
        }
    }
}

/// The step for Δ = `delta`, known to a relative error of `delta_error`, and one state's A and B.
///
/// Ā and B̄ may be off by the `contract` for the Δ and z that the kernel works with. Its Δ has the relative error
/// `delta_error`, which moves Δ and z together; its own roundings of z are ζ ([`Contract::z_error`]). With
/// θ = ζ + `delta_error` and h = B̄/B as a function of Δ and z, that moves
///
/// - exp by |e^{z(1+θ)} − eᶻ| ≤ |eᶻ|(e^{|z|θ} − 1) ≤ |eᶻ| |z|θ e^{|z|θ}, the conditioning of the exponential, and by what
///   approximations of it are stated to be off; a polynomial by its own terms;
/// - h by |z ∂h/∂z|·ζ + |z ∂h/∂z + Δ ∂h/∂Δ|·`delta_error`; times e^{|z|θ} for the higher orders, which is at most 1/(1 − |z|θ).
///   Where `delta_error` is that of 16 bits, what is of its second order is added: the first may vanish (φ₂ at 2πi, say);
/// - a quotient's Ā by exactly |z|θ/(|1 − αz|²(1 − η)): its denominator moves by η = θ|αz|/|1 − αz| of itself,
///   and the higher orders of its h are 1/(1 − η). At η ≥ 1 nothing is bounded;
/// - h by what the kernel loses where it sums h term by term ([`super::sums`]).
pub fn step(
    form: impl Into<Form>,
    weights: Weights,
    delta: (f64, f64),
    a: Complex64,
    b: Complex64,
    contract: &Contract,
) -> Step {
    let model = Model::new(form.into(), weights, contract);
    match weights {
        Weights::Real => one(model.step(delta, Lanes([a.re]), Lanes([b.re]))),
        Weights::Complex => one(model.step(delta, alone(a), alone(b))),
    }
}

fn one<V: Value<1>>(step: Step<V, Lanes<1>>) -> Step {
    Step {
        a_bar: step.a_bar.at(0),
        a_bar_error: step.a_bar_error.0[0],
        b_bar: step.b_bar.at(0),
        b_bar_error: step.b_bar_error.0[0],
        neighbours: step.neighbours.map(|terms| terms.map(|(b_bar, error)| (b_bar.at(0), error.0[0]))),
    }
}

/// A relative error of Δ that f32 does not have, and whose square counts.
pub const NARROW: f64 = 1.0 / (1u64 << 16) as f64;

/// A bound on |z (z f′)′|, of f and z f′ at z.
#[inline(always)]
fn second_change<const W: usize, V: Value<W>>(of: Function, size: Lanes<W>, f: V, changed: V) -> Lanes<W> {
    match of {
        // zφₖ′ = (z − k)φₖ + 1/(k−1)! once more.
        Function::Phi(k) => size * f.norm() + (size + k as f64) * changed.norm(),
        Function::Power(k) => changed.norm() * k as f64,
        Function::Resolvent(alpha) => changed.norm() * (size * f.norm() * (2.0 * alpha.value()) + 1.0),
    }
}

/// Error of eᶻ by CUDA's approximations beside a framework's, relative ([`Arithmetic::fast_transition`]).
#[inline(always)]
pub fn fast_transition<const W: usize, V: Value<W>>(arithmetic: Arithmetic, z: V) -> Lanes<W> {
    match arithmetic.stages.fast {
        None => Lanes::ZERO,
        Some(_) => Lanes(std::array::from_fn(|lane| arithmetic.fast_transition(z.at(lane), V::WEIGHTS))),
    }
}

/// A method's step, with all of it that does not depend on the inputs.
pub struct Model<'c> {
    formula: Formula,
    contract: &'c Contract,
    /// The contract's own units of Ā and of B̄, relative.
    a_units: f64,
    b_units: f64,
    highest_phi: usize,
    /// α of the pole.
    pole: Option<f64>,
    is_rational: bool,
}

impl<'c> Model<'c> {
    pub fn new(form: Form, weights: Weights, contract: &'c Contract) -> Self {
        let formula = form.formula();
        Model {
            formula,
            contract,
            a_units: contract.a_bar_error(form, weights),
            b_units: contract.b_bar_error(form, weights),
            highest_phi: formula.phis(),
            pole: formula.pole().map(Fraction::value),
            is_rational: formula.is_rational(),
        }
    }

    /// [`step`] of eight states.
    #[inline(always)]
    pub fn step<const W: usize, V: Value<W>>(
        &self,
        (delta, delta_error): (f64, f64),
        a: V,
        b: V,
    ) -> Step<V, Lanes<W>> {
        let Model { formula, contract, .. } = self;
        let z = a * delta;
        let size = z.norm();
        let arithmetic = contract.arithmetic;
        let (underflow, state) = (arithmetic.underflow, arithmetic.stages.rounding(Stage::State));
        let zeta = contract.z_error(formula) + state.unit;
        let theta = zeta + delta_error;
        let phis = if self.is_rational { [z; 4] } else { phis(z, self.highest_phi) };
        let alpha = self.pole.unwrap_or(0.0);
        let denominator = V::all(1.0) - z * alpha;
        let has_pole = self.pole.is_some();
        let moved = if has_pole { size * (alpha * theta) / denominator.norm() } else { size * theta };
        // Below ½ the quotient bounds the exponential, and takes less time.
        let higher_orders = if has_pole || moved.all_below(0.5) {
            moved.over_one_less()
        } else {
            Lanes::if_less(moved, Lanes::all(0.5), moved.over_one_less(), moved.exp())
        };
        let (a_bar, a_bar_error) = match formula.a_bar {
            Transition::Quotient(alpha) => {
                let a_bar = (z * alpha.complement().value() + 1.0) / denominator;
                let below = denominator.norm();
                (a_bar, a_bar.norm() * self.a_units + size * theta / (below * below) * higher_orders)
            }
            Transition::Exponential => {
                let units = moved + self.a_units + fast_transition(arithmetic, z);
                (phis[0], phis[0].norm().times(units * higher_orders))
            }
            Transition::Polynomial(factors) => {
                let (mut sum, mut error) = (V::all(0.0), Lanes::ZERO);
                for (k, c) in (0..).zip(factors) {
                    let value = power(z, k) * c.value();
                    sum = sum + value;
                    error = error + value.norm() * (higher_orders * (f64::from(k) * theta) + self.a_units);
                }
                (sum, error)
            }
        };
        // At z = 0 every method's Ā is 1, and any kernel's exponential or quotient gives exactly that.
        let a_bar_error = a_bar_error + a_bar.norm() * state.unit + 2.0 * (underflow + state.underflow);
        let a_bar_error = a_bar_error.unless_zero(size);
        let mut inputs = [None; 3];
        for (input, terms) in inputs.iter_mut().zip(formula.b_bar) {
            if terms.is_empty() {
                continue;
            }
            // h, z ∂h/∂z and Δ ∂h/∂Δ.
            let [mut h, mut by_z, mut by_delta] = [V::all(0.0); 3];
            let [mut second, mut fast] = [Lanes::ZERO; 2];
            for term in terms {
                let (value, changed) = function_and_change(term.of, z, &phis);
                let factor = term.factor.value() * delta.powi(term.delta);
                // The very eᶻ of Ā.
                if term.of == Function::Phi(0) {
                    fast = fast + value.norm() * fast_transition(arithmetic, z) * factor.abs();
                }
                h = h + value * factor;
                by_z = by_z + changed * factor;
                by_delta = by_delta + value * (f64::from(term.delta) * factor);
                if delta_error > NARROW {
                    let power = f64::from(term.delta);
                    let first = changed.norm() * (2.0 * power);
                    let of_term =
                        value.norm() * (power * power) + first + second_change(term.of, size, value, changed);
                    second = second + of_term * factor.abs();
                }
            }
            let moved = by_z.norm() * zeta + (by_z + by_delta).norm() * delta_error;
            let moved = moved + second * (0.5 * delta_error * delta_error);
            let summed = sums::error((contract.sums, contract.arithmetic), terms, delta, size, &phis);
            let error = summed + fast + h.norm() * self.b_units + moved.times(higher_orders);
            let b_bar = h * b;
            // Nothing is off where Δ or B is 0. Elsewhere h may come out as 0 because its terms cancel, and is not known to be.
            let given = if delta == 0.0 { Lanes::ZERO } else { b.norm() };
            *input = Some((b_bar, (error * b.norm() + 2.0 * underflow).unless_zero(given)));
        }
        let [now, neighbours @ ..] = inputs;
        let (b_bar, b_bar_error) = now.unwrap_or((V::all(0.0), Lanes::ZERO));
        Step { a_bar, a_bar_error, b_bar, b_bar_error, neighbours }
    }
}
