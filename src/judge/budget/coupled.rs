//! States that a dense A couples (spec.md §8), and what a kernel's may be off.
//!
//! # The bound
//!
//! The computed x̂_l = fl(Â_l x̂_{l−1} + b̂_l) with |Â_l − Ā_l| ≤ α_l and |b̂_l − B̄_l u_l| ≤ β_l, entry by entry as
//! [`crate::judge::dense::bounds`] has them, is off by e_l = Ā_l e_{l−1} + d_l with
//!
//! ```text
//! |d_l| ≤ r_l = α_l(|x_{l−1}| + |e_{l−1}|) + β_l + γ((|Ā_l| + α_l)(|x_{l−1}| + |e_{l−1}|) + |b_l| + β_l)
//! ```
//!
//! γ = (n + 2)u for a row's products and sums, in any order, and one rounding of Ā and B̄ on store; complex ones 2√2 times that. So
//! e_l = Σ_k Φ_{l,k} d_k for the product Φ_{l,k} = Ā_l ⋯ Ā_{k+1}, and
//!
//! ```text
//! |e_l| ≤ Σ_{k > l−h} |Φ_{l,k}| r_k + |Φ_{l,l−h}| |e_{l−h}|        |C_l e_l| ≤ Σ_{k > l−h} |C_l Φ_{l,k}| r_k + |C_l Φ_{l,l−h}| |e_{l−h}|
//! ```
//!
//! where each |w| r may as well be ‖w‖ ρ with ρ ≥ ‖d‖, by the same sum in norms: bounds of exponentials of others are of norms, and their entries n
//! times that. Whatever h is, these are products of Ā themselves, and not of their moduli, which would grow where the matrices decay. The
//! larger h, the less is lost; it is as many as cost little ([`WINDOW`]). Everything here is the worst case: nothing is taken as random.
//!
//! An error ε of Δ, which bias and softplus leave, moves Ā by εΔ ∂Ā/∂Δ and B̄ likewise: entry by entry, by a difference of values in f64.
//! Errors of that difference, and terms of second order in ε, are below a hundredth of it ([`SLOPE`]).
//!
//! Where Ā, B̄ or their bounds are infinite or no numbers, so is this bound, and nothing is judged.

use std::rc::Rc;

use nalgebra::DMatrix;
use num_complex::Complex64;

use super::complex_at;
use super::state::{KeptState, Position};
use super::states::{Channel, Sums};
use super::step_size::step_size;
use crate::formula::{OFFSETS, Term};
use crate::judge::dense::bounds::{Bounded, Matrix, Step as Inputs, System, least, sizes};
use crate::problem::{Operand, Problem, Weights};
use crate::promise::{Contract, DensePromise};

/// Multiplications that are made for each position to follow an error through later steps, about, and the positions at most.
pub const WINDOW: (usize, usize) = (1 << 18, 64);

/// Relative change of Δ over which Ā and B̄ are compared, divided by 1 + ‖z‖.
pub const NUDGE: f64 = 1.0 / (1 << 17) as f64;

/// Room for what such a difference is off.
pub const SLOPE: f64 = 1.01;

/// The system of a step, and where its Δ has an error those of others beside it.
pub struct Systems {
    now: System,
    /// Those before and after, and what their difference is multiplied by.
    beside: Option<([System; 2], f64)>,
    share: f64,
}

impl Systems {
    /// Systems of a Δ with this relative error, A and B, for forms that are rational or not.
    pub fn new(
        (weights, promise): (Weights, DensePromise),
        (delta, a, b): Inputs,
        epsilon: f64,
        is_rational: bool,
    ) -> Self {
        let system = |delta: f64| {
            let system = System::new(weights, 0, (delta, a.clone(), b.clone()), promise);
            if is_rational { system } else { system.prepared() }
        };
        let now = system(delta);
        let nudge = NUDGE / (1.0 + now.z.norm());
        let beside = (epsilon > 0.0).then(|| {
            ([1.0 - nudge, 1.0 + nudge].map(|factor| system(delta * factor)), SLOPE * epsilon / (2.0 * nudge))
        });
        Systems { share: 1.0 + now.own_share(), now, beside }
    }

