//! What a channel's states are multiplied with and what they are given: Δ, A, B, C, u, Ā and B̄u.

use holdfast::formula::{Fraction, Function, OFFSETS, Term, Transition};
use holdfast::judge::faults::around::{AUse, FoundTerm, Guarded, Limited, Pad, Stage, UUse};
use holdfast::judge::faults::complex::{Division, Powers, Way};
use holdfast::judge::faults::place::{Input, Map};
use holdfast::judge::faults::variant::{BUse, Inverse, Power, Sum, Variant};
use holdfast::problem::Weights;
use num_complex::Complex64;

use super::functions::{
    activation, both_rounded, clamped, factorial, limited, of_complex, phi, phi_series, power, product,
    reciprocal, rounded, silu, softplus,
};
use super::reading::Reading;

type Result<T> = std::result::Result<T, &'static str>;

/// Which of the two coefficients.
#[derive(Clone, Copy, PartialEq)]
pub enum Of {
    ABar = 0,
    BBar = 1,
}

/// At which positions a step reads its inputs.
#[derive(Clone, Copy)]
pub struct At {
    pub u: usize,
    pub delta: usize,
    pub a_bar: usize,
    pub b: usize,
}

/// A channel's inputs as its scan uses them.
pub struct Used<'a> {
    reading: Reading<'a>,
    /// Of Ā and of B̄, at each position.
    deltas: [Vec<f64>; 2],
    /// Of Ā and of B̄, of each state.
    a: [Vec<Complex64>; 2],
    /// At each position, of each state.
    b: Vec<Vec<Complex64>>,
    pub c: Vec<Vec<Complex64>>,
    pub u: Vec<f64>,
}

/// A coefficient of what enters a state: value·Bᵇ u(l + offset)ʷ.
struct Coefficient {
    value: Complex64,
    b: u8,
    u: u8,
    offset: isize,
}

/// What takes the place of Δ.
fn replaced(power: Power, delta: f64) -> f64 {
    match power {
        Power::One => delta,
        Power::Missing => 1.0,
        Power::Doubled => 2.0 * delta,
        Power::Squared => delta * delta,
    }
}

