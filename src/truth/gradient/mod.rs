//! The truth of gradients: what the derivative of a loss by every input of a selective scan is, correctly rounded to f64
//! (spec.md §6).
//!
//! A gradient is computed by the adjoint recurrence ([`adjoint`]), twice: with steps that the literal formulas differentiate
//! themselves ([`dual`]), and with the derivatives' own identities ([`step`]) and a proven bound of every error. A value is
//! rounded as one of a scan is ([`super::certify`]), in the same arithmetics one after the other, each for what is left open,
//! and for the channels alone on which that depends. Before the wide ones exact arithmetic settles zeros and ties ([`known`]).
//!
//! A dense A couples states: their part of the recurrence is one of matrices (`coupled.rs`), by each route's own exponentials and inverses, in
//! the two arithmetics that have tables.
//!
//! All channels take part, whichever are judged: weights collect from all of them.
//!
//! ```
//! use holdfast::method::Method;
//! use holdfast::problem::{InputType, Operand, OutputGradients, Weights, plan::Spec, regime};
//! use holdfast::tensor::GradientName;
//! use holdfast::truth::gradient::solve;
//!
//! let regime = regime::find("short").expect("in the table");
//! let (weights, input) = (Weights::Complex, InputType::F32);
//! let problem = Spec { regime, weights, input, b: Operand::Variable, c: Operand::Constant }.draw(1);
//! // The loss is the sum of all outputs.
//! let given = OutputGradients { dout: vec![1.0; problem.u.len()], dlast_state: None };
//! let truth = solve(&problem, &given, &[Method::Zoh])?.remove(0);
//! assert_eq!(truth.tensors[GradientName::A].values.len(), problem.a.len());
//! println!("{}", truth.certificate);
//! # Ok::<(), holdfast::truth::TruthError>(())
//! ```

pub mod adjoint;
mod climb;
mod coupled;
pub mod dual;
pub mod elements;
pub mod known;
pub mod number;
pub mod rules;
pub mod step;

use std::collections::BTreeSet;

use nalgebra::Complex;

use self::adjoint::Scan;
use self::climb::{Climb, WIDEST};
use self::number::Number;
use self::rules::{LITERAL_LOSS, ROUTES, Rules, literal_loss};
use super::TruthError;
use super::certify::{Certificate, Doubt, settle};
use super::diagonal::coefficient::{check_exponent, check_tensor, validate};
use super::limit::clamped;
use super::number::ball::Ball;
use super::number::elementary::Exponent;
use super::number::scalar::{Entry, Real};
use super::number::wide::Wide;
use crate::method::Method;
use crate::parallel;
use crate::problem::{LARGEST_EXPONENT, Operand, OutputGradients, Problem, Shape, Weights};
use crate::tensor::{GradientName, Gradients, Named};
use crate::truth::Result;

/// One method's gradients, correctly rounded: one for each input that the problem has, in its layout.
#[derive(Clone, Debug)]
pub struct GradientTruth {
    pub method: Method,
    pub tensors: Gradients<f64>,
    pub certificate: Certificate,
}

/// The gradients of every input of `problem` by each of `methods`.
///
/// # Errors
/// As [`super::scan::solve`]'s, and for a problem that holds some of its rows alone.
pub fn solve(problem: &Problem, given: &OutputGradients, methods: &[Method]) -> Result<Vec<GradientTruth>> {
    check(problem, given)?;
    parallel::try_each(methods.len(), &|i| solve_method(problem, given, methods[i]))
}

fn check(problem: &Problem, given: &OutputGradients) -> Result<()> {
    validate(problem)?;
    if problem.held.is_some() {
        let (expected, found) = ("every channel".into(), "some rows".into());
        return Err(TruthError::Shape { what: "held", expected, found });
    }
    let Shape { batch, dim, dstate, .. } = problem.shape;
    check_tensor("dout", &given.dout, problem.shape.sequence_len())?;
    match &given.dlast_state {
        Some(values) => {
            let states = problem.states_of_each()[1] * dstate;
            check_tensor("dlast_state", values, batch * dim * states * problem.weights.width())
        }
        None => Ok(()),
    }
}

/// Where a value that is still open stands: a gradient, and a place among its values.
type Place = (GradientName, usize);