    /// A matrix of the system, and what it may be off.
    pub fn of(&self, of: &dyn Fn(&System) -> Bounded) -> Bounded {
        let mut now = of(&self.now).scaled(self.share);
        if let Some(([before, after], by)) = &self.beside {
            now.add(&(sizes(&(of(after).value - of(before).value)) * *by));
        }
        now
    }
}

/// A step of all states.
#[derive(Clone)]
pub struct Step {
    /// Equal steps have one.
    pub a_bar: Rc<Bounded>,
    /// Σⱼ B̄ⱼ u_{l+j}
    pub input: Bounded,
    /// Σⱼ |B̄ⱼ u_{l+j}|
    pub size: DMatrix<f64>,
}

/// Knowledge of all states after a position.
pub struct After {
    pub x: Matrix,
    /// r and ρ of its step.
    off: (DMatrix<f64>, f64),
    /// Bounds of |e| and ‖e‖.
    pub error: (DMatrix<f64>, f64),
}

/// States step by step.
pub struct Walk {
    steps: Vec<Rc<Step>>,
    /// One more than steps.
    states: Vec<After>,
    gamma: f64,
    lost: f64,
    window: usize,
}

impl Walk {
    /// From a state, and what that may be off; errors are followed as far as a window says.
    pub fn new(
        (weights, promise): (Weights, DensePromise),
        (multiplications, most): (usize, usize),
        (x, error): (Matrix, DMatrix<f64>),
    ) -> Self {
        let n = x.nrows();
        let complex = if weights == Weights::Complex { 2.0 * std::f64::consts::SQRT_2 } else { 1.0 };
        let window = (multiplications / (n.pow(3) * weights.width().pow(2))).clamp(4, most);
        let states =
            vec![After { x, off: (DMatrix::zeros(n, 1), 0.0), error: (error.clone(), error.norm()) }];
        let terms = n as f64 + 2.0;
        let (gamma, lost) = (complex * terms * promise.unit, 2.0 * promise.underflow * terms);
        Walk { steps: Vec::new(), states, gamma, lost, window }
    }

    /// The state after the last step.
    pub fn last(&self) -> &After {
        &self.states[self.steps.len()]
    }

    /// Goes on by a step, to a state that is Ā x + b or computed otherwise, and rounded by as much beside it.
    pub fn step(&mut self, step: Rc<Step>, other: Option<Matrix>, rounded: Option<DMatrix<f64>>) {
        let n = step.size.nrows();
        let Step { a_bar, input, size } = &*step;
        let After { x: before, error: (error, norm), .. } = self.last();
        let x = other.unwrap_or_else(|| &a_bar.value * before + &input.value);
        let reached = sizes(before) + error;
        let terms = sizes(&a_bar.value) * &reached + size;
        let carried = &a_bar.error * &reached + &input.error;
        let carried_norm = a_bar.norm * (before.norm() + norm) + input.norm;
        let lost_norm = self.gamma * (terms.norm() + carried_norm) + self.lost * (n as f64).sqrt();
        let mut off = (&carried + (&terms + &carried) * self.gamma).add_scalar(self.lost);
        let mut off_norm = carried_norm + lost_norm;
        if let Some(rounded) = rounded {
            off_norm += rounded.norm();
            off += rounded;
        }
        self.steps.push(step);
        self.states.push(After { x, off: (off, off_norm), error: (DMatrix::zeros(n, 1), 0.0) });
        let at = self.steps.len();
        self.states[at].error = self.carried(Matrix::identity(n, n), at);
    }

    /// The state after so many steps.
    pub fn after(&self, steps: usize) -> &After {
        &self.states[steps]
    }

    /// The product of a row with the state after so many steps, and its bound.
    pub fn read(&self, row: &Matrix, after: usize) -> (Complex64, f64) {
        ((row * &self.states[after].x)[(0, 0)], self.carried(row.clone(), after).1)
    }

