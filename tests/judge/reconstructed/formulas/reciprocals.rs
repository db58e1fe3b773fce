//! What divides, by a wrong reciprocal, at once or in a step of a recurrence.

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{OfZ, RealOfZ, Steps, b_bar, both, method_of, step_by_step, steps_text, term, usual, with_phi};
use crate::reconstructed::{List, Wrong, list};

/// Where 1/w is conj(w)/|w|²: what may stand above.
const ABOVE: [(&str, OfZ); 4] =
    [("conj(w)", |w| w.conj()), ("w", |w| w), ("Re w", |w| w.re.into()), ("1", |_| C::ONE)];

/// What may stand below.
const BELOW: [(&str, RealOfZ); 8] = [
    ("|w|²", |w| w.re * w.re + w.im * w.im),
    ("Re(w²)", |w| (w * w).re),
    ("|w|", |w| w.re.hypot(w.im)),
    ("Re(w)²", |w| w.re.powi(2)),
    ("Im(w)²", |w| w.im.powi(2)),
    ("(Re w + Im w)²", |w| (w.re + w.im).powi(2)),
    ("(Re w + Im w)", |w| w.re + w.im),
    ("1", |_| 1.0),
];

/// Which of both.
type Slip = (usize, usize);

fn slip((above, below): Slip, w: C) -> C {
    (ABOVE[above].1)(w) / (BELOW[below].1)(w)
}

fn slip_text((above, below): Slip) -> String {
    format!("{}/{}", ABOVE[above].0, BELOW[below].0)
}

/// All but the right one.
fn slips() -> impl Iterator<Item = Slip> {
    (1..32).map(|i| (i % 4, i / 4))
}

/// Bilinear divides by 1 − z/2: in both coefficients by the same reciprocal, which is wrong.
fn of_a_pole_with_a_wrong_reciprocal() -> Vec<List> {
    let wrong = slips().map(|at| {
        let what = format!("{} for 1/w, w = 1 − z/2", slip_text(at));
        let inverse = move |z: C| slip(at, 1.0 - z / 2.0);
        both(what, move |z| (1.0 + z / 2.0) * inverse(z), move |delta, z| inverse(z) * delta)
    });
    vec![list("reciprocals", (Method::Bilinear, Weights::Complex), wrong)]
}

/// Closed forms divide by z and by z². Where z = 0 both are right.
fn of_closed_forms_with_a_wrong_reciprocal() -> Vec<List> {
    let cases: [(&str, usize, [Slip; 3]); 2] =
        [("by z", 1, [(1, 0), (3, 2), (2, 3)]), ("by its square", 2, [(2, 1), (0, 2), (3, 5)])];
    cases
        .into_iter()
        .map(|(_, k, slips)| {
            let wrong = slips.map(|at| {
                let w = if k == 1 { "z" } else { "z²" };
                let what = format!("{} for 1/w, w = {w}", slip_text(at));
                b_bar(what, move |delta, z| {
                    let [p0, p1, p2, _] = phi(z);
                    match (z == C::ZERO, k) {
                        (true, 1) => p1 * delta + p2 * (0.5 * delta * delta),
                        (true, _) => p2 * delta * delta,
                        (_, 1) => (p0 - 1.0) * slip(at, z) * delta + p2 * (0.5 * delta * delta),
                        _ => (p0 - 1.0 - z) * slip(at, z * z) * delta * delta,
                    }
                })
            });
            let method = if k == 1 { Method::Poly } else { Method::Foh };
            list("reciprocals", (method, Weights::Complex), wrong)
        })
        .collect()
}

/// What else may be divided, and by what else.
fn of_other_quotients_with_a_wrong_reciprocal() -> Vec<List> {
    const ALL: &[(&str, OfZ, &str, OfZ, Slip)] = &[
        ("1", |_| C::ONE, "1 − z", |z| 1.0 - z, (1, 2)),
        ("1", |_| C::ONE, "1 − z", |z| 1.0 - z, (0, 1)),
        ("1", |_| C::ONE, "1 + z/2", |z| 1.0 + z / 2.0, (3, 6)),
        ("z", |z| z, "1 + z/2", |z| 1.0 + z / 2.0, (3, 0)),
        ("exp(z)", |z| z.exp(), "1 − z", |z| 1.0 - z, (0, 5)),
        ("(exp(z) − z/2)", |z| z.exp() - z / 2.0, "1 − z/2", |z| 1.0 - z / 2.0, (2, 0)),
    ];
    let wrong = ALL.iter().map(|&(dividend, above, w, below, at)| {
        let what = format!("B̄ = Δ·{dividend}·{}, w = {w}", slip_text(at));
        term(what, 1, move |z| above(z) * slip(at, below(z)))
    });
    vec![list("reciprocals", (Method::Zoh, Weights::Complex), wrong)]
}

/// Reciprocals that have no value on an axis can be the formula of no more than a place beside it.
fn of_wrong_reciprocals_beside_an_axis() -> Vec<List> {
    [1, 2]
        .into_iter()
        .map(|k: usize| {
            let wrong = [("Re z < −1", (0, 3)), ("|Im z| > 1", (3, 4))].map(|(place, at)| {
                let what =
                    format!("{} for 1/z in the last step where {place}", slip_text(at).replace('w', "z"));
                with_phi(what, (k, 1.0), move |z| {
                    let [p0, p1, p2, _] = phi(z);
                    let is_there = if place == "Re z < −1" { z.re < -1.0 } else { z.im.abs() > 1.0 };
                    match (is_there, k) {
                        (true, 1) => (p0 - 1.0) * slip(at, z),
                        (true, _) => (p1 - 1.0) * slip(at, z),
                        (_, 1) => p1,
                        _ => p2,
                    }
                })
            });
            list("beside-an-axis", (method_of(k), Weights::Complex), wrong)
        })
        .collect()
}