/// On what a value depends: an item of the batch, and which of so many channels in a row; none where on all.
type Depends = (Option<usize>, Option<(usize, usize)>);

/// The values that are settled, and those that are not.
struct Ladder<'p> {
    scan: Scan<'p>,
    values: Named<Vec<f64>, GradientName>,
    open: Vec<(Place, Doubt)>,
    certificate: Certificate,
}

fn solve_method(problem: &Problem, given: &OutputGradients, method: Method) -> Result<GradientTruth> {
    let scan = Scan { problem, form: method.into(), given };
    let stood_in = match problem.weights {
        _ if problem.is_dense() => scan.check_matrices()?,
        Weights::Real => scan.check_steps::<Wide>()?,
        Weights::Complex => scan.check_steps::<Complex<Wide>>()?,
    };
    let lengths = scan.lengths();
    let all = lengths.iter().flat_map(|(name, &len)| (0..len).map(move |i| ((name, i), Doubt::Floor)));
    let mut ladder = Ladder {
        scan,
        values: lengths.map(|_, &len| vec![0.0; len]),
        open: all.collect(),
        certificate: Certificate {
            unavailable: stood_in.then_some("A⁻¹ and its powers lose the bits as ΔA → 0"),
            ..Certificate::new(ROUTES)
        },
    };
    let is_limited = problem.delta_softplus || problem.is_dense();
    ladder.climb(problem.weights, is_limited);
    let tensor = |name, values: &Vec<f64>| problem.gradient(name, values.clone());
    if let Some(&((name, i), doubt)) = ladder.open.first() {
        let index = tensor(name, &ladder.values[name]).index(i);
        let bits = if is_limited { Wide::BITS } else { WIDEST };
        let place = format!("{method}: {name} at {index:?}");
        return Err(TruthError::Uncertified { place, reason: doubt.reason(), bits });
    }
    Ok(GradientTruth { method, tensors: ladder.values.map(tensor), certificate: ladder.certificate })
}

impl Climb for Ladder<'_> {
    fn settle<T: Entry>(&mut self, literal: &Rules<T>, bounded: &Rules<Ball<T>>) {
        let channels = self.channels();
        if channels.is_empty() {
            return;
        }
        let Some(literal) = self.scan.sums(literal, &channels) else { return };
        let Some(bounded) = self.scan.sums(bounded, &channels) else { return };
        let Ladder { values, certificate, .. } = self;
        self.open.retain_mut(|((name, i), doubt)| match settle(&literal[*name][*i], &bounded[*name][*i]) {
            Ok(settled) => {
                certificate.count(settled, T::Part::BITS);
                values[*name][*i] = settled.value;
                false
            }
            Err(found) => {
                *doubt = found;
                true
            }
        });
    }

    fn know<V: Number>(&mut self, rules: &Rules<V>, rounded: fn(&V::Real) -> Option<f64>) {
        let channels = self.channels();
        if channels.is_empty() {
            return;
        }
        let Some(known) = self.scan.sums(rules, &channels) else { return };
        let Ladder { values, certificate, .. } = self;
        self.open.retain(|&((name, i), doubt)| {
            let agreed = |value: &f64| *value == 0.0 || doubt != Doubt::Disagreement;
            let Some(value) = rounded(&known[name][i]).filter(agreed) else { return true };
            certificate.count_exact(value);
            values[name][i] = value;
            false
        });
    }
}

impl Ladder<'_> {
    /// The channels on which open values depend, in order.
    fn channels(&self) -> Vec<(usize, usize)> {
        let places = self.open.iter().map(|&(place, _)| place);
        let depends: BTreeSet<Depends> = places.map(|place| self.scan.depends(place)).collect();
        let is = |&(batch, d): &(usize, usize)| {
            depends.iter().any(|(on_batch, on_channels)| {
                on_batch.is_none_or(|on| on == batch) && on_channels.is_none_or(|(some, at)| d / some == at)
            })
        };
        self.scan.problem.channels().filter(is).collect()
    }
}

