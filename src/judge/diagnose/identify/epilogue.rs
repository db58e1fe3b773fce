//! What is done with the readout R = Σ C x: outputs are linear in it and in the skip, c·R·g + s·D·u·g for a gate g, so that
//! both factors are found by least squares for each kind of gate, and then recognized.

use super::changes::{Change, Part};
use super::looks::{Around, Look};
use super::{Case, numbers};
use crate::judge::faults::around::{GateFunction, Gated, UUse};
use crate::judge::faults::variant::Variant;
use crate::problem::Problem;
use crate::promise::allowance::U;
use crate::tensor::TensorName;

/// Factors on the readout and on the skip, and the gate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epilogue {
    readout: f64,
    skip: f64,
    of_skip: OfSkip,
    gate: GateFunction,
    gated: Gated,
}

impl Epilogue {
    const RIGHT: Epilogue = Epilogue {
        readout: 1.0,
        skip: 1.0,
        of_skip: OfSkip::Right,
        gate: GateFunction::Silu,
        gated: Gated::All,
    };
}

/// What the skip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfSkip {
    /// D u
    Right,
    /// u
    WithoutD,
    /// D Δ u
    TimesDelta,
}

/// Gates, their names, and what they are.
pub const GATES: &[(GateFunction, &str, &str)] = &[
    (GateFunction::One, "gate-missing", "the gate is missing"),
    (GateFunction::Linear, "gate-linear", "the gate is z, without silu"),
    (GateFunction::Sigmoid, "gate-sigmoid-only", "the gate is sigmoid(z), without its factor z"),
    (GateFunction::Gelu, "gate-gelu", "the gate is gelu(z)"),
    (GateFunction::GeluByTanh, "gate-gelu-by-tanh", "the gate is gelu(z) by its formula with tanh"),
    (GateFunction::Swish(1.702), "gate-quick-gelu", "the gate is z·sigmoid(1.702 z)"),
    (GateFunction::Relu, "gate-relu", "the gate is relu(z)"),
    (GateFunction::Tanh, "gate-tanh", "the gate is tanh(z)"),
    (GateFunction::Softplus, "gate-softplus", "the gate is softplus(z)"),
    (GateFunction::SiluSquared, "gate-doubled", "the gate is applied twice"),
    (GateFunction::OfOutput, "gate-exchanged", "silu is taken of y and multiplied by z: silu(y)·z"),
    (GateFunction::OfU, "gate-of-u", "the gate is silu(u), of the wrong tensor"),
    (GateFunction::Negated, "gate-negated", "the gate is silu(−z)"),
    (GateFunction::Swish(-1.0), "gate-sigmoid-negated", "the gate is z·sigmoid(−z)"),
    (GateFunction::PlusOne, "gate-plus-1", "the gate is 1 + silu(z)"),
    (GateFunction::HardSwish, "gate-hard-swish", "the gate is hardswish(z)"),
    (GateFunction::Elu, "gate-elu", "the gate is elu(z)"),
    (GateFunction::Exp, "gate-exp", "the gate is exp(z)"),
];

/// The specified gate, and those of [`GATES`] that are tried beside two other changes.
const COMMON: usize = 5;

/// Elements that two factors are tried on first.
const FEW: usize = 6;

/// Twice the roundings of tf32: 2⁻⁹.
const NEXT_TO_1: f64 = 1.0 / 512.0;

/// One element: what was recorded, the readout with its bound, and what is around it.
struct Element {
    got: f64,
    readout: f64,
    bound: f64,
    around: Around,
}

/// The readout of a variant alone.
fn bare(variant: &Variant) -> Variant {
    Variant { gate: GateFunction::One, skip: 0.0, readout_factor: 1.0, ..*variant }
}

