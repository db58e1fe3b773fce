//! Promise: what is found of a recording is said as it is: its name, its numbers, its place. Recordings are scans that are
//! written out here in plain f64, with something wrong in them.

mod at_places;
mod borders;
mod closed_forms;
mod counted;
mod epilogues;
mod formulas;
mod last_states;
mod limits;
mod scaled;
mod sentences;
mod tensors;

use holdfast::judge::diagnose::{Work, identify};
use holdfast::problem::{Operand, Problem, Weights};
use holdfast::results::Diagnosis;
use holdfast::tensor::{Named, TensorName, Tensors};
use num_complex::Complex64 as C;

use super::planting::Planting;
use super::reconstruct::right;
use crate::support::problems::{Layout, generator};

/// Variable B and C, real weights.
fn plain(dim: usize, dstate: usize, seqlen: usize) -> Layout {
    Layout { b: Operand::Variable, c: Operand::Variable, ..Layout::plain(1, dim, dstate, seqlen) }
}

/// A problem of which every channel is judged.
fn drawn(layout: Layout) -> Problem {
    let mut problem = layout.random(&mut generator("identified"));
    problem.judged_channels = problem.channels().collect();
    problem
}

/// A step of one state: where it is, and what it takes.
#[derive(Clone, Copy)]
struct Step {
    channel: usize,
    l: usize,
    n: usize,
    delta: f64,
    a: C,
    b: C,
    u: f64,
}

impl Step {
    fn z(&self) -> C {
        self.a * self.delta
    }

    /// What enters the state with this B̄, B apart.
    fn driven(&self, b_bar: impl Into<C>) -> C {
        b_bar.into() * self.b * self.u
    }
}

/// What an output is made of.
struct Output {
    /// What each state contributes.
    terms: Vec<f64>,
    u: f64,
    delta: f64,
    d: Option<f64>,
    z: Option<f64>,
}

impl Output {
    fn readout(&self) -> f64 {
        self.terms.iter().sum()
    }

    fn skip(&self) -> f64 {
        self.d.map_or(0.0, |d| d * self.u)
    }

    fn gate(&self) -> f64 {
        self.z.map_or(1.0, |z| z * sigmoid(z))
    }

    fn right(&self) -> f64 {
        (self.readout() + self.skip()) * self.gate()
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Planting {
    /// Ā and what enters the state, as specified.
    fn right(&self, s: Step) -> [C; 2] {
        right(self.method, s.delta, s.a, s.b, s.u)
    }

    /// What a scan with these steps and outputs returns, from the first position to the last.
    fn recorded(&self, step: impl Fn(Step) -> [C; 2], output: impl Fn(&Output) -> f64) -> Tensors<f64> {
        let problem = &self.problem;
        let (shape, width) = (problem.shape, problem.weights.width());
        let number = |values: &[f32], at: usize| {
            let imaginary = if problem.weights == Weights::Complex { values[at + 1] } else { 0.0 };
            C::new(f64::from(values[at]), f64::from(imaginary))
        };
        let (mut out, mut last_state) = (Vec::new(), Vec::new());
        for &(batch, channel) in &problem.judged_channels {
            let initial = |n: usize| {
                let at = problem.state_index((batch, channel), n);
                problem.initial_state.as_ref().map_or(C::ZERO, |states| number(states, at))
            };
            let mut states: Vec<C> = (0..shape.dstate).map(initial).collect();
            let of_channel = |values: &Vec<f32>| f64::from(values[channel]);
            let bias = problem.delta_bias.as_ref().map_or(0.0, of_channel);
            for l in 0..shape.seqlen {
                let at = problem.sequence_index(batch, channel, l);
                let raw = f64::from(problem.delta[at]) + bias;
                let delta = if problem.delta_softplus { raw.exp().ln_1p() } else { raw };
                let u = f64::from(problem.u[at]);
                let mut terms = Vec::new();
                for (n, x) in states.iter_mut().enumerate() {
                    let operand = |operand| problem.operand_index(operand, (batch, channel), n, l);
                    let a = number(&problem.a, problem.weight_index(channel, n));
                    let b = number(&problem.b, operand(problem.b_operand));
                    let c = number(&problem.c, operand(problem.c_operand));
                    let [a_bar, input] = step(Step { channel, l, n, delta, a, b, u });
                    *x = a_bar * *x + input;
                    terms.push(problem.output_factor() * (c * *x).re);
                }
                let d = problem.d.as_ref().map(of_channel);
                let z = problem.z.as_ref().map(|z| f64::from(z[at]));
                let value = output(&Output { terms, u, delta, d, z });
                out.push(f64::from(problem.input.round(value as f32)));
            }
            let parts = states.iter().flat_map(|x| [x.re, x.im].into_iter().take(width));
            last_state.extend(parts.map(|part| f64::from(part as f32)));
        }
        let tensors = [(TensorName::Out, out), (TensorName::LastState, last_state)];
        tensors.into_iter().map(|(name, values)| (name, problem.judged_tensor(name, values))).collect()
    }

    fn with_step(&self, step: impl Fn(Step) -> [C; 2]) -> Tensors<f64> {
        self.recorded(step, Output::right)
    }

    fn with_output(&self, output: impl Fn(&Output) -> f64) -> Tensors<f64> {
        self.recorded(|s| self.right(s), output)
    }

    fn found(&self, got: &Tensors<f64>, failing: &[TensorName], at_once: bool) -> Named<Vec<Diagnosis>> {
        let work = Work::default();
        match at_once {
            true => self.by_tensor(got, failing, &work),
            false => identify(&self.case(got, &work), failing),
        }
    }

    /// What is said first of the first tensor that fails; empty where that is nothing.
    fn said(&self, got: &Tensors<f64>, at_once: bool) -> String {
        let failing = self.failing(got);
        let first = *failing.first().expect("what is recorded is wrong");
        self.found(got, &failing, at_once).get(first).map_or(String::new(), |said| sentence(said))
    }

    fn at_once(&self, got: &Tensors<f64>) -> String {
        self.said(got, true)
    }

    fn after_long(&self, got: &Tensors<f64>) -> String {
        self.said(got, false)
    }
}

/// The likeliest of what is said.
fn sentence(said: &[Diagnosis]) -> String {
    said.first().map_or(String::new(), |first| format!("{}: {}", first.name, first.what))
}

/// That each is said as expected; all that are not are shown.
fn assert_said(said: impl IntoIterator<Item = (String, String)>) {
    let wrong: Vec<_> = said.into_iter().filter(|(said, expected)| said != expected).collect();
    assert!(wrong.is_empty(), "(said, expected): {wrong:#?}");
}