/// Where a series takes over below a limit, the closed form beyond it is used as near to 0 as that.
fn of_wrong_reciprocals_beyond_a_limit() -> Vec<List> {
    let wrong = [0.24, 0.2, 0.3].map(|limit: f64| {
        let what = format!("1/|z| for 1/z where |z| > {limit}");
        with_phi(what, (2, 1.0), move |z| {
            let [p0, _, p2, _] = phi(z);
            if z.norm() > limit { ((p0 - 1.0) / z.norm() - 1.0) / z.norm() } else { p2 }
        })
    });
    vec![list("beyond-a-limit", (method_of(2), Weights::Real), wrong)]
}

const STEPS: [Steps; 7] = [(1, 1, 0), (2, 1, 0), (2, 2, 0), (3, 1, 0), (3, 2, 0), (3, 3, 0), (3, 1, 2)];

/// Real numbers have one wrong reciprocal. An exponential of 0 is what underflows.
fn of_steps_with_moduli_and_without_an_exponential() -> Vec<List> {
    [1, 2, 3]
        .into_iter()
        .map(|k: usize| {
            let exponentials: [(&str, OfZ); 2] = [("exp(z)", |z| z.exp()), ("0", |_| C::ZERO)];
            let reciprocals: [(&str, OfZ); 2] =
                [("1/z", |z| 1.0 / z), ("1/|z|", |z| (1.0 / z.norm()).into())];
            let mut wrong = Vec::new();
            for (exponential, of_exponential) in exponentials {
                for (reciprocal, of_reciprocal) in reciprocals {
                    for at in STEPS.into_iter().filter(|at| at.0 == k) {
                        // A right reciprocal is the same in all steps, and with a right exponential nothing is wrong.
                        let is_right = reciprocal == "1/z" && (exponential == "exp(z)" || at != (k, 1, 0));
                        if is_right || exponential == "0" && at.1 > 1 {
                            continue;
                        }
                        let what = format!("{exponential}, {reciprocal}: {}", steps_text(at));
                        let of_z = move |z: C| step_by_step(at, of_exponential(z), of_reciprocal(z), z);
                        wrong.push(with_phi(what, (k, usual(k)), of_z));
                    }
                }
            }
            list("step-by-step", (method_of(k), Weights::Real), wrong)
        })
        .collect()
}

const SLIPPED: [(Steps, Slip); 6] = [
    ((2, 1, 0), (1, 0)),
    ((2, 1, 0), (2, 5)),
    ((2, 2, 0), (3, 0)),
    ((3, 2, 0), (3, 6)),
    ((3, 3, 0), (1, 1)),
    ((3, 1, 2), (1, 0)),
];

/// 0.03 is none that is looked for, and the smallest ones change next to nothing.
const ADDED: [(Steps, f64); 7] = [
    ((1, 1, 0), 0.5),
    ((1, 1, 0), 0.03),
    ((1, 1, 0), 1e-6),
    ((2, 1, 0), 0.1),
    ((2, 2, 0), 1e-5),
    ((3, 1, 0), 0.01),
    ((3, 1, 2), 0.005),
];

/// Complex numbers have all wrong reciprocals, and |z|² with something added to it.
fn of_steps_with_wrong_complex_reciprocals() -> Vec<List> {
    [1, 2, 3]
        .into_iter()
        .map(|k: usize| {
            let of_order = |at: &Steps| at.0 == k;
            let slipped = SLIPPED.into_iter().filter(|(at, _)| of_order(at)).map(|(at, slipped)| {
                let what = format!("{} for 1/z: {}", slip_text(slipped).replace('w', "z"), steps_text(at));
                with_phi(what, (k, usual(k)), move |z| step_by_step(at, z.exp(), slip(slipped, z), z))
            });
            let added = ADDED.into_iter().filter(|(at, _)| of_order(at)).map(|(at, epsilon)| {
                let what = format!("conj(z)/(|z|² + {epsilon}) for 1/z: {}", steps_text(at));
                let inverse = move |z: C| z.conj() / (z.norm_sqr() + epsilon);
                with_phi(what, (k, usual(k)), move |z| step_by_step(at, z.exp(), inverse(z), z))
            });
            let nothing = [((2, 1, 0), (1, 0)), ((3, 2, 0), (0, 2))];
            let nothing = nothing.into_iter().filter(|(at, _)| of_order(at)).map(|(at, slipped)| {
                let reciprocal = slip_text(slipped).replace('w', "z");
                let what = format!("0 for exp(z), {reciprocal} for 1/z: {}", steps_text(at));
                with_phi(what, (k, usual(k)), move |z| step_by_step(at, C::ZERO, slip(slipped, z), z))
            });
            let wrong: Vec<Wrong> = slipped.chain(added).chain(nothing).collect();
            list("step-by-step", (method_of(k), Weights::Complex), wrong)
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 7] = [
        of_a_pole_with_a_wrong_reciprocal,
        of_closed_forms_with_a_wrong_reciprocal,
        of_other_quotients_with_a_wrong_reciprocal,
        of_wrong_reciprocals_beside_an_axis,
        of_wrong_reciprocals_beyond_a_limit,
        of_steps_with_moduli_and_without_an_exponential,
        of_steps_with_wrong_complex_reciprocals,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}
