//! States that a dense A couples (spec.md §8): x_l = Ā_l x_{l−1} + B̄_l u_l with the matrices of [`crate::truth::dense::routes`], one route of
//! them for each of the scan's.

use std::rc::Rc;

use nalgebra::DMatrix;
use num_traits::Zero as _;

use super::{CarriedState, ChannelScan, OutputSums, pattern};
use crate::formula::{Form, Panels};
use crate::parallel;
use crate::truth::dense::floor::BoundedMatrix;
use crate::truth::dense::matrix::{norm_exponent, product, scaled};
use crate::truth::dense::routes::{Given, attempt};
use crate::truth::exact::dense::Exact;
use crate::truth::number::ball::{Ball, Enclosure as _};
use crate::truth::number::elementary::Exponent;
use crate::truth::number::scalar::{Entry, Real as _};
use crate::truth::{Result, TruthError};

/// ‖ΔA‖ may be at most 2 to this: in two doubles, and in 237 bits.
const LARGEST: [i64; 2] = [8, crate::problem::LARGEST_EXPONENT];

/// Ā and what multiplies u_l, u_{l−1} and u_{l+1}, by each route.
struct Step<T: Exponent> {
    literal: Panels<DMatrix<T>>,
    bounded: Panels<BoundedMatrix<T>>,
}

/// All states of a channel by every form.
pub(super) struct Scanned<T: Exponent> {
    pub totals: Vec<OutputSums<T::Part>>,
    /// States that are asked for, of each form and each state.
    pub states: Vec<Vec<Vec<CarriedState<T>>>>,
    pub stood_in: bool,
}

/// Part of [`Scanned`] that is one form's.
type OfForm<T> = (OutputSums<<T as Entry>::Part>, Vec<Vec<CarriedState<T>>>);

/// All states by each route.
#[derive(Clone)]
struct Carried<T: Exponent> {
    literal: DMatrix<T>,
    bounded: BoundedMatrix<T>,
}

impl<T: Exponent> Carried<T> {
    fn given(x: DMatrix<T>) -> Self {
        Carried { bounded: BoundedMatrix::exact(x.clone()), literal: x }
    }

    fn advance(&mut self, step: &Step<T>, inputs: [T::Part; 3]) {
        let (Some(first), Some(second)) = (&step.literal[0], &step.bounded[0]) else {
            unreachable!("every form has an Ā by each route")
        };
        let (mut literal, mut bounded) = (product(first, &self.literal), second.times(&self.bounded));
        for (panel, u) in (1..).zip(inputs).filter(|(_, u)| !u.is_zero()) {
            let (Some(first), Some(second)) = (&step.literal[panel], &step.bounded[panel]) else {
                debug_assert!(
                    step.literal[panel].is_none() && step.bounded[panel].is_none(),
                    "both routes have an input"
                );
                continue;
            };
            literal += scaled(first, &u);
            bounded = second.scale(&Ball::exact(u)).plus(&bounded);
        }
        *self = Carried { literal, bounded };
    }

    fn state(&self, n: usize) -> CarriedState<T> {
        let (literal, bounded) = (self.literal[(n, 0)], self.bounded.at((n, 0)));
        // An error says of neither part that it is 0.
        let live = if bounded.radius.is_zero() { pattern(&bounded.mid) } else { [true, T::WIDTH == 2] };
        CarriedState { literal, bounded, live }
    }
}

impl<T: Exponent> ChannelScan<'_, T> {
    /// All states, which are coupled.
    pub(super) fn coupled(&self) -> Result<Scanned<T>> {
        let found = parallel::try_each(self.forms.len(), &|f| self.coupled_by(self.forms[f]))?;
        let (totals, states) = found.into_iter().unzip();
        Ok(Scanned { totals, states, stood_in: false })
    }

    fn coupled_by(&self, form: Form) -> Result<OfForm<T>> {
        let (p, (_, d)) = (self.problem, self.at);
        let (len, n) = (p.shape.seqlen, p.shape.dstate);
        let first = d * p.floats_of_a();
        let a = DMatrix::from_fn(n, n, |r, c| self.weight(&p.a, first + (r * n + c) * T::WIDTH));
        let exact = Exact::new(form.formula(), &a, &DMatrix::zeros(n, 1), 1.0);
        let is_singular = exact.is_singular();
        let column = |values: &[f32], at: &dyn Fn(usize) -> usize| {
            DMatrix::from_fn(n, 1, |n, _| self.weight(values, at(n)))
        };
        let b = |l: usize| column(&p.b, &|n| p.operand_index(p.b_operand, self.at, n, l));
        let nothing = Carried::given(DMatrix::zeros(n, 1));
        let mut carried = match &p.initial_state {
            Some(values) => Carried::given(column(values, &|n| p.state_index(self.at, n))),
            None => nothing.clone(),
        };
        let mut sums = OutputSums::new(len);
        let mut kept: Vec<Rc<Step<T>>> = Vec::new();
        let mut last: Option<(DMatrix<T>, Rc<Step<T>>)> = None;
        for l in 0..len {
            let b = b(l);
            let step = match last {
                // Equal steps in a row have the same matrices.
                Some((before, step)) if before == b && self.delta[l] == self.delta[l - 1] => step,
                _ => Rc::new(self.step(form, (&a, &b), l, (is_singular, exact.chain()))?),
            };
            self.pass(l, &step, &mut carried, &mut sums);
            if form.is_bidirectional() {
                kept.push(step.clone());
            }
            last = Some((b, step));
        }
        let mut backward = nothing;
        for (l, step) in kept.iter().enumerate().rev() {
            self.pass(l, step, &mut backward, &mut sums);
        }
        Ok((sums, (0..n).map(|n| vec![carried.state(n)]).collect()))
    }

    /// Takes all states from one position to the next, and reads them there.
    fn pass(&self, l: usize, step: &Step<T>, carried: &mut Carried<T>, sums: &mut OutputSums<T::Part>) {
        let p = self.problem;
        let before = p.reads_before().then(|| carried.clone());
        carried.advance(step, self.inputs(l));
        let read = before.as_ref().unwrap_or(carried);
        for n in 0..p.shape.dstate {
            self.observe(sums, l, self.operand(&p.c, p.c_operand, n, l), &read.state(n));
        }
    }

    fn step(
        &self,
        form: Form,
        (a, b): (&DMatrix<T>, &DMatrix<T>),
        l: usize,
        (is_singular, chain): (bool, usize),
    ) -> Result<Step<T>> {
        let place = || format!("batch {}, channel {}, position {l}", self.at.0, self.at.1);
        let given = Given::of_step(form, a, b, self.delta[l], chain);
        let limit = LARGEST[usize::from(!T::Part::NARROW)];
        if let Some(found) = norm_exponent(&given.z).filter(|&found| found > limit) {
            return Err(TruthError::StepTooLarge { place: place(), found, limit });
        }
        let Some(found) = attempt(&given, is_singular) else {
            let reason = "no linear system could be solved, as near a pole of I − αΔA";
            return Err(TruthError::Uncertified { place: place(), reason, bits: T::Part::BITS });
        };
        Ok(Step { literal: found.literal, bounded: found.bounded })
    }
}
