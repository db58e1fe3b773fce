//! Ways to compute a formula that lose digits.

use num_complex::Complex64;

use super::slips::ROUNDED;
use super::text::{SPECIFIED, written};
use super::{Bounded, Elements, Failing, GROWTH, Hypothesis, Matrix, System};
use crate::formula::{Fraction, Function, Transition};
use crate::tensor::DenseName;

const PIVOTS_MISSING: &str = "pivots-missing";
const DIVIDED_BY_A: &str = "divided-by-a";

/// Share of a looser bound that errors take at least where they are of its kind.
const LEAST: f64 = 1e-4;
/// Factor by which errors of one way of elimination may be larger than another's.
const LIKE: f64 = 16.0;

impl Failing<'_> {
    /// Ways to compute the formula that lose digits. Their errors are no numbers that could be told ahead: what fails is allowed by them, and by
    /// nothing near to what careful ways are allowed.
    pub(super) fn looser(&self) -> Vec<Hypothesis<'_>> {
        let (formula, specified) = (self.formula(), written(self.name, self.formula(), SPECIFIED));
        let is_state = self.name == DenseName::ABar;
        let mut all = Vec::new();
        for (format, name) in ROUNDED.into_iter().filter(|&(format, _)| self.is_on_grid(format)) {
            let of_system = move |place: usize| {
                let unit = 0.5f64.powi(format.precision);
                let Bounded { value, error, .. } = self.tensor(self.system(place));
                Some(Bounded::by_entries(value, error * (unit / self.system(place).unit())))
            };
            let what =
                format!("results are numbers of {name}, and errors as large as those of arithmetic in it");
            let computed = format!("{specified} in {name}");
            all.push(Hypothesis::new(
                &format!("arithmetic-in-{name}"),
                &what,
                &computed,
                Box::new(of_system),
            ));
        }
        if let Some(alpha) = formula.pole() {
            let of_system = move |place: usize| {
                let system = self.system(place);
                let over = match is_state {
                    true => None,
                    false => Some(&system.b * Complex64::from(system.delta)),
                };
                let done = eliminated(system, alpha, over);
                let [state, input] = system.solved(self.wanted.form);
                Some(simulated(if is_state { state.value } else { input.value }, done))
            };
            let what = "errors are as large as those of elimination that takes each pivot as it comes";
            let computed = format!("{specified} without pivots");
            all.push(Hypothesis::new(PIVOTS_MISSING, what, &computed, Box::new(of_system)));
        }
        if is_state && formula.a_bar == Transition::Exponential {
            let of_system = |place: usize| {
                let system = self.system(place);
                let sizes = system.z.map(|x| Complex64::from(x.norm()));
                let grown =
                    system.with((1.0, sizes, system.b.clone())).of_state(Transition::Exponential).value;
                let [exact, _] = system.solved(self.wanted.form);
                let each = 2.0 * self.elements.n as f64 * system.unit();
                Some(Bounded::by_entries(exact.value, grown.map(|x| each * x.norm())))
            };
            let what = "errors are as large as those of a series of e^z that is taken of all of z, without halving it";
            all.push(Hypothesis::new("series-unscaled", what, "Σ_k (ΔA)ᵏ/k!", Box::new(of_system)));
        }
        if !is_state && formula.phis() > 0 {
            let of_system = move |place: usize| {
                let system = self.system(place);
                let [_, input] = system.solved(self.wanted.form);
                Some(simulated(input.value, self.divided(system)?))
            };
            let what = "errors are as large as those of a division by A, as A⁻¹(e^z − I)B has it";
            all.push(Hypothesis::new(
                DIVIDED_BY_A,
                what,
                "A⁻¹(exp(ΔA) − I)B and the like",
                Box::new(of_system),
            ));
        }
        all
    }

    /// B̄ by φ_k = z⁻¹(φ_(k−1) − I/(k−1)!), from e^z on, each rounded.
    fn divided(&self, system: &System) -> Option<Matrix> {
        let formula = self.formula();
        let [state, input] = system.solved(self.wanted.form);
        let inverse = system.z.clone().try_inverse()?;
        let (mut phi, mut done) = (state.value.map(rounding(system)), input.value.map(|_| Complex64::ZERO));
        for k in 1..=formula.phis() {
            let before = Function::Phi(0).coefficient(k - 1);
            (0..self.elements.n).for_each(|i| phi[(i, i)] -= before);
            phi = (&inverse * phi).map(rounding(system));
            for term in formula.now().iter().filter(|term| term.of == Function::Phi(k)) {
                let by = term.factor.value() * system.delta.powi(term.delta);
                done += &phi * &system.b * Complex64::from(by);
            }
        }
        Some(done)
    }

    /// Whether the errors of a system are those of divisions by z: times z as often as was divided, they are no larger than simulated
    /// ones. Others have no reason to be where z takes them to nearly nothing.
    fn is_of_divisions(&self, place: usize) -> bool {
        let system = self.system(place);
        let Some(done) = self.divided(system) else { return false };
        let [_, Bounded { value, .. }] = system.solved(self.wanted.form);
        let Elements { columns, width, n, .. } = self.elements;
        let first = place * n * columns * width;
        let got = Matrix::from_fn(n, columns, |r, c| {
            let parts = &self.got.values[first + (r * columns + c) * width..][..width];
            Complex64::new(parts[0], parts.get(1).copied().unwrap_or(0.0))
        });
        let power = system.z.pow(self.formula().phis() as u32);
        let largest = |of: Matrix| (&power * of).iter().map(|x| x.norm()).fold(0.0, f64::max);
        let stored = value.map(|x| self.got.format.rounding_error(x.norm()));
        let stored = power.map(|x| x.norm()) * stored;
        largest(got - &value) <= LIKE * largest(done - &value) + stored.max()
    }

    /// Whether all that fails is allowed by a looser bound, and no system by one far below it or hardly above the usual one; errors of this kind
    /// are in most of the entries that may have some.
    pub(super) fn is_allowed(&self, hypothesis: &Hypothesis) -> bool {
        let (mut wrong, mut all) = (0, 0);
        // Its errors are known in size.
        let is_simulated = [PIVOTS_MISSING, DIVIDED_BY_A].contains(&hypothesis.name.as_str());
        let of_system = |&place: &usize| {
            let Some(bounded) = self.changed(hypothesis, place) else { return false };
            let usual = &self.wanted.matrices[place][self.name as usize];
            let (size, usual) = (bounded.error.norm(), usual.error.norm());
            // A bound that has room for anything says nothing, and none is of values that are not finite.
            let room = if is_simulated { f64::INFINITY } else { bounded.value.norm() / GROWTH };
            let says = size.is_infinite() || (GROWTH * usual..=room).contains(&size);
            let mut worst: f64 = 0.0;
            for at in self.values(place) {
                let (one, error) = (self.element(at), self.error(&bounded, at));
                let is_right = one.distance(self.got.format).ratio <= 1.0;
                (wrong, all) = (wrong + usize::from(!is_right), all + 1);
                let ratio = match (error.is_finite(), one.got.is_finite()) {
                    (true, true) => (one.got - one.want).abs() / (error + one.store),
                    (false, false) => 1.0,
                    _ => f64::INFINITY,
                };
                worst = worst.max(ratio);
            }
            let least = if is_simulated { 1.0 / (LIKE * LIKE) } else { LEAST };
            let is_like = hypothesis.name != DIVIDED_BY_A || self.is_of_divisions(place);
            says && (least..=1.0).contains(&worst) && is_like
        };
        !self.work.is_over()
            && self.work.asks(&hypothesis.name)
            && !self.systems.is_empty()
            && self.systems.iter().all(of_system)
            && 2 * wrong >= all
    }
}