impl Reading<'_> {
    /// Δ that is made of this delta and this bias.
    fn step_size_of(&self, of: Of, delta: f64, bias: f64) -> f64 {
        let size = self.variant.step_sizes[of as usize];
        let stated = self.problem.delta_softplus;
        let mut value = activation(size.activation, stated, size.raw * delta + size.before * bias);
        if size.again {
            value = softplus(value);
        }
        value += size.after * bias;
        size.factor * clamped(self.variant.clamp, clamped(size.clamp, value))
    }

    fn bias(&self) -> f64 {
        self.of_channel(Input::Bias, self.problem.delta_bias.as_ref())
    }

    /// Δ at each position.
    fn step_sizes(&self, of: Of) -> Vec<f64> {
        let seqlen = self.problem.shape.seqlen;
        let size = self.variant.step_sizes[of as usize];
        let own = |l| self.step_size_of(of, self.sequence(Input::Delta, &self.problem.delta, l), self.bias());
        let mut all: Vec<f64> = (0..seqlen).map(own).collect();
        if let Some(length) = size.mean_of {
            for block in all.chunks_mut(length) {
                let mean = block.iter().sum::<f64>() / block.len() as f64;
                block.fill(mean);
            }
        }
        (0..seqlen).map(|l| self.finished(self.map(size.l, l, seqlen).map_or(0.0, |l| all[l]))).collect()
    }

    /// Δ after bias, softplus and limits.
    fn finished(&self, delta: f64) -> f64 {
        replaced(self.variant.step_delta, rounded(self.variant.stages[Stage::Delta as usize], delta))
    }

    /// Δ of a padded position.
    fn padded(&self, of: Of, pad: Pad) -> f64 {
        let bias = if pad == Pad::ZerosWithoutBias { 0.0 } else { self.bias() };
        self.finished(self.step_size_of(of, 0.0, bias))
    }

    /// What is used as A, of each state.
    fn a_used(&self, of: Of) -> Vec<Complex64> {
        let dstate = self.problem.shape.dstate;
        let real = self.problem.weights == Weights::Real;
        let all: Vec<Complex64> = (0..dstate).map(|n| self.a(n)).collect();
        let mean = all.iter().sum::<Complex64>() / dstate as f64;
        // Real numbers have no logarithm below 0.
        let log = |x: Complex64| if real { Complex64::new(x.re.ln(), 0.0) } else { x.ln() };
        let used = |a: Complex64| match self.variant.a_use[of as usize] {
            AUse::Given => a,
            AUse::Negated => -a,
            AUse::NegativeExponential => -a.exp(),
            AUse::Exponential => a.exp(),
            AUse::Logarithm => log(-a),
            AUse::NegativeLogarithm => -log(-a),
            AUse::RealPart => Complex64::new(a.re, 0.0),
            AUse::WithoutRealPart => Complex64::new(0.0, a.im),
            AUse::ExponentialOfRealPart => Complex64::new(-a.re.exp(), a.im),
            AUse::LogarithmOfRealPart => Complex64::new((-a.re).ln(), a.im),
            AUse::Conjugated => a.conj(),
            AUse::Modulus => Complex64::from(a.norm()),
            AUse::NegativeModulus => Complex64::from(-a.norm()),
            AUse::Reciprocal => 1.0 / a,
            AUse::Mean => mean,
        };
        let factor = self.variant.a_factor[of as usize];
        let scaled = |a: Complex64| Complex64::new(a.re * factor.0, a.im * factor.1) + self.variant.a_offset;
        let stage = self.variant.stages[Stage::A as usize];
        all.into_iter().map(|a| both_rounded(stage, scaled(used(a)))).collect()
    }

    /// What is used as B or as C at a position, of each state.
    fn weights_used(&self, input: Input, l: usize) -> Vec<Complex64> {
        let (use_of, way, stage, limits) = match input {
            Input::B => (self.variant.b_use, Way::B, Stage::B, Limited::B),
            _ => (self.variant.c_use, Way::C, Stage::C, Limited::C),
        };
        let limits = self.variant.limits[limits as usize];
        let other = if input == Input::B { Input::C } else { Input::B };
        let read = if use_of == BUse::Exchanged { other } else { input };
        let dstate = self.problem.shape.dstate;
        let made = self.variant.ways[way as usize];
        let all: Vec<Complex64> = (0..dstate).map(|n| of_complex(made, self.operand(read, n, l))).collect();
        let squares = all.iter().map(|x| x.norm_sqr()).sum::<f64>();
        let exponentials = all.iter().map(|x| x.exp()).sum::<Complex64>();
        let used = |x: Complex64| match use_of {
            BUse::Once | BUse::Exchanged => x,
            BUse::Twice => x * x,
            BUse::Never => Complex64::ONE,
            BUse::Conjugated => x.conj(),
            BUse::RealPart => Complex64::new(x.re, 0.0),
            BUse::Negated => -x,
            BUse::Normalized => x / squares.sqrt(),
            BUse::RmsNormalized => x / (squares / dstate as f64).sqrt(),
            BUse::Softmax => x.exp() / exponentials,
        };
        all.into_iter()
            .map(|x| both_rounded(self.variant.stages[stage as usize], limited(limits, used(x))))
            .collect()
    }

    /// u at each position, as it is read.
    pub fn u_read(&self) -> Vec<f64> {
        (0..self.problem.shape.seqlen).map(|l| self.sequence(Input::U, &self.problem.u, l)).collect()
    }

    /// u at each position, as the scan (0) or the skip (1) uses it.
    pub fn u_used(&self, which: usize, deltas: &[f64]) -> Vec<f64> {
        let seqlen = self.problem.shape.seqlen;
        let u = self.u_read();
        let gate = |l| self.problem.z.as_ref().map_or(1.0, |z| silu(self.sequence(Input::Z, z, l)));
        let at = |map, l| self.map(map, l, seqlen).map_or(0.0, |l: usize| u[l]);
        let used = |l: usize| match self.variant.u_use[which] {
            UUse::Given => u[l],
            UUse::Silu => silu(u[l]),
            UUse::Gated => u[l] * gate(l),
            UUse::One => 1.0,
            UUse::Relu => u[l].max(0.0),
            UUse::Tanh => u[l].tanh(),
            UUse::TimesDelta => u[l] * deltas[l],
            UUse::Squared => u[l] * u[l],
            UUse::At(by) => at(Map::Shifted(by), l),
            UUse::Reversed => u[seqlen - 1 - l],
            UUse::In(map) => at(map, l),
            UUse::TwiceAtLast(length) => u[l] * if l % length == length - 1 { 2.0 } else { 1.0 },
        };
        (0..seqlen).map(used).collect()
    }
}

