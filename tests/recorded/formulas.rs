//! Promise: of a quotient or a closed form that is wrong in one place, that place is named with its numbers.
//!
//! The scan here is written anew, in f64 and plainly, and shares nothing with the fault models.

use holdfast::problem::regime::{self, Recipe, StateMatrix};
use holdfast::problem::{Operand, Problem, Shape};

use crate::searched::{Asked, Said, said};
use crate::written::{File, REAL, VARIABLE, drawn};

const LEN: usize = 40;

/// Of the steps, a position and A.
type Coefficient = fn(&[f64], usize, f64) -> f64;

/// Ā, B̄/B, and the position whose state is returned as the last one.
struct Kernel {
    method: &'static str,
    a_bar: Coefficient,
    b_bar: Coefficient,
    last: usize,
}

const BILINEAR: Kernel = Kernel {
    method: "bilinear",
    a_bar: |steps, l, a| (1.0 + steps[l] * a / 2.0) / (1.0 - steps[l] * a / 2.0),
    b_bar: |steps, l, a| steps[l] / (1.0 - steps[l] * a / 2.0),
    last: LEN - 1,
};
const HIGH_ORDER: Kernel = Kernel {
    method: "highorder",
    a_bar: |steps, l, a| (steps[l] * a).exp(),
    b_bar: |steps, l, a| closed(steps[l], a, [1.0; 3], [1.0, 1.0, 0.5]),
    last: LEN - 1,
};

/// highorder's B̄/B with a factor on the exponential of each φₖ, and 1/i! of φ₃'s sum.
fn closed(delta: f64, a: f64, of_exponential: [f64; 3], of_sum: [f64; 3]) -> f64 {
    let z = delta * a;
    let [one, two, three] = of_exponential.map(|factor| factor * z.exp());
    let sum = of_sum[0] + of_sum[1] * z + of_sum[2] * z * z;
    let phis = [(one - 1.0) / z, (two - 1.0 - z) / (z * z), (three - sum) / (z * z * z)];
    delta * (phis[0] + delta * (phis[1] + delta * phis[2] / 2.0))
}

fn problem() -> Problem {
    let shape = Shape { batch: 2, dim: 6, dstate: 4, seqlen: LEN, groups: 2 };
    let recipe = Recipe { a: StateMatrix::Stable(0.3, 3.0), ..regime::EVERYTHING };
    drawn(recipe, shape, REAL, VARIABLE, (7, "formulas"))
}

/// What a kernel computes of the inputs.
fn run(kernel: &Kernel, problem: &Problem) -> (Vec<f32>, Vec<f32>) {
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let (mut out, mut last) = (Vec::new(), Vec::new());
    let of_channel = |values: &Option<Vec<f32>>, d: usize| values.as_ref().map_or(0.0, |v| f64::from(v[d]));
    for (b, d) in (0..batch).flat_map(|b| (0..dim).map(move |d| (b, d))) {
        let at = |l: usize| problem.sequence_index(b, d, l);
        let bias = of_channel(&problem.delta_bias, d);
        let step = |l| (f64::from(problem.delta[at(l)]) + bias).exp().ln_1p();
        let steps: Vec<f64> = (0..LEN).map(step).collect();
        let mut y = vec![0.0; LEN];
        for n in 0..dstate {
            let a = f64::from(problem.a[problem.weight_index(d, n)]);
            let operand =
                |values: &[f32], l| f64::from(values[problem.operand_index(Operand::Variable, (b, d), n, l)]);
            let mut x = 0.0;
            for (l, y) in y.iter_mut().enumerate() {
                let input = operand(&problem.b, l) * f64::from(problem.u[at(l)]);
                x = (kernel.a_bar)(&steps, l, a) * x + (kernel.b_bar)(&steps, l, a) * input;
                *y += operand(&problem.c, l) * x;
                if l == kernel.last {
                    last.push(x as f32);
                }
            }
        }
        let gate = |z: f64| z / (1.0 + (-z).exp());
        let skip = of_channel(&problem.d, d);
        out.extend((0..LEN).map(|l| {
            let (u, z) =
                (f64::from(problem.u[at(l)]), problem.z.as_ref().map_or(0.0, |z| f64::from(z[at(l)])));
            ((y[l] + skip * u) * gate(z)) as f32
        }));
    }
    (out, last)
}

/// What is said of a kernel, where `name` is expected.
fn of(kernel: &Kernel, asked: Asked, name: &str) -> Said {
    let problem = problem();
    let (out, last) = run(kernel, &problem);
    said(&File::of_output(&problem, kernel.method, &out, Some(&last)).recording(), asked.of(name))
}

#[test]
fn the_plain_kernels_are_sound() {
    of(&BILINEAR, Asked::FOR_ALL, "").is_right("bilinear");
    of(&HIGH_ORDER, Asked::FOR_ALL, "").is_right("highorder");
}

/// Newton's iteration from 1, twice.
fn newton(share: f64) -> f64 {
    let once = 1.0 + share;
    once * (2.0 - (1.0 - share) * once)
}

const WRONG: &[(&str, &str, Kernel)] = table! {
    ("inverse-as-series", "cut after 4 terms", Kernel { b_bar: |steps, l, a| steps[l] * newton(steps[l] * a / 2.0), ..BILINEAR }),
    ("inverse-as-series", "cut after 2 terms", Kernel { a_bar: |steps, l, a| (1.0 + steps[l] * a / 2.0) * (1.0 - steps[l] * a / 2.0), b_bar: |steps, l, a| steps[l] * (1.0 - steps[l] * a / 2.0), ..BILINEAR }),
    ("inverse-late-in-b-bar", "[max(l−1, 0)]", Kernel { b_bar: |steps, l, a| steps[l] / (1.0 - steps[l.saturating_sub(1)] * a / 2.0), ..BILINEAR }),
    ("inverse-early-in-a-bar", "[l+1]", Kernel { a_bar: |steps, l, a| (1.0 + steps[l] * a / 2.0) / (1.0 - steps[(l + 1).min(LEN - 1)] * a / 2.0), ..BILINEAR }),
    ("phi-closed-form", "exp(Δ_l A) is multiplied by 2", Kernel { b_bar: |steps, l, a| closed(steps[l], a, [1.0, 2.0, 1.0], [1.0, 1.0, 0.5]), ..HIGH_ORDER }),
    ("phi-closed-form", "is multiplied by ½", Kernel { b_bar: |steps, l, a| closed(steps[l], a, [1.0, 1.0, 1.0], [1.0, 0.5, 0.5]), ..HIGH_ORDER }),
    ("last-state-early", "x_{l=31}", Kernel { last: 31, ..HIGH_ORDER }),
    ("last-state-early", "x_{l=20}", Kernel { last: 20, ..HIGH_ORDER }),
};

tables! {
    what_is_wrong_in_one_place_is_named: WRONG, |(name, says, kernel), asked| {
        of(kernel, asked, name).is_first(name, says);
    };
}
