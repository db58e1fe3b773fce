//! Exact rational arithmetic, complex: settles ties and zeros, which no finite precision can.

use std::cell::OnceCell;
use std::ops::{Add, Mul, Sub};

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use crate::method::Method;
use crate::problem::Problem;
use crate::truth::textbook::{Form, Textbook};

/// A complex number with rational parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    pub re: RBig,
    pub im: RBig,
}

/// The rational that a finite f64 is.
pub fn exact(value: f64) -> RBig {
    let bits = value.abs().to_bits();
    let field = bits >> 52;
    let fraction = bits & ((1 << 52) - 1);
    let (significand, exponent) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field as i64 - 1075) };
    let magnitude = IBig::from(significand);
    let signed = if value < 0.0 { -magnitude } else { magnitude };
    let shift = exponent.unsigned_abs() as usize;
    if exponent < 0 { RBig::from_parts(signed, UBig::ONE << shift) } else { RBig::from(signed << shift) }
}

/// The nearest f64, ties to even. A zero has no sign.
pub fn round(value: &RBig) -> f64 {
    value.to_f64().value()
}

impl Gaussian {
    pub fn zero() -> Self {
        Self::real(RBig::ZERO)
    }

    pub fn real(re: RBig) -> Self {
        Gaussian { re, im: RBig::ZERO }
    }

    /// From one part or two.
    pub fn from_parts(parts: &[f32]) -> Self {
        let part = |i: usize| parts.get(i).map_or(RBig::ZERO, |&p| exact(f64::from(p)));
        Gaussian { re: part(0), im: part(1) }
    }

    pub fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }

    pub fn part(&self, index: usize) -> &RBig {
        if index == 0 { &self.re } else { &self.im }
    }

    pub fn scale(&self, factor: &RBig) -> Self {
        Gaussian { re: &self.re * factor, im: &self.im * factor }
    }

    /// None for zero.
    pub fn inverse(&self) -> Option<Self> {
        let norm = &self.re * &self.re + &self.im * &self.im;
        if norm.is_zero() {
            return None;
        }
        Some(Gaussian { re: &self.re / &norm, im: -&self.im / norm })
    }
}

impl Add for &Gaussian {
    type Output = Gaussian;
    fn add(self, other: Self) -> Gaussian {
        Gaussian { re: &self.re + &other.re, im: &self.im + &other.im }
    }
}

impl Sub for &Gaussian {
    type Output = Gaussian;
    fn sub(self, other: Self) -> Gaussian {
        Gaussian { re: &self.re - &other.re, im: &self.im - &other.im }
    }
}

impl Mul for &Gaussian {
    type Output = Gaussian;
    fn mul(self, other: Self) -> Gaussian {
        Gaussian {
            re: &self.re * &other.re - &self.im * &other.im,
            im: &self.re * &other.im + &self.im * &other.re,
        }
    }
}

/// [`crate::truth::diagonal::element::Step`] in exact arithmetic; a coefficient is none where it is not rational.
pub struct ExactStep {
    pub a: Option<Gaussian>,
    pub now: Option<Gaussian>,
    pub prev: Option<Gaussian>,
    pub next: Option<Gaussian>,
}

/// The exact coefficients of one element, as far as they are rational: everywhere for the rational forms,
/// and for the others where z = 0, φₖ(0) = 1/k! (spec.md §1).
pub fn step(form: Form, delta: &RBig, a: &Gaussian) -> ExactStep {
    let one = Gaussian::real(RBig::ONE);
    let z = a.scale(delta);
    let real = |r: RBig| Some(Gaussian::real(r));
    let over = |n: i32| RBig::from_parts(IBig::ONE, UBig::from(n as u32));
    let zero = || Some(Gaussian::zero());
    let unit = || z.is_zero().then(|| one.clone());
    let square = delta * delta;
    let cube = &square * delta;
    let at_zero = |input: RBig| ExactStep {
        a: unit(),
        now: z.is_zero().then(|| Gaussian::real(input)),
        prev: zero(),
        next: zero(),
    };
    let bilinear = || {
        let half = z.scale(&over(2));
        let inverse = (&one - &half).inverse();
        let a = inverse.as_ref().map(|i| i * &(&one + &half));
        (a, inverse.map(|i| i.scale(delta)))
    };
    let horner = |inner: &Gaussian, k: i32| &one + &(&z * inner).scale(&over(k));
    let rk4 = || horner(&horner(&horner(&one, 4), 3), 2);
    match form {
        Form::Method(Method::Zoh) => {
            ExactStep { a: unit(), now: real(delta.clone()), prev: zero(), next: zero() }
        }
        Form::Method(Method::Rk4) => {
            ExactStep { a: unit(), now: Some(rk4().scale(delta)), prev: zero(), next: zero() }
        }
        Form::Method(Method::Bilinear) => {
            let (a, now) = bilinear();
            ExactStep { a, now, prev: zero(), next: zero() }
        }
        Form::Method(Method::Foh) => at_zero(square * over(2)),
        Form::Method(Method::Poly) => at_zero(delta + square * over(4)),
        Form::Method(Method::HighOrder) => at_zero(delta + square * over(2) + cube * over(12)),
        Form::Textbook(Textbook::ZohExact) => at_zero(delta.clone()),
        Form::Textbook(Textbook::FohTextbook) => {
            let half = z.is_zero().then(|| Gaussian::real(delta * over(2)));
            ExactStep { a: unit(), now: half.clone(), prev: zero(), next: half }
        }
        Form::Textbook(Textbook::Rk4Classical) => {
            let outer = rk4();
            ExactStep {
                a: Some(&one + &(&z * &outer)),
                now: Some(outer.scale(delta)),
                prev: zero(),
                next: zero(),
            }
        }
        Form::Textbook(Textbook::BilinearAveraged) => {
            let (a, now) = bilinear();
            let half = now.map(|n| n.scale(&over(2)));
            ExactStep { a, now: half.clone(), prev: half, next: zero() }
        }
        Form::Textbook(Textbook::ExpTrapezoidal) => {
            let half = delta * over(2);
            let prev = z.is_zero().then(|| Gaussian::real(half.clone()));
            ExactStep { a: unit(), now: real(half), prev, next: zero() }
        }
    }
}