    /// Bounds of |W e_k| and ‖W e_k‖ for the error e_k after k steps: the module's sum over the last ones, and the bound that was there before.
    fn carried(&self, mut w: Matrix, k: usize) -> (DMatrix<f64>, f64) {
        let (mut bound, mut norm) = (DMatrix::zeros(w.nrows(), 1), 0.0);
        let mut add = |w: &Matrix, (off, in_norm): &(DMatrix<f64>, f64)| {
            let by_entries = sizes(w) * off;
            norm += least(by_entries.norm(), w.norm() * in_norm);
            for (bound, (row, by_entries)) in bound.iter_mut().zip(w.row_iter().zip(by_entries.iter())) {
                *bound += least(*by_entries, row.norm() * in_norm);
            }
        };
        let end = k.saturating_sub(self.window);
        for k in (end + 1..=k).rev() {
            add(&w, &self.states[k].off);
            w *= &self.steps[k - 1].a_bar.value;
        }
        add(&w, &self.states[end].error);
        norm = least(norm, bound.norm());
        (bound, norm)
    }
}

/// Bound of a state on store: those in double are rounded once more.
fn stored(contract: &Contract, x: &Complex64, error: f64) -> f64 {
    let unit = if contract.dense.unit < contract.arithmetic.unit { contract.arithmetic.unit } else { 0.0 };
    error + unit * (x.norm() + error)
}

/// A of a channel.
pub fn matrix(problem: &Problem, channel: usize) -> Matrix {
    let (n, width) = (problem.shape.dstate, problem.weights.width());
    let first = channel * problem.floats_of_a();
    DMatrix::from_fn(n, n, |r, c| complex_at(problem.weights, &problem.a, first + (r * n + c) * width))
}

/// B or C of a channel at a position, as a column.
pub fn column(
    problem: &Problem,
    (values, operand): (&[f32], Operand),
    at: (usize, usize),
    l: usize,
) -> Matrix {
    let entry = |n: usize| complex_at(problem.weights, values, problem.operand_index(operand, at, n, l));
    DMatrix::from_fn(problem.shape.dstate, 1, |n, _| entry(n))
}

/// States of a channel that values in initial_state's order give, as a column; zeros where there are none.
pub fn given_states(problem: &Problem, values: Option<&[f32]>, at: (usize, usize)) -> Matrix {
    let entry = |values, n| complex_at(problem.weights, values, problem.state_index(at, n));
    DMatrix::from_fn(problem.shape.dstate, 1, |n, _| {
        values.map_or(Complex64::ZERO, |values| entry(values, n))
    })
}

/// All states of a channel along a sequence that is read as a whole.
pub struct Coupled<'a> {
    channel: Channel<'a>,
    pub steps: Vec<Rc<Step>>,
    /// Ā and B̄ of each.
    pub panels: Vec<Rc<Panels>>,
    pub largest_z: f64,
}

/// Ā, and B̄ of a position's own input, of the one before and of the one after, as far as the form has them.
pub type Panels = (Rc<Bounded>, [Option<Bounded>; 3]);

impl<'a> Coupled<'a> {
    /// Steps of every position.
    pub fn new(channel: Channel<'a>) -> Self {
        let Channel { problem, contract, at, form, .. } = channel;
        let (a, formula) = (matrix(problem, at.1), form.formula());
        let mut coupled = Coupled { channel, steps: Vec::new(), panels: Vec::new(), largest_z: 0.0 };
        let mut last: Option<(_, Rc<Panels>)> = None;
        for l in 0..channel.seqlen {
            let given = (
                step_size(problem, at, l, contract.arithmetic),
                column(problem, (&problem.b, problem.b_operand), at, l),
            );
            let panels = match last {
                // Equal steps in a row have the same matrices.
                Some((before, panels)) if before == given => panels,
                _ => {
                    let ((delta, epsilon), b) = &given;
                    let inputs = (*delta, a.clone(), b.clone());
                    let systems = Systems::new(
                        (problem.weights, contract.dense),
                        inputs,
                        *epsilon,
                        formula.is_rational(),
                    );
                    coupled.largest_z = coupled.largest_z.max(systems.now.z.norm());
                    let a_bar = systems.of(&|system| system.of_state(formula.a_bar));
                    let of_terms = |terms: &'static [Term]| systems.of(&|system| system.of_input(terms));
                    let inputs = formula.b_bar.map(|terms| (!terms.is_empty()).then(|| of_terms(terms)));
                    Rc::new((Rc::new(a_bar), inputs))
                }
            };
            coupled.steps.push(Rc::new(coupled.step(l, &panels)));
            coupled.panels.push(panels.clone());
            last = Some((given, panels));
        }
        coupled
    }

