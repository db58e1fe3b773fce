//! How each method answers a step and a sine, beside the continuous system.
//!
//! With x_l at time t_l and u_l = u(t_l), a causal step has the transfer function H(ω) = C B̄ / (1 − Ā e^{−iωΔ}), the
//! continuous system C B / (iω − A). `poly` averages a forward and a backward scan, and so does its H: the backward
//! one has e^{+iωΔ}. For complex A, y = 2 Re x adds the conjugate pair's.

use num_complex::Complex64;

use super::{CONTINUOUS, FrequencyResponse, SYSTEMS, StepResponse, System};
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::tensor::TensorName;
use crate::truth::{Form, Textbook, TruthError, scan};

/// Large enough that the methods differ to the eye.
const DELTA: f32 = 0.5;
const FREQUENCIES: usize = 96;
/// Steps, and points of the continuous curve.
const STEPS: usize = 16;
const POINTS: usize = 128;

/// Magnitude and phase of the methods and the continuous system, up to Nyquist's frequency.
pub fn frequency() -> Result<Vec<FrequencyResponse>, TruthError> {
    let delta = f64::from(DELTA);
    let nyquist = std::f64::consts::PI / delta;
    let omega: Vec<f64> = (1..=FREQUENCIES).map(|i| nyquist * i as f64 / FREQUENCIES as f64).collect();
    let mut all = Vec::new();
    for system in SYSTEMS {
        let mut push = |form: &str, h: &dyn Fn(f64) -> Complex64| {
            let values: Vec<Complex64> = omega.iter().map(|&omega| h(omega)).collect();
            all.push(FrequencyResponse {
                form: form.to_owned(),
                system: system.name.to_owned(),
                delta,
                omega: omega.clone(),
                magnitude: values.iter().map(|h| h.norm()).collect(),
                phase: values.iter().map(|h| h.arg().to_degrees()).collect(),
            });
        };
        let i = Complex64::I;
        let a = system.a();
        push(CONTINUOUS, &|omega| paired(&system, |conjugate| 1.0 / (i * omega - conjugate(a))));
        for method in Method::ALL {
            let step = system.steps(method.into(), &[DELTA])?[0];
            let scan = |omega: f64, conjugate: fn(Complex64) -> Complex64| {
                conjugate(step.b[0]) / (1.0 - conjugate(step.a) * (-i * omega * delta).exp())
            };
            push(method.name(), &|omega| {
                let causal = paired(&system, |conjugate| scan(omega, conjugate));
                if method.is_bidirectional() {
                    0.5 * (causal + paired(&system, |conjugate| scan(-omega, conjugate)))
                } else {
                    causal
                }
            });
        }
    }
    Ok(all)
}

/// The transfer function of y: of x itself, or with that of its conjugate.
fn paired(system: &System, h: impl Fn(fn(Complex64) -> Complex64) -> Complex64) -> Complex64 {
    match system.weights {
        Weights::Real => h(|x| x),
        Weights::Complex => h(|x| x) + h(|x| x.conj()),
    }
}

/// The outputs of the methods for u = 1, and of the continuous system: by zero-order hold in one step to each t.
pub fn step() -> Result<Vec<StepResponse>, TruthError> {
    let delta = f64::from(DELTA);
    let mut all = Vec::new();
    for system in SYSTEMS {
        let mut push = |form: &str, time: Vec<f64>, output: Vec<f64>| {
            let (form, system) = (form.to_owned(), system.name.to_owned());
            all.push(StepResponse { form, system, delta, time, output });
        };
        let end = DELTA * STEPS as f32;
        let fine: Vec<f32> = (0..=POINTS).map(|i| end * i as f32 / POINTS as f32).collect();
        let scale = if system.weights == Weights::Complex { 2.0 } else { 1.0 };
        let exact = system.steps(Textbook::ZohExact.into(), &fine)?;
        push(
            CONTINUOUS,
            fine.iter().map(|&t| f64::from(t)).collect(),
            exact.iter().map(|step| scale * step.b[0].re).collect(),
        );
        let problem = one_state(&system, vec![DELTA; STEPS], vec![1.0; STEPS]);
        let forms = Method::ALL.map(Form::from);
        for (method, truth) in Method::ALL.iter().zip(scan::solve(&problem, &forms)?) {
            push(
                method.name(),
                (1..=STEPS).map(|l| delta * l as f64).collect(),
                truth.tensors[TensorName::Out].values.clone(),
            );
        }
    }
    Ok(all)
}

/// A scan of one channel with one state and B = C = 1.
pub(super) fn one_state(system: &System, delta: Vec<f32>, u: Vec<f32>) -> Problem {
    let one = system.laid_out(&[1.0, 0.0]).to_vec();
    Problem {
        shape: Shape { batch: 1, dim: 1, dstate: 1, seqlen: u.len(), groups: 1 },
        weights: system.weights,
        input: InputType::F32,
        b_operand: Operand::Constant,
        c_operand: Operand::Constant,
        u,
        delta,
        a: system.laid_out(&system.a).to_vec(),
        b: one.clone(),
        c: one,
        d: None,
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: None,
        conventions: Default::default(),
        judged_channels: vec![(0, 0)],
        held: None,
        packed: None,
    }
}
