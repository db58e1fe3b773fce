//! One channel's scan at higher precisions, for the few values that 237 bits leave open: a sum that cancels,
//! a state that decays beyond the range of the wide scalar, a tie that a tiny e^z decides.
//!
//! Slow: every coefficient comes from the dense routes at size 1. Several values of a channel share one run.

use std::sync::OnceLock;

use nalgebra::{Complex, DMatrix};
use num_traits::{One, Zero};

use crate::formula::Form;
use crate::parallel;
use crate::problem::{Problem, Weights};
use crate::truth::certify::{Settled, settle};
use crate::truth::dense::expm;
use crate::truth::dense::floor::{self, BoundedMatrix};
use crate::truth::dense::routes::{Given, attempt};
use crate::truth::limit::{may_be_rational, rational_step};
use crate::truth::number::ball::{Ball, Enclosure};
use crate::truth::number::big::Big;
use crate::truth::number::scalar::{Entry, Real};

/// Which value is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    Output {
        l: usize,
    },
    /// Of the states that are asked for, the one at this place ([`Problem::asked_states`]).
    State {
        place: usize,
        n: usize,
        part: usize,
    },
}

/// Outputs (l) and states (n, place, part) by both routes.
struct WideScan<R> {
    out: Vec<(R, Ball<R>)>,
    states: Vec<Vec<Parts<R>>>,
}

/// The parts of a number by both routes.
type Parts<R> = Vec<(R, Ball<R>)>;

/// A channel's runs, each made when first asked for.
pub struct Rescue<'p> {
    problem: &'p Problem,
    form: Form,
    channel: (usize, usize),
    first: OnceLock<Option<WideScan<Big<512>>>>,
    second: OnceLock<Option<WideScan<Big<4096>>>>,
}

impl<'p> Rescue<'p> {
    /// None with softplus, whose Δ is known to 237 bits only, but for one that is clamped.
    pub fn new(problem: &'p Problem, form: Form, channel: (usize, usize)) -> Option<Self> {
        may_be_rational(problem).then(|| Rescue {
            problem,
            form,
            channel,
            first: OnceLock::new(),
            second: OnceLock::new(),
        })
    }

    /// The rounding of a value, and the bits it took.
    pub fn settle(&self, wanted: Wanted) -> Option<(Settled, u32)> {
        self.look(&self.first, wanted).or_else(|| self.look(&self.second, wanted))
    }

    fn look<R: Real>(&self, cell: &OnceLock<Option<WideScan<R>>>, wanted: Wanted) -> Option<(Settled, u32)> {
        let run = cell.get_or_init(|| match self.problem.weights {
            Weights::Real => self.run::<R>(),
            Weights::Complex => self.run::<Complex<R>>(),
        });
        let run = run.as_ref()?;
        let (x, y) = match wanted {
            Wanted::Output { l } => &run.out[l],
            Wanted::State { place, n, part } => &run.states[n][place][part],
        };
        settle(x, y).ok().map(|settled| (settled, R::BITS))
    }

    fn run<T: Entry>(&self) -> Option<WideScan<T::Part>> {
        let p = self.problem;
        let (batch, d) = self.channel;
        let len = p.shape.seqlen;
        let exact = |x: f32| T::Part::exact(f64::from(x));
        let at = |l: usize| p.sequence_index(batch, d, l);
        let node = |n: usize| self.node::<T>(n).ok_or(());
        let nodes = parallel::try_each(p.shape.dstate, &node).ok()?;
        let doubling = i64::from(p.output_factor() == 2.0) - i64::from(self.form.is_bidirectional());
        let output = |l: usize| {
            let skipped = p.d.as_ref().map_or(T::Part::zero(), |skip| exact(skip[d]) * exact(p.u[at(l)]));
            let mut literal = nodes.iter().fold(T::Part::zero(), |sum, node| sum + node.y[l].0.clone());
            let mut bounded = nodes.iter().rev().fold(Ball::zero(), |sum, node| sum.plus(&node.y[l].1));
            literal = literal.times_pow2(doubling) + skipped.clone();
            bounded = bounded.shifted(doubling).plus(&Ball::exact(skipped));
            if let Some(gate) = &p.z {
                let z = exact(gate[at(l)]);
                let minus = DMatrix::from_element(1, 1, -z.clone());
                literal *= z.clone() / (T::Part::one() + expm::pade(&minus, 0)?[0].clone());
                let exponential = floor::exponential(&BoundedMatrix::exact(minus), 0).at((0, 0));
                bounded = bounded.times(&Ball::exact(z)).over(&exponential.plus(&Ball::one()));
            }
            Some((literal, bounded))
        };
        let out = (0..len).map(output).collect::<Option<_>>()?;
        let parts = |(literal, bounded): &(T, Ball<T>)| {
            (0..T::WIDTH).map(|part| (literal.part(part), bounded.part(part))).collect()
        };
        let states = nodes.iter().map(|node| node.states.iter().map(parts).collect()).collect();
        Some(WideScan { out, states })
    }