/// The epilogues with which a variant is what was recorded at these looks: those with the fewest changes. `common` are the
/// likeliest ones.
pub fn fit(case: &Case, looks: &[Look], variant: &Variant, common: bool) -> Vec<Vec<Change>> {
    // Where nothing fits a few elements nothing fits them all.
    if let [first, _, ..] = looks
        && first.len > 1
        && fit(case, &[Look { len: first.len.min(FEW), ..*first }], variant, common).is_empty()
    {
        return Vec::new();
    }
    let elements: Vec<Element> = looks.iter().flat_map(|look| elements(case, look, variant)).collect();
    let kinds: Vec<(GateFunction, Gated)> = match case.problem.z {
        None => vec![(GateFunction::One, Gated::All)],
        Some(_) => {
            let functions =
                std::iter::once(GateFunction::Silu).chain(GATES.iter().map(|(function, ..)| *function));
            let placed = |function| [Gated::All, Gated::Readout, Gated::Skip].map(|gated| (function, gated));
            let all = functions
                .flat_map(placed)
                .filter(|(f, gated)| *gated == Gated::All || *f != GateFunction::One);
            if common {
                all.filter(|(_, gated)| *gated == Gated::All).take(COMMON).collect()
            } else {
                all.collect()
            }
        }
    };
    let has_skip = case.problem.d.is_some();
    let is_alone = *variant == Variant::specified(case.form);
    let mut found: Vec<Epilogue> = Vec::new();
    for (gate, gated) in kinds {
        if !has_skip && gated != Gated::All {
            continue;
        }
        for of_skip in [OfSkip::Right, OfSkip::WithoutD, OfSkip::TimesDelta] {
            if of_skip == OfSkip::Right || has_skip && !common {
                let start = Epilogue { of_skip, gate, gated, ..Epilogue::RIGHT };
                found.extend(factors(case, &elements, start, is_alone));
            }
        }
    }
    let changes_of = |epilogue: &Epilogue| changes(epilogue, case.problem);
    let fewest = found.iter().map(|epilogue| changes_of(epilogue).len()).min();
    let mut all: Vec<Vec<Change>> = found.iter().map(changes_of).collect();
    all.retain(|changes| Some(changes.len()) == fewest);
    all.truncate(4);
    all
}

fn elements(case: &Case, look: &Look, variant: &Variant) -> Vec<Element> {
    let row = look.outputs(case, &bare(variant));
    let around = look.around(case, variant);
    let values = row.values.iter().zip(&row.bound).zip(around);
    let element = |(&got, ((&readout, &bound), around))| Element { got, readout, bound, around };
    let all = look.got(case).iter().zip(values).map(element);
    all.filter(|element| element.got.is_finite()).collect()
}