/// Right values, with room for errors of the size that others have.
fn simulated(value: Matrix, done: Matrix) -> Bounded {
    let off = done - &value;
    // Another order of sums has other errors of that size.
    let error = match off.iter().all(|x| x.is_finite()) {
        true => LIKE * off.iter().map(|x| x.norm()).fold(0.0, f64::max),
        false => f64::INFINITY,
    };
    Bounded::by_entries(value.clone(), value.map(|_| error))
}

/// Rounding of the arithmetic of a system: to f32, or none beside double's own.
fn rounding(system: &System) -> impl Fn(Complex64) -> Complex64 + Copy {
    let is_single = system.unit() > f64::EPSILON;
    move |x| match is_single {
        true => Complex64::new(f64::from(x.re as f32), f64::from(x.im as f32)),
        false => x,
    }
}

/// M⁻¹(I + (1 − α)z), or M⁻¹ of what is given, of M = I − αz, by elimination that takes each pivot as it comes.
fn eliminated(system: &System, alpha: Fraction, over: Option<Matrix>) -> Matrix {
    let rounded = rounding(system);
    let n = system.z.nrows();
    let identity = Matrix::identity(n, n);
    let mut m = (&identity - &system.z * Complex64::from(alpha.value())).map(rounded);
    let above = || identity + &system.z * Complex64::from(alpha.complement().value());
    let mut over = over.unwrap_or_else(above).map(rounded);
    for k in 0..n {
        for r in (0..n).filter(|&r| r != k) {
            let factor = rounded(m[(r, k)] / m[(k, k)]);
            for c in k..n {
                m[(r, c)] = rounded(m[(r, c)] - rounded(factor * m[(k, c)]));
            }
            for c in 0..over.ncols() {
                over[(r, c)] = rounded(over[(r, c)] - rounded(factor * over[(k, c)]));
            }
        }
    }
    Matrix::from_fn(n, over.ncols(), |r, c| rounded(over[(r, c)] / m[(r, r)]))
}