impl<'a> Used<'a> {
    pub fn new(reading: Reading<'a>) -> Self {
        let positions = 0..reading.problem.shape.seqlen;
        let deltas = [reading.step_sizes(Of::ABar), reading.step_sizes(Of::BBar)];
        let stage = reading.variant.stages[Stage::U as usize];
        let limits = reading.variant.limits[Limited::U as usize];
        let made = |u: f64| rounded(stage, limited(limits, u.into()).re);
        let u = reading.u_used(0, &deltas[1]).into_iter().map(made).collect();
        Used {
            a: [reading.a_used(Of::ABar), reading.a_used(Of::BBar)],
            b: positions.clone().map(|l| reading.weights_used(Input::B, l)).collect(),
            c: positions.map(|l| reading.weights_used(Input::C, l)).collect(),
            u,
            deltas,
            reading,
        }
    }

    fn variant(&self) -> &'a Variant {
        self.reading.variant
    }

    /// Δ and A of a step.
    pub fn step(&self, n: usize, l: usize) -> (f64, Complex64) {
        (self.deltas[1][l], self.a[1][n])
    }

    /// Δ of B̄.
    pub fn deltas(&self) -> &[f64] {
        &self.deltas[1]
    }

    /// The exponent z of Ā for a step.
    fn exponent(&self, n: usize, delta: f64) -> Complex64 {
        let variant = self.variant();
        let part = |part: usize, a: f64, factor: f64| {
            a * factor * replaced(variant.a_bar_delta_parts[part], replaced(variant.a_bar_delta, delta))
        };
        let a = self.a[0][n];
        let re = part(0, a.re, variant.exponent.0);
        let re = if variant.grows { re } else { re.min(0.0) };
        let limits = variant.limits[Limited::OfABar as usize];
        Complex64::new(limited(limits, re.into()).re, part(1, a.im, variant.exponent.1))
    }

    /// Δ at another position than this one, of Ā or of B̄.
    fn delta_at(&self, of: Of, map: Map, l: usize) -> f64 {
        self.reading.map(map, l, self.u.len()).map_or(0.0, |l| self.deltas[of as usize][l])
    }

    /// log Ā at a position.
    pub fn log_a_bar(&self, n: usize, at: At) -> Complex64 {
        self.exponent(n, self.deltas[0][at.a_bar])
    }

    /// Ā at a position.
    pub fn a_bar(&self, n: usize, at: At) -> Result<Complex64> {
        let maps = self.variant().quotient_at;
        let [above, below] = [maps[0], maps[1]].map(|map| self.delta_at(Of::ABar, map, at.a_bar));
        self.a_bar_of(n, self.deltas[0][at.a_bar], above, below)
    }

    /// Ā of a step, and of those of its numerator and its denominator where it is a quotient.
    fn a_bar_of(&self, n: usize, delta: f64, above: f64, below: f64) -> Result<Complex64> {
        let variant = self.variant();
        let z = self.exponent(n, delta);
        // Only an exponential has an exponent: where that has a factor, Ā is one.
        let is_factored = variant.exponent != (1.0, 1.0);
        let stated = variant.transition.unwrap_or(variant.a_bar.formula().a_bar);
        let value = match if is_factored { Transition::Exponential } else { stated } {
            Transition::Exponential => z.exp(),
            Transition::Quotient(alpha) => {
                let (above, below) = (self.exponent(n, above), self.exponent(n, below));
                let sign = if variant.a_bar_inverse == Inverse::WrongFactor { -1.0 } else { 1.0 };
                let numerator = 1.0 + sign * (1.0 - alpha.value()) * above;
                numerator * inverse(variant.a_bar_inverse, variant.divisions.in_a_bar, alpha, below)?
            }
            Transition::Polynomial(factors) => {
                factors.iter().enumerate().map(|(k, factor)| factor.value() * z.powu(k as u32)).sum()
            }
        };
        let value = Complex64::new(limited(variant.a_bar_limits, value.re.into()).re, value.im);
        let made = of_complex(variant.ways[Way::ABar as usize], value);
        Ok(both_rounded(variant.stages[Stage::ABar as usize], made))
    }

    /// What enters each state at a position.
    pub fn input(&self, n: usize, at: At) -> Result<Complex64> {
        let below = self.delta_at(Of::BBar, self.variant().quotient_at[2], at.delta);
        let coefficients = self.coefficients(n, self.deltas[1][at.delta], below)?;
        let mut sum = Complex64::ZERO;
        for of in coefficients {
            let l = at.u as isize + of.offset;
            let u = usize::try_from(l).map_or(0.0, |l| self.u[l.min(self.u.len() - 1)]);
            sum += self.entering(of, self.b[at.b][n], u);
        }
        let made = of_complex(self.variant().ways[Way::Input as usize], sum * self.variant().input_factor);
        Ok(both_rounded(self.variant().stages[Stage::Input as usize], made))
    }

    /// What one coefficient gives.
    fn entering(&self, of: Coefficient, b: Complex64, u: f64) -> Complex64 {
        let variant = self.variant();
        let stage = |stage: Stage, x: Complex64| both_rounded(variant.stages[stage as usize], x);
        let limits = variant.limits[Limited::BBar as usize];
        let h = of_complex(variant.ways[Way::BBar as usize], limited(limits, of.value));
        let (b, u) = (b.powu(of.b.into()), u.powi(of.u.into()));
        if variant.stages[Stage::DrivenB as usize] != holdfast::problem::InputType::F32 {
            return h * stage(Stage::DrivenB, b * u);
        }
        stage(Stage::BBar, product(variant.products[1], h, b, Complex64::ZERO)) * u
    }

    /// The same of rk4 where A² is the outer product of A with itself, and A³ that of A and its squares: A² B = A Σ A B,
    /// A³ B = A Σ A² B.
    pub fn mixed_input(&self, n: usize, at: At) -> Complex64 {
        let (a, b) = (&self.a[1], &self.b[at.b]);
        let delta = self.deltas[1][at.delta];
        let a_b: Complex64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let own = (delta + delta * delta * a[n] / 2.0) * b[n];
        let square = a[n] * a_b;
        let cube = a[n] * a.iter().zip(b).map(|(a, b)| a * a * b).sum::<Complex64>();
        (own + delta.powi(3) / 6.0 * square + delta.powi(4) / 24.0 * cube) * self.u[at.u]
    }

    /// B̄ without B, by what it is multiplied with.
    fn coefficients(&self, n: usize, delta: f64, below: f64) -> Result<Vec<Coefficient>> {
        let variant = self.variant();
        let a = self.a[1][n];
        let guarded = match variant.guarded {
            Guarded::Z => (delta * a).norm(),
            Guarded::RealPartOfZ => (delta * a.re).abs(),
            Guarded::A => a.norm(),
            Guarded::Delta => delta.abs(),
        };
        let is_other = variant.other_below == f64::INFINITY || guarded < variant.other_below;
        let factor = match variant.b_bar_delta {
            Power::One => 1.0,
            Power::Missing => 1.0 / delta,
            Power::Doubled => 2.0,
            Power::Squared => delta,
        };
        let mut all: Vec<Coefficient> = Vec::new();
        for found in terms(variant, is_other) {
            let term = found.term;
            let taylor = variant.taylor.filter(|_| is_other).map(|count| count as usize);
            let of = self.function(term.of, delta, a, (taylor, below))?;
            let value = factor * term.factor.value() * delta.powi(term.delta) * of;
            let same = |c: &&mut Coefficient| (c.b, c.u, c.offset) == (found.b, found.u, found.offset);
            match all.iter_mut().find(same) {
                Some(coefficient) => coefficient.value += value,
                None => all.push(Coefficient { value, b: found.b, u: found.u, offset: found.offset }),
            }
        }
        Ok(all)
    }

    /// f(z) in B̄; `below` is Δ where it is divided by 1 − αz.
    fn function(
        &self,
        of: Function,
        delta: f64,
        a: Complex64,
        (taylor, below): (Option<usize>, f64),
    ) -> Result<Complex64> {
        let variant = self.variant();
        let limits = variant.limits[Limited::OfBBar as usize];
        let exponent = |delta: f64| Complex64::new(limited(limits, (delta * a.re).into()).re, delta * a.im);
        let z = exponent(delta);
        match of {
            Function::Phi(0) => Ok(z.exp()),
            Function::Phi(k) => match taylor {
                Some(count) => Ok(phi_series(k, z, count)),
                None => self.phi(k, z, a),
            },
            Function::Power(k) if taylor.is_some_and(|count| k >= count) => Ok(Complex64::ZERO),
            Function::Power(k) => Ok(power(variant.powers, z, k)),
            Function::Resolvent(alpha) => {
                inverse(variant.b_bar_inverse, variant.divisions.in_b_bar, alpha, exponent(below))
            }
        }
    }

    /// φₖ by its closed form, (eᶻ − Σ zⁱ/i!)/zᵏ, with what may be wrong there.
    fn phi(&self, k: usize, z: Complex64, a: Complex64) -> Result<Complex64> {
        let variant = self.variant();
        let is_about = |of: Option<usize>| of.is_none_or(|of| of == k);
        let asymptote = variant.asymptote.filter(|asymptote| is_about(asymptote.of_phi));
        let mut value = match asymptote {
            Some(asymptote) if asymptote.first => -1.0 / factorial(k - 1) / z,
            Some(_) => -(0..k).map(|i| z.powu(i as u32) / factorial(i)).sum::<Complex64>() / z.powu(k as u32),
            None => phi(k, z),
        };
        if let Some(sums) = variant.partial_sums {
            let powers = (0..k).map(|i| z.powu(i as u32) * sums.of_powers[k - 1][i].value());
            let added = powers.sum::<Complex64>() + z.exp() * sums.of_exponential[k - 1].value();
            value += added / z.powu(k as u32);
        }
        if is_about(variant.divisions.of_phi) && variant.divisions.in_b_bar != Division::Right {
            value *= (a * reciprocal(variant.divisions.in_b_bar, a)?).powu(k as u32);
        }
        if k >= 2 && variant.powers != Powers::RIGHT {
            value *= z.powu(k as u32) / power(variant.powers, z, k);
        }
        Ok(value)
    }

    /// Ā and what enters a state at a padded position.
    pub fn padding(&self, n: usize, pad: Pad, last: At) -> Result<(Complex64, Complex64)> {
        Ok(match pad {
            Pad::Zeros | Pad::ZerosWithoutBias => {
                let delta = self.reading.padded(Of::ABar, pad);
                (self.a_bar_of(n, delta, delta, delta)?, Complex64::ZERO)
            }
            Pad::LastStep => (self.a_bar(n, last)?, Complex64::ZERO),
            Pad::LastPosition => (self.a_bar(n, last)?, self.input(n, last)?),
        })
    }
}

