//! A diagonal step and the scan over it in exact arithmetic, as far as they are rational.

use std::cell::OnceCell;
use std::ops::Range;

use dashu_int::ops::BitTest;
use dashu_ratio::RBig;
use nalgebra::{Complex, DMatrix};
use num_traits::Zero as _;

use super::dense::Exact;
use super::rational::{self, Gaussian, exact, fraction, round};
use crate::formula::{Form, Formula, Function, Panels, Term, Transition};
use crate::problem::Problem;
use crate::truth::limit::{may_be_rational, rational_step};
use crate::truth::number::scalar::Real as _;
use crate::truth::number::wide::Wide;

/// The exact coefficients of one element, none where they are not rational. They are wherever there is no φ-function, and
/// elsewhere where z = 0: φₖ(0) = 1/k! (spec.md §1).
pub fn step(formula: &Formula, delta: &RBig, a: &Gaussian) -> Panels<Gaussian> {
    let one = Gaussian::real(RBig::ONE);
    let z = a.scale(delta);
    let power = |k: usize| (0..k).fold(one.clone(), |power, _| &power * &z);
    let resolvent = |alpha| (&one - &z.scale(&fraction(alpha))).inverse();
    let of = |function| match function {
        Function::Phi(k) => {
            z.is_zero().then(|| Gaussian::real((1..=k).fold(RBig::ONE, |inverse, i| inverse / RBig::from(i))))
        }
        Function::Power(k) => Some(power(k)),
        Function::Resolvent(alpha) => resolvent(alpha),
    };
    let a_bar = match formula.a_bar {
        Transition::Exponential => of(Function::Phi(0)),
        Transition::Quotient(alpha) => {
            let above = &one + &z.scale(&fraction(alpha.complement()));
            resolvent(alpha).map(|inverse| &inverse * &above)
        }
        Transition::Polynomial(factors) => Some(
            (0..).zip(factors).fold(Gaussian::zero(), |sum, (k, &c)| &sum + &power(k).scale(&fraction(c))),
        ),
    };
    let [now, prev, next] = formula.b_bar.map(|terms| {
        let value = |term: &Term| Some(of(term.of)?.scale(&rational::factor(term, delta)));
        terms.iter().try_fold(Gaussian::zero(), |sum, term| Some(&sum + &value(term)?))
    });
    [a_bar, now, prev, next]
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
    /// None where every step is irrational, or for a scan too long to hold.
    pub fn new(problem: &'p Problem, form: Form, channel: (usize, usize)) -> Option<Self> {
        let small = problem.shape.dstate * problem.shape.seqlen <= MOST_STATES;
        (small && may_be_rational(problem)).then(|| ExactScan {
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

    fn b(&self, n: usize, l: usize) -> Gaussian {
        self.weights(&self.problem.b, self.problem.operand_index(self.problem.b_operand, self.channel, n, l))
    }

    fn input(&self, l: usize) -> RBig {
        let (batch, d) = self.channel;
        exact(f64::from(self.problem.u[self.problem.sequence_index(batch, d, l)]))
    }

    /// x_{−1}
    fn initial(&self, n: usize) -> Gaussian {
        let given = self.problem.initial_state.as_ref();
        given.map_or(Gaussian::zero(), |x| self.weights(x, self.problem.state_index(self.channel, n)))
    }

    /// What the output at l reads of state n.
    fn read(&self, backward: bool, n: usize, l: usize) -> Option<Gaussian> {
        let states = &self.states(backward)[n];
        let before = match backward {
            _ if !self.problem.reads_before() => return states[l].clone(),
            false => l.checked_sub(1),
            true => Some(l + 1).filter(|&l| l < states.len()),
        };
        match before {
            Some(l) => states[l].clone(),
            None => Some(if backward { Gaussian::zero() } else { self.initial(n) }),
        }
    }

    /// The states at every position, scanned from the first or from the last.
    fn states(&self, backward: bool) -> &States {
        let (cell, len) = (if backward { &self.backward } else { &self.forward }, self.problem.shape.seqlen);
        cell.get_or_init(|| {
            if self.problem.is_dense() {
                return self.coupled(backward);
            }
            let state = |n| {
                let mut x = Some(if backward { Gaussian::zero() } else { self.initial(n) });
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

    /// States that a dense A couples: where one is not rational none is.
    fn coupled(&self, backward: bool) -> States {
        let (len, dstate) = (self.problem.shape.seqlen, self.problem.shape.dstate);
        let first = |n: usize| if backward { Gaussian::zero() } else { self.initial(n) };
        let mut x: Option<Vec<Gaussian>> = Some((0..dstate).map(first).collect());
        let mut states = vec![vec![None; len]; dstate];
        for step in 0..len {
            let l = if backward { len - 1 - step } else { step };
            x = x.take().and_then(|x| self.advance_coupled(l, &x));
            for (states, x) in states.iter_mut().zip(x.iter().flatten()) {
                states[l] = Some(x.clone());
            }
        }
        states
    }

    fn advance_coupled(&self, l: usize, x: &[Gaussian]) -> Option<Vec<Gaussian>> {
        let (p, (batch, d)) = (self.problem, self.channel);
        let delta = rational_step(p, (batch, d), l, |x| exact(f64::from(x)))?;
        let rounded = round(&delta);
        let (n, width) = (p.shape.dstate, p.weights.width());
        let number = |values: &[f32], at: usize| {
            let [re, im] = [at, at + width - 1].map(|at| Wide::exact(f64::from(values[at])));
            Complex::new(re, if width == 2 { im } else { Wide::zero() })
        };
        let first = d * p.floats_of_a();
        let a = DMatrix::from_fn(n, n, |r, c| number(&p.a, first + (r * n + c) * width));
        let index = |n: usize| p.operand_index(p.b_operand, self.channel, n, l);
        let b = DMatrix::from_fn(n, 1, |n, _| number(&p.b, index(n)));
        let step = Exact::new(self.form.formula(), &a, &b, rounded);
        let inputs = [
            self.input(l),
            if l > 0 { self.input(l - 1) } else { RBig::ZERO },
            self.input((l + 1).min(p.shape.seqlen - 1)),
        ];
        let entry = |panel: usize, row: usize, column: usize| -> Option<Gaussian> {
            let part = |row: usize| step.entry(panel, row, column, true);
            Some(Gaussian { re: part(row)?, im: part(row + n)? })
        };
        let state = |row: usize| {
            let mut sum = Gaussian::zero();
            for (column, x) in x.iter().enumerate().filter(|(_, x)| !x.is_zero()) {
                sum = &sum + &(&entry(0, row, column)? * x);
            }
            let read = (1..).zip(self.form.formula().b_bar).zip(&inputs);
            for ((panel, _), u) in read.filter(|((_, terms), u)| !terms.is_empty() && **u != RBig::ZERO) {
                sum = &sum + &entry(panel, row, 0)?.scale(u);
            }
            let longest = sum.re.denominator().bit_len().max(sum.im.denominator().bit_len());
            (longest <= LONGEST_DENOMINATOR).then_some(sum)
        };
        // A sum with the bias may have more bits than an f64.
        (exact(rounded) == delta).then(|| (0..n).map(state).collect()).flatten()
    }

    /// The state after position l, or none where it is not rational.
    fn advance(&self, n: usize, l: usize, x: Gaussian) -> Option<Gaussian> {
        let (p, (batch, d)) = (self.problem, self.channel);
        let delta = rational_step(p, (batch, d), l, |x| exact(f64::from(x)))?;
        let b = if p.reads_with_b() { Gaussian::real(RBig::ONE) } else { self.b(n, l) };
        let step = step(&self.form.formula(), &delta, &self.weights(&p.a, p.weight_index(d, n)));
        let [a_bar, coefficients @ ..] = step;
        let inputs = [
            self.input(l),
            if l > 0 { self.input(l - 1) } else { RBig::ZERO },
            self.input((l + 1).min(p.shape.seqlen - 1)),
        ];
        let mut sum = if x.is_zero() { x } else { &a_bar? * &x };
        for (coefficient, u) in coefficients.into_iter().zip(inputs) {
            let bu = b.scale(&u);
            if !bu.is_zero() {
                sum = &sum + &(&coefficient? * &bu);
            }
        }
        let longest = sum.re.denominator().bit_len().max(sum.im.denominator().bit_len());
        (longest <= LONGEST_DENOMINATOR).then_some(sum)
    }

    /// The forward state after so many positions.
    pub fn state_after(&self, n: usize, positions: usize) -> Option<Gaussian> {
        match positions.checked_sub(1) {
            Some(l) => self.states(false)[n][l].clone(),
            None => Some(self.initial(n)),
        }
    }

    /// The sum of ΔA over these positions, of a real A that all states share, correctly rounded.
    pub fn exponent(&self, positions: Range<usize>) -> Option<f64> {
        let (batch, d) = self.channel;
        let a = self.weights(&self.problem.a, self.problem.weight_index(d, 0)).re;
        let mut sum = RBig::ZERO;
        for l in positions {
            sum += rational_step(self.problem, (batch, d), l, |x| exact(f64::from(x)))? * &a;
        }
        Some(round(&sum))
    }

    /// The output at l, correctly rounded.
    pub fn output(&self, l: usize) -> Option<f64> {
        let (p, (batch, d)) = (self.problem, self.channel);
        let mut sum = RBig::ZERO;
        for n in 0..p.shape.dstate {
            let mut c = self.weights(&p.c, p.operand_index(p.c_operand, self.channel, n, l));
            if p.reads_with_b() {
                c = &c * &self.b(n, l);
            }
            if c.is_zero() {
                continue;
            }
            let forward = self.read(false, n, l)?;
            let y = if self.form.formula().bidirectional {
                let both = &forward + &self.read(true, n, l)?;
                (&c * &both).re / RBig::from(2)
            } else {
                (&c * &forward).re
            };
            sum += y * RBig::from(p.output_factor() as u8);
        }
        if let Some(skip) = &p.d {
            sum += exact(f64::from(skip[d])) * self.input(l);
        }
        // A gate z ≠ 0 multiplies by a transcendental number: only a zero stays rational.
        let gated = p.z.as_ref().is_some_and(|z| z[p.sequence_index(batch, d, l)] != 0.0);
        (!gated || sum.is_zero()).then(|| round(&sum))
    }
}