/// Bits of a state's denominator beyond which it is given up: irrational for our purposes.
const LONGEST_DENOMINATOR: usize = 1 << 13;
/// States that are kept at most, all positions together.
const MOST_STATES: usize = 1 << 17;

/// One channel's states where they are rational: (n, l), none where they are not.
type States = Vec<Vec<Option<Gaussian>>>;

/// One channel's exact scan, for outputs and states on a rounding boundary: those that A = 0, Δ = 0 or a
/// first step make rational.
pub struct ExactScan<'p> {
    problem: &'p Problem,
    form: Form,
    channel: (usize, usize),
    forward: OnceCell<States>,
    backward: OnceCell<States>,
}

impl<'p> ExactScan<'p> {
    /// None where softplus makes every step irrational, or for a scan too long to hold.
    pub fn new(problem: &'p Problem, form: Form, channel: (usize, usize)) -> Option<Self> {
        let small = problem.shape.dstate * problem.shape.seqlen <= MOST_STATES;
        (small && !problem.delta_softplus).then(|| ExactScan {
            problem,
            form,
            channel,
            forward: OnceCell::new(),
            backward: OnceCell::new(),
        })
    }

    fn weights(&self, values: &[f32], start: usize) -> Gaussian {
        Gaussian::from_parts(&values[start..start + self.problem.weights.width()])
    }

    fn input(&self, l: usize) -> RBig {
        let (batch, d) = self.channel;
        exact(f64::from(self.problem.u[self.problem.sequence_index(batch, d, l)]))
    }

    /// The states at every position, scanned from the first or from the last.
    fn states(&self, backward: bool) -> &States {
        let (cell, len) = (if backward { &self.backward } else { &self.forward }, self.problem.shape.seqlen);
        cell.get_or_init(|| {
            let state = |n| {
                let mut x = Some(Gaussian::zero());
                let mut visit = |l: usize| {
                    x = x.take().and_then(|x| self.advance(n, l, x));
                    x.clone()
                };
                if backward {
                    let mut states: Vec<_> = (0..len).rev().map(&mut visit).collect();
                    states.reverse();
                    states
                } else {
                    (0..len).map(visit).collect()
                }
            };
            (0..self.problem.shape.dstate).map(state).collect()
        })
    }

    /// The state after position l, or none where it is not rational.
    fn advance(&self, n: usize, l: usize, x: Gaussian) -> Option<Gaussian> {
        let (p, (batch, d)) = (self.problem, self.channel);
        let bias = p.delta_bias.as_ref().map_or(RBig::ZERO, |b| exact(f64::from(b[d])));
        let delta = exact(f64::from(p.delta[p.sequence_index(batch, d, l)])) + bias;
        let b = self.weights(&p.b, p.operand_index(p.b_operand, self.channel, n, l));
        let step = step(self.form, &delta, &self.weights(&p.a, p.weight_index(d, n)));
        let inputs = [
            (step.now, self.input(l)),
            (step.prev, if l > 0 { self.input(l - 1) } else { RBig::ZERO }),
            (step.next, self.input((l + 1).min(p.shape.seqlen - 1))),
        ];
        let mut sum = if x.is_zero() { x } else { &step.a? * &x };
        for (coefficient, u) in inputs {
            let bu = b.scale(&u);
            if !bu.is_zero() {
                sum = &sum + &(&coefficient? * &bu);
            }
        }
        let longest = sum.re.denominator().bit_len().max(sum.im.denominator().bit_len());
        (longest <= LONGEST_DENOMINATOR).then_some(sum)
    }

    /// The last forward state.
    pub fn last_state(&self, n: usize) -> Option<Gaussian> {
        self.states(false)[n].last().cloned().flatten()
    }

    /// The output at l, correctly rounded.
    pub fn output(&self, l: usize) -> Option<f64> {
        let (p, (batch, d)) = (self.problem, self.channel);
        let mut sum = RBig::ZERO;
        for n in 0..p.shape.dstate {
            let c = self.weights(&p.c, p.operand_index(p.c_operand, self.channel, n, l));
            if c.is_zero() {
                continue;
            }
            let forward = self.states(false)[n][l].as_ref()?;
            let y = if self.form.is_bidirectional() {
                let both = forward + self.states(true)[n][l].as_ref()?;
                (&c * &both).re / RBig::from(2)
            } else {
                (&c * forward).re
            };
            sum += y * RBig::from(p.weights.width());
        }
        if let Some(skip) = &p.d {
            sum += exact(f64::from(skip[d])) * self.input(l);
        }
        // A gate z ≠ 0 multiplies by a transcendental number: only a zero stays rational.
        let gated = p.z.as_ref().is_some_and(|z| z[p.sequence_index(batch, d, l)] != 0.0);
        (!gated || sum.is_zero()).then(|| round(&sum))
    }
}