/// What is taken for (1 − αz)⁻¹.
fn inverse(inverse: Inverse, division: Division, alpha: Fraction, z: Complex64) -> Result<Complex64> {
    let part = alpha.value() * z;
    let series = |last: u32, part: Complex64| (0..=last).map(|k| part.powu(k)).sum();
    Ok(match inverse {
        Inverse::Right => reciprocal(division, 1.0 - part)?,
        Inverse::WrongFactor => reciprocal(division, 1.0 + part)?,
        Inverse::None => Complex64::ONE,
        Inverse::Cut(last) => series(last, part),
        Inverse::CutAlternating(last) => series(last, -part),
    })
}

/// The terms of B̄u; `is_other` where they are those that are wrong.
fn terms(variant: &Variant, is_other: bool) -> Vec<FoundTerm> {
    if let Some(found) = variant.found.filter(|_| is_other) {
        return found.into_iter().flatten().collect();
    }
    let formula = if is_other { variant.b_bar } else { variant.a_bar }.formula();
    let first = formula.leading_order();
    let mut all = Vec::new();
    for (terms, offset) in formula.b_bar.into_iter().zip(OFFSETS) {
        for term in terms.iter().filter_map(|term| changed(variant.sum, *term)) {
            let is_higher = term.order() > first;
            all.push(FoundTerm { term, b: 1, u: u8::from(variant.u_in_higher_terms || !is_higher), offset });
        }
    }
    all
}

/// A term of B̄ where its sum is wrong; none where it is missing.
fn changed(sum: Sum, term: Term) -> Option<Term> {
    Some(match (sum, term.of) {
        (Sum::PolyShare(factor), Function::Phi(2)) => Term { factor, ..term },
        (Sum::Cut(last), Function::Phi(k)) if k > last as usize + 1 => return None,
        (Sum::WithoutFactorials, _) => Term { factor: Fraction::ONE, ..term },
        (Sum::Powers(delta, _), Function::Phi(2)) => Term { delta, ..term },
        (Sum::Powers(_, delta), Function::Phi(3)) => Term { delta, ..term },
        _ => term,
    })
}