/// The factors of the readout and of the skip where they leave no more than rounding. Beside another change they have to be
/// simple: a factor of many digits alone says as much with one change less.
fn factors(case: &Case, elements: &[Element], start: Epilogue, is_alone: bool) -> Option<Epilogue> {
    // What each factor multiplies, and what may be off.
    let columns = |e: &Element, value: f64| {
        let Around { z, u, u_of_skip, delta, d } = e.around;
        let skip = d.map_or(0.0, |d| match start.of_skip {
            OfSkip::Right => d * u_of_skip,
            OfSkip::WithoutD => u_of_skip,
            OfSkip::TimesDelta => d * u * delta,
        });
        let gate = z.map_or(1.0, |z| start.gate.of(z, u, value));
        let of = |is_gated: bool| if is_gated { gate } else { 1.0 };
        let readout = e.readout * of(start.gated != Gated::Skip);
        let skip = skip * of(start.gated != Gated::Readout);
        let tolerance = e.bound * of(start.gated != Gated::Skip).abs()
            + 16.0 * U * (readout.abs() + skip.abs())
            + Look::rounding(case, e.got)
            + f64::MIN_POSITIVE;
        (readout, skip, tolerance)
    };
    let fits = |c: f64, s: f64| {
        elements.iter().all(|e| {
            let value = if start.gate == GateFunction::OfOutput {
                let (r, k, _) = columns(&Element { around: Around { z: None, ..e.around }, ..*e }, 0.0);
                c * r + s * k
            } else {
                0.0
            };
            let (readout, skip, tolerance) = columns(e, value);
            (e.got - c * readout - s * skip).abs() <= 1.5 * c.abs().max(1.0) * tolerance
        })
    };
    if fits(1.0, 1.0) {
        return Some(start);
    }
    if start.gate == GateFunction::OfOutput {
        return None;
    }
    // Normal equations of two unknowns, refined once.
    let mut sums = [0.0; 3];
    let rows: Vec<(f64, f64, f64)> = elements
        .iter()
        .map(|e| {
            let (r, k, tolerance) = columns(e, 0.0);
            (r / tolerance, k / tolerance, e.got / tolerance)
        })
        .collect();
    for (r, k, _) in &rows {
        sums[0] += r * r;
        sums[1] += r * k;
        sums[2] += k * k;
    }
    let (mut c, mut s) = (0.0, 0.0);
    let determinant = sums[0] * sums[2] - sums[1] * sums[1];
    for _ in 0..3 {
        let (mut right_r, mut right_k) = (0.0, 0.0);
        for (r, k, y) in &rows {
            let left = y - c * r - s * k;
            (right_r, right_k) = (right_r + r * left, right_k + k * left);
        }
        if sums[2] == 0.0 || determinant <= 1e-9 * sums[0] * sums[2] {
            c += right_r / sums[0];
        } else {
            c += (right_r * sums[2] - right_k * sums[1]) / determinant;
            s += (right_k * sums[0] - right_r * sums[1]) / determinant;
        }
    }
    if sums[2] == 0.0 {
        s = 1.0;
    }
    if !fits(c, s) || c == 0.0 {
        return None;
    }
    let states = case.problem.shape.dstate;
    let known = |found: f64| {
        let mut known: Vec<f64> = [0.0, 1.0].into_iter().filter(|x| (x - found).abs() < 0.02).collect();
        let near = numbers::near(found, 0.01, states).into_iter().map(|known| known.value);
        match is_alone {
            true => known.extend(near.chain(numbers::next_to_1(found).filter(|x| (x - found).abs() < 0.01))),
            false => known.extend(near.filter(|value| numbers::is_simple(*value, states))),
        }
        known
    };
    let (of_readout, of_skip) = (known(c), known(s));
    let pairs = of_readout.iter().flat_map(|c| of_skip.iter().map(move |s| (*c, *s)));
    let typed = pairs.clone().find(|&(c, s)| c != 0.0 && fits(c, s));
    let (c, s) = if is_alone { typed.unwrap_or((c, s)) } else { typed? };
    // A factor next to 1 is what lost digits look like, which are named elsewhere: but for one that is 1 and a number of one digit.
    let is_typed =
        |factor: f64| numbers::next_to_1(factor).is_some_and(|typed| (typed - factor).abs() <= 1e-12);
    let is_next_to_1 =
        |factor: f64| factor.abs() != 1.0 && (factor.abs() - 1.0).abs() < NEXT_TO_1 && !is_typed(factor);
    (!is_next_to_1(c) && !is_next_to_1(s)).then_some(Epilogue { readout: c, skip: s, ..start })
}

