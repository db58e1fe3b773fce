//! Promise: every element counts. An error is seen in whichever it is, and a NaN even in channels that have no truth.

use holdfast::judge::budget::{self, Budget};
use holdfast::judge::scan::{self, Place};
use holdfast::judge::ulp::Format;
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::{TensorName, Tensors};
use holdfast::truth;

use crate::cases::{crossed, each};
use crate::support::problems::{Layout, generator};

/// A small problem of which every other channel has a truth, with that.
struct Judged {
    method: Method,
    problem: Problem,
    want: Tensors<f64>,
    budget: Budget,
}

fn judged(method: Method, weights: Weights, input: InputType) -> Judged {
    let layout = Layout {
        shape: Shape { batch: 2, dim: 3, dstate: 3, seqlen: 6, groups: 1 },
        weights,
        input,
        b: Operand::Variable,
        c: Operand::Constant,
        gate: true,
        extras: true,
    };
    let mut problem = layout.random(&mut generator("places"));
    problem.judged_channels = vec![(0, 0), (0, 2), (1, 1)];
    let want = truth::scan::solve(&problem, &[method]).expect("certified").remove(0).tensors;
    let budget = budget::scan(method, &problem, &Contract::PRODUCTION);
    Judged { method, problem, want, budget }
}

impl Judged {
    fn case(&self, got: &Tensors<f32>) -> CaseResult {
        let [id, regime, inputs, backend, rerun] = Default::default();
        let place = Place { id, regime, inputs, backend, rerun };
        let tensors = scan::judge(self.method, &self.problem, got, &self.want, &self.budget);
        scan::case(self.method, &self.problem, place, tensors)
    }

    /// What the kernel returns, with one value in the place of its own.
    fn with(&self, got: &Tensors<f32>, name: TensorName, at: usize, value: f32) -> CaseResult {
        let mut changed = got.clone();
        changed[name].values[at] = value;
        self.case(&changed)
    }

    /// Where a value of the judged channels stands among all.
    fn position(&self, name: TensorName, judged: usize) -> usize {
        let want = &self.want[name];
        let row = want.values.len() / self.problem.judged_channels.len();
        let (batch, channel) = self.problem.judged_channels[judged / row];
        (batch * self.problem.shape.dim + channel) * row + judged % row
    }
}

#[test]
fn an_error_is_seen_wherever_it_is() {
    each(
        crossed([Method::Zoh, Method::Poly], [Weights::Real, Weights::Complex]),
        |(method, weights): (Method, Weights)| {
            let judged = judged(method, weights, InputType::F32);
            let got = CpuBackend::new().scan(method, &judged.problem).expect("runs");
            assert_eq!(judged.case(&got).verdict, Verdict::Pass);
            for (name, want) in judged.want.iter() {
                for (i, exact) in want.values.iter().enumerate() {
                    let bound = judged.budget.tensors[name].bound[i / want.width];
                    let case =
                        judged.with(&got, name, judged.position(name, i), (exact + 1.5 * bound) as f32);
                    assert_eq!(case.verdict, Verdict::Fail, "{name} {i}");
                    let worst = case.tensors[name].worst.as_ref().expect("compared");
                    assert_eq!(worst.index, judged.problem.judged_index(want, i), "{name}");
                    assert!((1.0..3.0).contains(&worst.ratio), "{name} {i}: {}", worst.ratio);
                }
            }
        },
    );
}

#[test]
fn a_nan_is_seen_wherever_it_is() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let judged = judged(Method::Zoh, weights, InputType::F32);
        let got = CpuBackend::new().scan(Method::Zoh, &judged.problem).expect("runs");
        for name in TensorName::SCANNED {
            for at in 0..got[name].values.len() {
                let case = judged.with(&got, name, at, f32::NAN);
                assert_eq!(case.verdict, Verdict::Fail, "{name} {at}");
                let index = got[name].index(at);
                let place = format!("{name}{index:?}");
                assert!(case.reason.contains(&place), "{place} is not in: {}", case.reason);
            }
        }
        let mut several = got.clone();
        several[TensorName::Out].values[6..9].fill(f32::NAN);
        let reason = judged.case(&several).reason;
        assert_eq!(reason, "3 values are NaN, over all channels, the first of them out[0, 1, 0]");
    });
}

/// Half of the last place and what f32 costs, no more: an output is rounded to nearest, not cut off.
#[test]
fn a_16_bit_output_is_rounded_to_nearest() {
    each(
        crossed([InputType::F16, InputType::Bf16], [Weights::Real, Weights::Complex]),
        |(input, weights): (InputType, Weights)| {
            let judged = judged(Method::Foh, weights, input);
            let got = CpuBackend::new().scan(Method::Foh, &judged.problem).expect("runs");
            assert_eq!(judged.case(&got).verdict, Verdict::Pass);
            let (format, bounds) = (Format::for_input(input), &judged.budget.tensors[TensorName::Out]);
            let mut planted = 0;
            for (i, &exact) in judged.want[TensorName::Out].values.iter().enumerate() {
                let ulp = format.ulp(exact);
                // Where it does not cancel, and no binade ends.
                let rounding = bounds.bound[i] - bounds.store[i];
                if rounding > 0.004 * ulp || format.ulp(exact.abs() + rounding) != ulp {
                    continue;
                }
                let at = judged.position(TensorName::Out, i);
                for (distance, verdict) in [(0.495, Verdict::Pass), (0.505, Verdict::Fail)] {
                    for side in [-1.0, 1.0] {
                        let case =
                            judged.with(&got, TensorName::Out, at, (exact + side * distance * ulp) as f32);
                        assert_eq!(case.verdict, verdict, "{distance} of the last place at {i}");
                    }
                }
                planted += 1;
            }
            assert!(planted >= 6, "{planted}");
        },
    );
}