    fn step(&self, l: usize, (a_bar, inputs): &Panels) -> Step {
        let Channel { problem, at, .. } = self.channel;
        let zero = DMatrix::zeros(problem.shape.dstate, 1);
        let mut input = Bounded::by_entries(zero.map(Complex64::from), zero.clone());
        let mut size = zero;
        for (b_bar, offset) in inputs.iter().zip(OFFSETS) {
            let Some(b_bar) = b_bar else { continue };
            let u = f64::from(problem.u_at(at, l as isize + offset));
            // An infinite bound of what is not read bounds nothing.
            if u == 0.0 {
                continue;
            }
            input.value += &b_bar.value * Complex64::from(u);
            input.error += &b_bar.error * u.abs();
            input.norm += b_bar.norm * u.abs();
            size += sizes(&b_bar.value) * u.abs();
        }
        Step { a_bar: a_bar.clone(), input, size }
    }

    /// States along the steps in this order, from those that are given.
    pub fn states(&self, start: Matrix, backwards: bool) -> Walk {
        let exact = start.map(|_| 0.0);
        let Channel { problem, contract, .. } = self.channel;
        let mut walk = Walk::new((problem.weights, contract.dense), WINDOW, (start, exact));
        let mut step = |step: &Rc<Step>| walk.step(step.clone(), None, None);
        match backwards {
            true => self.steps.iter().rev().for_each(&mut step),
            false => self.steps.iter().for_each(&mut step),
        }
        walk
    }

    /// States likewise, and what reads them at each position.
    fn scan(&self, start: Matrix, backwards: bool, sums: &mut Sums) -> Walk {
        let Channel { problem, at, .. } = self.channel;
        let len = self.steps.len();
        let walk = self.states(start, backwards);
        for k in 0..len {
            let l = if backwards { len - 1 - k } else { k };
            let read = if problem.reads_before() { k } else { k + 1 };
            let c = column(problem, (&problem.c, problem.c_operand), at, l);
            let (y, error) = walk.read(&c.transpose(), read);
            let After { x, error: (errors, _), .. } = &walk.states[read];
            let weights = sizes(&c);
            let of_terms = weights.dot(&sizes(x));
            let position = &mut sums.positions[l];
            position.y += y.re;
            position.carried += error;
            position.linear += error;
            position.terms += of_terms;
            position.magnitude += of_terms + weights.dot(errors);
            position.weights += weights.sum();
        }
        walk
    }

    /// Sums at every position, and the last states.
    pub fn walk(&self, sums: &mut Sums) -> Vec<KeptState> {
        let Channel { problem, at, form, contract, .. } = self.channel;
        sums.positions = vec![Position::default(); self.steps.len()];
        if form.is_bidirectional() {
            self.scan(given_states(problem, None, at), true, sums);
        }
        let walk = self.scan(given_states(problem, problem.initial_state.as_deref(), at), false, sums);
        let After { x, error: (error, _), .. } = walk.last();
        let kept = |(x, error): (&Complex64, &f64)| {
            let (magnitude, bound) = (x.norm(), stored(contract, x, *error));
            KeptState { x: *x, worst: bound, linear: bound, variance: 0.0, magnitude }
        };
        x.iter().zip(error.iter()).map(kept).collect()
    }
}