    fn node<T: Entry>(&self, n: usize) -> Option<Node<T>> {
        let p = self.problem;
        let (batch, d) = self.channel;
        let len = p.shape.seqlen;
        let exact = |x: f32| T::Part::exact(f64::from(x));
        let weight = |values: &[f32], at: usize| {
            T::entry_from_parts(exact(values[at]), exact(values[at + T::WIDTH - 1]))
        };
        let a = DMatrix::from_element(1, 1, weight(&p.a, p.weight_index(d, n)));
        let one = DMatrix::from_element(1, 1, T::one());
        let u = |l: usize| exact(p.u[p.sequence_index(batch, d, l)]);
        let b_at = |l: usize| weight(&p.b, p.operand_index(p.b_operand, self.channel, n, l));
        // Ā and the forcing at each position, by both routes.
        let step = |l: usize| {
            let delta = rational_step(p, self.channel, l, exact)?;
            let given = Given::new(self.form, &a, &one, delta, 0);
            let attempt = attempt(&given, a[0].is_zero())?;
            let b = if p.reads_with_b() { T::one() } else { b_at(l) };
            let inputs = [u(l), if l > 0 { u(l - 1) } else { T::Part::zero() }, u((l + 1).min(len - 1))];
            let [a_bar, terms @ ..] = attempt.literal;
            let mut literal = (a_bar.map_or(T::zero(), |m| m[0].clone()), T::zero());
            for (term, u) in terms.iter().zip(&inputs).filter_map(|(t, u)| Some((t.as_ref()?, u))) {
                literal.1 += (term[0].clone() * b.clone()).scale(u.clone());
            }
            let [a_bar, terms @ ..] = attempt.bounded;
            let mut bounded = (a_bar.map_or(Ball::zero(), |m| m.at((0, 0))), Ball::zero());
            for (term, u) in terms.iter().zip(&inputs).filter_map(|(t, u)| Some((t.as_ref()?, u))) {
                // 24 bits by 24: exact.
                let bu = Ball::exact(b.clone().scale(u.clone()));
                bounded.1 = bounded.1.plus(&term.at((0, 0)).times(&bu));
            }
            Some((literal, bounded))
        };
        let steps = parallel::try_each(len, &|l| step(l).ok_or(())).ok()?;
        let mut node = Node { y: vec![(T::Part::zero(), Ball::zero()); len], states: Vec::new() };
        let asked = p.asked_states();
        let initial = p.initial_state.as_ref().map(|x| weight(x, p.state_index(self.channel, n)));
        let scan = |order: &mut dyn Iterator<Item = usize>, first: T, y: &mut Parts<T::Part>| {
            let (mut literal, mut bounded) = (first.clone(), Ball::exact(first));
            let mut states = Vec::new();
            for l in order {
                if asked.binary_search(&l).is_ok() {
                    states.push((literal.clone(), bounded.clone()));
                }
                let c = weight(&p.c, p.operand_index(p.c_operand, self.channel, n, l));
                let beside = if p.reads_with_b() { b_at(l) } else { T::one() };
                let mut read = |literal: &T, bounded: &Ball<T>| {
                    let (x, bounded) =
                        (beside.clone() * literal.clone(), Ball::exact(beside.clone()).times(bounded));
                    y[l].0 += (c.clone() * x).part(0);
                    y[l].1 = y[l].1.plus(&Ball::exact(c.clone()).times(&bounded).part(0));
                };
                if p.reads_before() {
                    read(&literal, &bounded);
                }
                let ((a, forcing), (bounded_a, bounded_forcing)) = &steps[l];
                literal = a.clone() * literal + forcing.clone();
                bounded = bounded_a.times(&bounded).plus(bounded_forcing);
                if !p.reads_before() {
                    read(&literal, &bounded);
                }
            }
            states.push((literal, bounded));
            states
        };
        node.states = scan(&mut (0..len), initial.unwrap_or(T::zero()), &mut node.y);
        if self.form.formula().bidirectional {
            scan(&mut (0..len).rev(), T::zero(), &mut node.y);
        }
        Some(node)
    }
}

/// One state's share of the outputs, and its values where they are asked for, by both routes.
struct Node<T: Entry> {
    y: Vec<(T::Part, Ball<T::Part>)>,
    states: Vec<(T, Ball<T>)>,
}