impl Scan<'_> {
    /// The item of the batch and the channels on which a value depends.
    fn depends(&self, (name, i): Place) -> Depends {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let Shape { dim, dstate, seqlen, groups, .. } = self.problem.shape;
        let width = self.problem.weights.width();
        let some = self.problem.shared_by(name).unwrap_or(1);
        let of_row = |row: usize| (Some(row / (dim / some)), Some((some, row % (dim / some))));
        let operand = |operand: Operand| match operand {
            Operand::Constant => (None, Some((1, i / (dstate * width)))),
            Operand::Variable => {
                let row = i / (dstate * seqlen * width);
                (Some(row / groups), Some((dim / groups, row % groups)))
            }
        };
        match name {
            U | Delta | Z => of_row(i / seqlen),
            InitialState => of_row(i / (self.problem.states_of_each()[0] * dstate * width)),
            A if self.problem.shared_by(A).is_some() => (None, Some((some, i / width))),
            A => (None, Some((1, i / self.problem.floats_of_a()))),
            B => operand(self.problem.b_operand),
            C => operand(self.problem.c_operand),
            D | DeltaBias => (None, Some((some, i))),
        }
    }

    /// Checks that every ‖ΔA‖ is in range; a pole shows where nothing can be solved. No series stands in for anything.
    fn check_matrices(&self) -> Result<bool> {
        let p = self.problem;
        let (n, limit) = (p.shape.dstate, LARGEST_EXPONENT);
        for (batch, d) in p.channels() {
            let a = &p.a[d * p.floats_of_a()..][..p.floats_of_a()];
            let squares = a.iter().map(|&part| f64::from(part).powi(2)).sum::<f64>();
            for l in 0..p.shape.seqlen {
                let raw = p.delta[p.sequence_index(batch, d, l)];
                let sum = f64::from(raw) + p.delta_bias.as_ref().map_or(0.0, |bias| f64::from(bias[d]));
                let soft = || sum.max(0.0) + libm::log1p(libm::exp(-sum.abs()));
                let clamped = clamped(p, d, raw).map(f64::from);
                let delta = clamped.unwrap_or_else(|| if p.delta_softplus { soft() } else { sum });
                // ‖z‖₁ is at most √n times as much.
                let found = (delta.abs() * (squares * n as f64).sqrt()).log2().ceil() as i64;
                if found > limit {
                    let place = format!("batch {batch}, channel {d}, position {l}");
                    return Err(TruthError::StepTooLarge { place, found, limit });
                }
            }
        }
        Ok(false)
    }

    /// That every |z| is in range and the form at no pole; and whether some |z| is so small that a series stands in for the
    /// literal formulas. Softplus of a rational number is irrational, so at no pole, and that it is known to an f64 suffices for
    /// its range.
    fn check_steps<T: Exponent<Part = Wide>>(&self) -> Result<bool> {
        let p = self.problem;
        let has_phis = self.form.formula().phis() > 0;
        let poles = self.form.formula().pole();
        let of_channel = |(batch, d): (usize, usize)| {
            let mut stands_in = false;
            let bias = p.delta_bias.as_ref().map_or(0.0, |bias| bias[d]);
            let sequences = p.sequences(batch);
            let read = sequences.iter().filter(|sequence| !sequence.is_padding);
            for l in read.flat_map(|sequence| sequence.positions.clone()) {
                let raw = Wide::from(p.delta[p.sequence_index(batch, d, l)]) + Wide::from(bias);
                let soft = || {
                    let raw = raw.to_nearest_f64();
                    Wide::from(raw.max(0.0) + libm::log1p(libm::exp(-raw.abs())))
                };
                let clamped = clamped(p, d, p.delta[p.sequence_index(batch, d, l)]);
                let (delta, poles) = match clamped {
                    Some(limit) => (Wide::from(limit), poles.as_slice()),
                    None if p.delta_softplus => (soft(), &[][..]),
                    None => (raw, poles.as_slice()),
                };
                for n in 0..p.shape.dstate {
                    let at = p.weight_index(d, n);
                    let a = T::entry_from_parts(Wide::from(p.a[at]), Wide::from(p.a[at + T::WIDTH - 1]));
                    let place = || format!("batch {batch}, channel {d}, state {n}, position {l}");
                    let z = a.scale(delta);
                    check_exponent(z, poles, place)?;
                    stands_in |= has_phis && literal_loss(&z) > LITERAL_LOSS;
                }
            }
            Ok(stands_in)
        };
        let channels: Vec<(usize, usize)> = p.channels().collect();
        let each = parallel::try_each(channels.len(), &|i| of_channel(channels[i]));
        each.map(|each| each.contains(&true))
    }
}