/// An epilogue as changes to the specified one.
fn changes(epilogue: &Epilogue, problem: &Problem) -> Vec<Change> {
    let (gateless, has_skip) = (problem.z.is_none(), problem.d.is_some());
    let mut all = Vec::new();
    let Epilogue { readout, skip, of_skip, gate, gated } = *epilogue;
    if gate != GateFunction::Silu && !gateless {
        let known = GATES.iter().find(|(function, ..)| *function == gate);
        let (name, what) =
            known.map_or(("gate-other", "the gate is another function"), |(_, name, what)| (name, what));
        all.push(Change::new(Part::Epilogue, name, what, move |v: &mut Variant| v.gate = gate));
    }
    if gated == Gated::Readout {
        let what = "the skip is added after the gate";
        all.push(Change::new(Part::Epilogue, "gate-before-skip", what, move |v: &mut Variant| {
            v.gated = gated
        }));
    } else if gated == Gated::Skip {
        let what = "the gate multiplies the skip alone";
        all.push(Change::new(Part::Epilogue, "gate-on-skip-only", what, move |v: &mut Variant| {
            v.gated = gated
        }));
    }
    if has_skip && of_skip == OfSkip::TimesDelta {
        let what = "u is multiplied by Δ once more in the skip alone";
        all.push(Change::new(Part::Epilogue, "u-times-delta-in-skip", what, |v: &mut Variant| {
            v.u_use[1] = UUse::TimesDelta;
        }));
    }
    if has_skip && of_skip == OfSkip::WithoutD {
        let what = "the skip is u, without D";
        all.push(Change::new(Part::Epilogue, "skip-without-d", what, |v: &mut Variant| v.skip_has_d = false));
    }
    let text = |value: f64| {
        numbers::near(value, 1e-9, problem.shape.dstate)
            .first()
            .map_or_else(String::new, |known| known.text.clone())
    };
    if has_skip && skip != 1.0 {
        let (name, what) = match skip {
            0.0 => ("skip-missing", "the skip D·u is missing".to_owned()),
            2.0 => ("skip-doubled", "the skip D·u is added twice".to_owned()),
            -1.0 => ("skip-negated", "the skip D·u is subtracted".to_owned()),
            _ => ("skip-scaled", format!("the skip D·u is multiplied by {}", text(skip))),
        };
        all.push(Change::new(Part::Epilogue, name, what, move |v: &mut Variant| v.skip = skip));
    }
    if readout != 1.0 {
        let what = format!(
            "what the states contribute is multiplied by {}: a factor on B̄, on C or on their sum",
            text(readout)
        );
        let name = if readout == -1.0 { "readout-negated" } else { "readout-scaled" };
        all.push(Change::new(Part::Readout, name, what, move |v: &mut Variant| v.readout_factor *= readout));
    }
    all
}

/// Each epilogue that differs in one thing and has no number in it.
pub fn alone(problem: &Problem) -> Vec<Change> {
    let (gateless, has_skip) = (problem.z.is_none(), problem.d.is_some());
    let mut all = Vec::new();
    if !gateless {
        let gates = GATES.iter().filter(|(gate, ..)| *gate != GateFunction::OfOutput);
        all.extend(gates.map(|(gate, ..)| Epilogue { gate: *gate, ..Epilogue::RIGHT }));
    }
    if has_skip {
        all.extend([0.0, 2.0].map(|skip| Epilogue { skip, ..Epilogue::RIGHT }));
        all.push(Epilogue { of_skip: OfSkip::WithoutD, ..Epilogue::RIGHT });
        all.extend((!gateless).then_some(Epilogue { gated: Gated::Readout, ..Epilogue::RIGHT }));
    }
    all.iter().flat_map(|epilogue| changes(epilogue, problem)).collect()
}

/// What differs in one thing, with the likelier factors.
pub fn beside_others(problem: &Problem) -> Vec<Change> {
    let factors = [2.0, 0.5, -1.0].map(|readout| Epilogue { readout, ..Epilogue::RIGHT });
    let of_factors = factors.iter().flat_map(|epilogue| changes(epilogue, problem));
    alone(problem).into_iter().chain(of_factors).collect()
}

/// The same factor in B̄ in place of the readout: last_state alone tells them apart, where there is no initial state.
pub fn in_b_bar(case: &Case, changes: &[Change], variant: &Variant) -> Option<(Vec<Change>, Variant)> {
    let factor = variant.readout_factor;
    let at = changes
        .iter()
        .position(|change| change.part == Part::Readout && change.name.starts_with("readout-"))?;
    case.got.get(TensorName::LastState)?;
    let mut changes = changes.to_vec();
    let known = numbers::near(factor, 1e-9, case.problem.shape.dstate);
    let text = known.first().map_or("", |known| known.text.as_str());
    let what = format!("what enters the states is multiplied by {text}: a factor on B̄, B or u");
    let name = if factor == -1.0 { "input-negated" } else { "input-scaled" };
    changes[at] = Change::new(Part::Readout, name, what, move |v: &mut Variant| v.input_factor *= factor);
    Some((changes, Variant { readout_factor: 1.0, input_factor: variant.input_factor * factor, ..*variant }))
}
