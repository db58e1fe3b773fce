//! Other functions of z, and other terms.

use num_complex::Complex64;

use super::numbers::ALIKE;
use super::text::{SPECIFIED, multiple, quotient, simple, term_text, written};
use super::{Bounded, Failing, Hypothesis, Matrix};
use crate::formula::{Form, Formula, Fraction, Function, Term, Transition};
use crate::notation::{joined, superscript};
use crate::tensor::DenseName;

/// Degrees of a series that is cut too early.
const DEGREES: std::ops::RangeInclusive<usize> = 1..=16;

/// Powers after which a series of a z of usual size has ended.
const MOST_POWERS: usize = 40;

impl Failing<'_> {
    /// Functions of z that other forms have, or none.
    pub(super) fn other_functions(&self) -> Vec<Hypothesis<'_>> {
        let mut all: Vec<Hypothesis> = Vec::new();
        let specified = self.formula();
        for form in Form::all().filter(|form| form.formula().reads_now_alone()) {
            let formula = form.formula();
            let (prefix, is_other) = match self.name {
                DenseName::ABar => ("a-bar", formula.a_bar != specified.a_bar),
                DenseName::BBar => ("b-bar", formula.now() != specified.now()),
            };
            let computed = written(self.name, formula, SPECIFIED);
            if !is_other || all.iter().any(|known| known.computed == computed) {
                continue;
            }
            let values = move |place: usize| {
                let [state, input] = self.system(place).solved(form);
                Some(if self.name == DenseName::ABar { state } else { input })
            };
            let (name, what) = (
                format!("{prefix}-of-{}", form.name()),
                format!("the formula of {} is computed", form.name()),
            );
            all.push(Hypothesis::new(&name, &what, &computed, Box::new(values)));
        }
        if self.name == DenseName::BBar {
            let times = |place: usize| {
                let system = self.system(place);
                let [state, input] = system.solved(self.wanted.form);
                Some(state.times(&input, system.gamma()))
            };
            let text = written(self.name, specified, SPECIFIED);
            let computed = format!("Ā {text}");
            all.push(Hypothesis::new(
                "a-bar-times-b-bar",
                "Ā multiplies it once more",
                &computed,
                Box::new(times),
            ));
            for degree in DEGREES.filter(|_| specified.phis() > 0) {
                let cut = move |place: usize| Some(self.cut_phis(place, degree));
                let what = format!("the series of φ ends at degree {degree}");
                let computed = format!("{text}, each φ up to (ΔA){}", superscript(degree as i32));
                all.push(Hypothesis::new(
                    &format!("series-of-degree-{degree}"),
                    &what,
                    &computed,
                    Box::new(cut),
                ));
            }
            all.extend(self.powers_of_entries());
            return all;
        }
        all.extend(self.powers_of_entries());
        match specified.a_bar {
            Transition::Exponential => {
                let entries = |place: usize| Some(self.by_entries(place, |z| z.exp()));
                let what = "e^z is taken of each entry, and not of the matrix";
                all.push(Hypothesis::new(
                    "exponential-of-entries",
                    what,
                    "exp of each entry of ΔA",
                    Box::new(entries),
                ));
                for degree in DEGREES {
                    let bare = move |place: usize| Some(self.series(place, degree, false));
                    let halved = move |place: usize| Some(self.series(place, degree, true));
                    let computed = format!("Σ_(k≤{degree}) (ΔA)ᵏ/k!");
                    let (what, name) = (
                        format!("the series of e^z ends at degree {degree}"),
                        format!("series-of-degree-{degree}"),
                    );
                    all.push(Hypothesis::new(&name, &what, &computed, Box::new(bare)));
                    let what = format!("the series of e^z ends at degree {degree}, before it is squared");
                    let computed = format!("(Σ_(k≤{degree}) (ΔA/2ˢ)ᵏ/k!)^(2ˢ)");
                    all.push(Hypothesis::new(&format!("squared-{name}"), &what, &computed, Box::new(halved)));
                }
            }
            Transition::Quotient(alpha) => {
                let inverse = move |place: usize| {
                    let system = self.system(place);
                    let of =
                        Matrix::identity(self.elements.n, self.elements.n) / Complex64::from(system.delta);
                    Some(system.of_quotient(alpha, Some(&of)))
                };
                let top = move |place: usize| {
                    let factors = [1.0, alpha.complement().value()];
                    let identity = Matrix::identity(self.elements.n, self.elements.n);
                    Some(self.system(place).of_powers(&factors, (1.0, &identity)))
                };
                let transposed = move |place: usize| {
                    let system = self.system(place);
                    let above = &system.z * Complex64::from(alpha.complement().value());
                    let above = above + Matrix::identity(self.elements.n, self.elements.n);
                    let turned = system.with((system.delta, system.a.transpose(), system.b.clone()));
                    Some(turned.of_quotient(alpha, Some(&(above / Complex64::from(system.delta)))))
                };
                let texts = quotient(alpha, "ΔA");
                let computed = format!("{} {}", quotient(alpha, "ΔAᵀ")[0], texts[1]);
                let what = "the inverse is transposed";
                all.push(Hypothesis::new("inverse-transposed", what, computed.trim(), Box::new(transposed)));
                all.push(Hypothesis::new(
                    "numerator-missing",
                    "what is divided is left out",
                    &texts[0],
                    Box::new(inverse),
                ));
                all.push(Hypothesis::new("inverse-missing", "nothing is divided", &texts[1], Box::new(top)));
                let entries = move |place: usize| {
                    let [below, above] = [-alpha.value(), alpha.complement().value()];
                    Some(self.by_entries(place, |z| (1.0 + above * z) / (1.0 + below * z)))
                };
                let what = "the quotient is taken of each entry, and not of the matrix";
                all.push(Hypothesis::new(
                    "quotient-of-entries",
                    what,
                    "quotient of each entry",
                    Box::new(entries),
                ));
            }
            Transition::Polynomial(_) => {}
        }
        all
    }

    /// The polynomial or the series with powers of each entry in the place of the matrix's.
    fn powers_of_entries(&self) -> Option<Hypothesis<'_>> {
        let formula = self.formula();
        let is_state = self.name == DenseName::ABar;
        let is_sum = if is_state {
            !matches!(formula.a_bar, Transition::Quotient(_))
        } else {
            formula.pole().is_none()
        };
        let values = move |place: usize| {
            let system = self.system(place);
            let identity = Matrix::identity(self.elements.n, self.elements.n);
            let factors: Vec<f64> = (0..=MOST_POWERS)
                .map(|k| match (is_state, formula.a_bar) {
                    (true, Transition::Polynomial(factors)) => {
                        factors.get(k).map_or(0.0, |factor| factor.value())
                    }
                    (true, _) => Function::Phi(0).coefficient(k),
                    (false, _) => self.coefficient(place, k),
                })
                .collect();
            let (delta, of) = if is_state { (1.0, &identity) } else { (system.delta, &system.b) };
            let Bounded { error, .. } = system.of_powers(&factors, (delta, of));
            let sum = system
                .z
                .map(|z| factors[1..].iter().rev().fold(Complex64::ZERO, |sum, factor| (sum + factor) * z));
            let value = (sum + &identity * Complex64::from(factors[0])) * of * Complex64::from(delta);
            Some(Bounded::by_entries(value, error))
        };
        let computed = format!("{}, powers of each entry", written(self.name, formula, SPECIFIED));
        let what = "powers of ΔA are taken of each entry, and not of the matrix";
        (is_sum && self.elements.n > 1)
            .then(|| Hypothesis::new("powers-of-entries", what, &computed, Box::new(values)))
    }

    /// A function of each entry of z, within a few of the roundings of an implementation.
    fn by_entries(&self, place: usize, of: impl Fn(Complex64) -> Complex64) -> Bounded {
        let value = self.system(place).z.map(of);
        let error = value.map(|x| 16.0 * x.norm() * self.system(place).unit());
        Bounded::by_entries(value, error)
    }

    /// A series of e^z that ends early, of z or of as much of it as these kernels take, and then squared.
    fn series(&self, place: usize, degree: usize, halves: bool) -> Bounded {
        let system = self.system(place);
        let halvings = if halves { system.halvings } else { 0 };
        let x = &system.z * Complex64::from(0.5f64.powi(halvings as i32));
        let identity = Matrix::identity(x.nrows(), x.ncols());
        let mut sum = identity.clone();
        for k in (1..=degree).rev() {
            sum = &identity + &x * sum / Complex64::from(k as f64);
        }
        (0..halvings).for_each(|_| sum = &sum * &sum);
        let error = if halves {
            system.of_state(Transition::Exponential).error
        } else {
            let factors: Vec<f64> = (0..=degree).map(|k| Function::Phi(0).coefficient(k)).collect();
            system.of_powers(&factors, (1.0, &identity)).error
        };
        Bounded::by_entries(sum, error)
    }

    /// B̄ with series of φ-functions that end early, of all of z.
    fn cut_phis(&self, place: usize, degree: usize) -> Bounded {
        let system = self.system(place);
        let factors: Vec<f64> = (0..=degree).map(|k| self.coefficient(place, k)).collect();
        system.of_powers(&factors, (system.delta, &system.b))
    }

    /// Coefficient of ΔzᵏB in a system's B̄.
    fn coefficient(&self, place: usize, k: usize) -> f64 {
        let delta = self.system(place).delta;
        let of_term = |term: &Term| term.factor.value() * delta.powi(term.delta - 1) * term.of.coefficient(k);
        self.formula().now().iter().map(of_term).sum()
    }

    /// Terms of a formula that are added with a coefficient that is found, once more or in part.
    pub(super) fn terms(&self) -> Vec<Hypothesis<'_>> {
        let term = |delta: i32, of: Function| Term { factor: Fraction::ONE, delta, of };
        let state = || (0..=4).map(|k| term(0, Function::Power(k)));
        let input = || {
            let phis = (1..=3).map(|k| term(k as i32, Function::Phi(k)));
            phis.chain((0..=3).map(|k| term(1, Function::Power(k))))
        };
        let terms: Vec<Term> =
            if self.name == DenseName::ABar { state().collect() } else { input().collect() };
        let mut all = Vec::new();
        for term in terms {
            if self.work.is_over() {
                break;
            }
            let of_term = move |place: usize| self.of_term(place, term);
            let Some(factor) = self.least_squares(of_term).map(simple) else { continue };
            // Roundings of what the factor is found of.
            let slack = 0.5f64.powi(self.got.format.precision);
            let values = move |place: usize| {
                let (formula, added) = (self.tensor(self.system(place)), of_term(place));
                let sizes = added.value.map(|x| x.norm() * slack);
                let error = formula.error + (added.error + sizes) * factor.abs();
                Some(Bounded::by_entries(formula.value + added.value * Complex64::from(factor), error))
            };
            let (name, what, computed) = self.added(term, factor);
            all.push(Hypothesis::new(name, &what, &computed, Box::new(values)).with_numbers(1));
        }
        if self.name == DenseName::ABar {
            let ones = |place: usize| {
                let Bounded { mut value, error, .. } = self.tensor(self.system(place));
                (0..value.nrows()).for_each(|r| {
                    (0..value.ncols()).for_each(|c| value[(r, c)] += f64::from(u8::from(r != c)))
                });
                Some(Bounded::by_entries(value, error.add_scalar(self.system(place).unit())))
            };
            let computed = written(self.name, self.formula(), SPECIFIED);
            let what = "1 is added to every entry in the place of I";
            all.push(Hypothesis::new(
                "ones-for-identity",
                what,
                &format!("{computed} + 1 − I"),
                Box::new(ones),
            ));
        }
        all
    }

    /// The formula with a term added this many times: a name, a sentence, and what is computed.
    fn added(&self, term: Term, times: f64) -> (&'static str, String, String) {
        let own = |other: &Term| (other.of, other.delta) == (term.of, term.delta);
        let terms = terms_of(self.name, self.formula());
        let text = term_text(self.name, term, SPECIFIED);
        let found = terms.and_then(|terms| Some((terms.iter().position(own)?, terms)));
        let Some((place, terms)) = found else {
            let (specified, more) = (written(self.name, self.formula(), SPECIFIED), multiple(times, &text));
            return ("term-added", format!("{more} is added"), joined([specified, more]));
        };
        let specified = terms[place].factor.value();
        let now = Some(simple(specified + times)).filter(|now| now.abs() > ALIKE * specified.abs());
        let each = |(i, one): (usize, &Term)| match i == place {
            true => now.map(|now| multiple(now, &text)),
            false => Some(term_text(self.name, *one, SPECIFIED)),
        };
        let computed = joined(terms.iter().enumerate().filter_map(each));
        let was = term_text(self.name, terms[place], SPECIFIED);
        match now.map(|now| multiple(now, &text)) {
            Some(now) => ("other-coefficient", format!("{now} is computed for {was}"), computed),
            None => ("term-missing", format!("{was} is left out"), computed),
        }
    }

    /// A term alone, of Ā or of B̄.
    pub(super) fn of_term(&self, place: usize, term: Term) -> Bounded {
        let (system, factor) = (self.system(place), term.factor.value());
        match (self.name, term.of) {
            (DenseName::ABar, Function::Power(k)) => {
                let identity = Matrix::identity(self.elements.n, self.elements.n);
                system.of_powers(&unit(k), (factor, &identity))
            }
            (_, Function::Power(k)) => {
                system.of_powers(&unit(k), (factor * system.delta.powi(term.delta), &system.b))
            }
            (_, Function::Resolvent(alpha)) => {
                // It has a Δ of its own.
                let by = Complex64::from(factor * system.delta.powi(term.delta - 1));
                system.of_quotient(alpha, Some(&(&system.b * by)))
            }
            _ => system.of_input(&[term]),
        }
    }

    /// Another power of Δ, or another function, in one term of B̄.
    pub(super) fn other_terms(&self) -> Vec<Hypothesis<'_>> {
        let mut all = Vec::new();
        let formula = self.formula();
        if self.name == DenseName::ABar {
            return all;
        }
        let functions = (1..=3)
            .map(Function::Phi)
            .chain([Function::Power(0)])
            .chain(formula.pole().map(Function::Resolvent));
        for (i, &term) in formula.now().iter().enumerate() {
            let others = functions
                .clone()
                .filter(|of| matches!(of, Function::Power(0)) || !matches!(term.of, Function::Power(_)));
            for (of, delta) in others.flat_map(|of| (0..=4).map(move |delta| (of, delta))) {
                if of == term.of && delta == term.delta {
                    continue;
                }
                let other = Term { of, delta, ..term };
                let values = move |place: usize| {
                    let parts = formula.now().iter().enumerate();
                    let parts = parts.map(|(j, &own)| self.of_term(place, if i == j { other } else { own }));
                    parts.reduce(|a, b| Bounded::by_entries(a.value + b.value, a.error + b.error))
                };
                let [own, text] = [term, other].map(|term| term_text(self.name, term, SPECIFIED));
                let computed = formula
                    .now()
                    .iter()
                    .enumerate()
                    .map(|(j, &own)| term_text(self.name, if i == j { other } else { own }, SPECIFIED));
                let (what, computed) = (format!("{text} is computed for {own}"), joined(computed));
                all.push(Hypothesis::new("other-term", &what, &computed, Box::new(values)));
            }
        }
        all
    }
}

/// Coefficients of zᵏ alone.
fn unit(k: usize) -> Vec<f64> {
    (0..=k).map(|j| f64::from(u8::from(j == k))).collect()
}

/// Terms of a sum; none of what is no sum.
fn terms_of(name: DenseName, formula: Formula) -> Option<Vec<Term>> {
    match (name, formula.a_bar) {
        (DenseName::BBar, _) => Some(formula.now().to_vec()),
        (DenseName::ABar, Transition::Polynomial(factors)) => {
            let term = |(k, &factor): (usize, &Fraction)| Term { factor, delta: 0, of: Function::Power(k) };
            Some(factors.iter().enumerate().map(term).collect())
        }
        _ => None,
    }
}
