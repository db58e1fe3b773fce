//! Changes with one free number, which is found: where what a variant computes is nearest to what was recorded.

pub mod clamp;

use super::changes::{Change, Part};
use super::looks::Look;
use super::{Case, numbers};
use crate::formula::{Form, Function, Transition};
use crate::judge::faults::around::{Activation, Carry, Chunks, GateFunction, Limited, Raised};
use crate::judge::faults::complex::Division;
use crate::judge::faults::inputs::Read;
use crate::judge::faults::variant::{Clamp, Variant};
use crate::problem::Weights;
use crate::sorted;
use crate::tensor::TensorName;

/// A change with a number in it.
pub struct Family {
    pub name: &'static str,
    part: Part,
    what: fn(&str) -> String,
    apply: fn(&mut Variant, f64),
    /// Where its size is looked for.
    range: (f64, f64),
    /// −1 where negative numbers are tried.
    sign: f64,
}

impl Family {
    /// Whether it changes only what is beyond its number.
    pub fn is_limit(&self) -> bool {
        self.part == Part::Clamp
    }

    /// Its number at the points of a finer grid.
    pub fn grid(&self) -> Vec<f64> {
        let (from, to) = (self.range.0.ln(), self.range.1.ln());
        let at = |i: usize| self.sign * (from + (to - from) * i as f64 / (FINE - 1) as f64).exp();
        (0..FINE).map(at).collect()
    }

    /// The logarithms of the points that are tried first, ascending. What a factor next to 1 leaves is small already, and is
    /// only much smaller at a point that is nearer to it than 1 is: around 1 they come closer and closer.
    fn logarithms(&self) -> Vec<f64> {
        let (from, to) = (self.range.0.ln(), self.range.1.ln());
        let step = (to - from) / (GRID - 1) as f64;
        let mut all: Vec<f64> = (0..GRID).map(|i| from + step * i as f64).collect();
        if !self.is_limit() && from < -step && step < to {
            let mut near = step;
            while near > NEAREST {
                all.extend([-near, near]);
                near *= CLOSER;
            }
            all.sort_by(f64::total_cmp);
        }
        all
    }

    pub fn with(&self, variant: &Variant, number: f64) -> Variant {
        let mut changed = *variant;
        (self.apply)(&mut changed, number);
        changed
    }

    pub fn between(&self, one: f64, other: f64) -> Family {
        let (one, other) = (one.abs(), other.abs());
        Family { range: (one.min(other), one.max(other)), ..*self }
    }

    pub fn part(&self) -> Part {
        self.part
    }

    pub fn is_of_carry(&self) -> bool {
        self.part == Part::Carry
    }

    /// Whether its number multiplies Δ or A, as is likely beside another fault, too.
    pub fn is_scale(&self) -> bool {
        matches!(self.name, "delta-scaled" | "delta-scaled-before-softplus" | "a-scaled")
    }
}

/// Where a number that is added to another is looked for.
const SMALL: (f64, f64) = (1e-6, 1.0);

/// How many ranges of six decades a number is looked for in that keeps a product away from 0: as far as f32 goes.
const RAISED: i32 = 7;

/// The least limit that is looked for, beside what is largest.
const LEAST_LIMIT: f64 = 0.03;

/// Points of the first grid, and steps of each refinement.
const GRID: usize = 32;
/// How much closer to 1 each further point is, and how close the last one.
const CLOSER: f64 = 0.4;
const NEAREST: f64 = 1e-3;
/// Points of the grid beside another change.
const FINE: usize = 64;
const REFINED: usize = 50;
/// What the best point of the grid may leave of the distance, squared, that is there without the change.
const LEFT: f64 = 0.25;
/// What the first steps of a refinement may leave of what they start from.
const SOON_LEFT: f64 = 0.1;

/// Those that apply, with the range of Δ that a variant has in these looks.
#[rustfmt::skip]
pub fn families(case: &Case, looks: &[Look], variant: &Variant) -> Vec<Family> {
    let problem = case.problem;
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for look in looks {
        let read = Read::new(variant, problem, look.channel, look.len);
        for (delta, _) in &read.steps[0] {
            if *delta > 0.0 {
                (least, most) = (least.min(*delta), most.max(*delta));
            }
        }
    }
    let family = |name, part, what, apply, range| Family { name, part, what, apply, range, sign: 1.0 };
    let mut all = Vec::new();
    let (scale, small) = ((0.02, 50.0), SMALL);
    if least < most {
        let range = (least, most);
        all.push(family("delta-at-most", Part::Clamp, |x| format!("Δ is clamped to at most {x}"),
            |v, x| v.clamp = Clamp::AtMost(x), range));
        all.push(family("delta-at-least", Part::Clamp, |x| format!("Δ is clamped to at least {x}"),
            |v, x| v.clamp = Clamp::AtLeast(x), range));
    }
    if problem.weights == Weights::Real {
        all.push(family("a-bar-at-least", Part::Clamp, |x| format!("Ā is clamped to at least {x}"),
            |v, x| v.a_bar_limits.0 = x, (1e-6, 0.5)));
        all.push(family("a-bar-at-most", Part::Clamp, |x| format!("Ā is clamped to at most {x}"),
            |v, x| v.a_bar_limits.1 = x, (0.25, 1.5)));
    }
    all.extend(limits(case, most));
    all.push(family("delta-scaled", Part::Step, |x| format!("Δ is multiplied by {x}"),
        |v, x| v.step_sizes.iter_mut().for_each(|s| s.factor = x), scale));
    let negated = |family: Family| Family { sign: -1.0, ..family };
    all.push(negated(family("a-scaled", Part::AValue, |x| format!("A is multiplied by {x}"),
        |v, x| v.a_factor = [(x, x); 2], scale)));
    all.push(family("a-scaled", Part::AValue, |x| format!("A is multiplied by {x}"),
        |v, x| v.a_factor = [(x, x); 2], scale));
    if problem.weights == Weights::Complex {
        all.push(family("a-imaginary-part-scaled", Part::AValue,
            |x| format!("the imaginary part of A is multiplied by {x}"), |v, x| v.a_factor = [(1.0, x); 2],
            scale));
        all.push(family("a-real-part-scaled", Part::AValue,
            |x| format!("the real part of A is multiplied by {x}"), |v, x| v.a_factor = [(x, 1.0); 2],
            scale));
    }
    // A of zoh's B̄ and Δ of zoh's Ā are the same as both.
    if case.form.formula().now().iter().any(|term| term.of != Function::Power(0)) {
        all.push(family("a-scaled-in-b-bar", Part::AValue, |x| format!("A is multiplied by {x} in B̄ only"),
            |v, x| v.a_factor[1] = (x, x), scale));
        all.push(family("a-scaled-in-a-bar", Part::AValue, |x| format!("A is multiplied by {x} in Ā only"),
            |v, x| v.a_factor[0] = (x, x), scale));
        all.push(family("b-bar-delta-scaled", Part::Step, |x| format!("Δ is multiplied by {x} in B̄ only"),
            |v, x| v.step_sizes[1].factor = x, scale));
    }
    for sign in [1.0, -1.0] {
        let signed = |family: Family| Family { sign, ..family };
        all.push(signed(family("a-offset", Part::AValue, |x| format!("{x} is added to A"),
            |v, x| v.a_offset = x, small)));
        all.extend(guards(case.form).map(signed));
    }
    all.push(family("a-bar-delta-scaled", Part::Step, |x| format!("Δ is multiplied by {x} in Ā only"),
        |v, x| v.step_sizes[0].factor = x, scale));
    if problem.delta_softplus {
        all.push(family("delta-scaled-before-softplus", Part::Step,
            |x| format!("delta is multiplied by {x} before softplus"),
            |v, x| v.step_sizes.iter_mut().for_each(|s| s.raw = x), scale));
        all.push(family(
            "softplus-beta",
            Part::Step,
            |x| format!("softplus is log(1 + exp(βx))/β with β = {x}"),
            |v, x| {
                let activation = Activation::Softplus { beta: x, above: f64::INFINITY };
                v.step_sizes.iter_mut().for_each(|s| s.activation = activation);
            },
            scale,
        ));
    }
    // Without an initial state a factor on what enters is one on what is read, which is fitted.
    if problem.initial_state.is_some() {
        for sign in [1.0, -1.0] {
            let input = family("input-scaled", Part::Readout,
                |x| format!("what enters the states is multiplied by {x}: a factor on B̄, B or u"),
                |v, x| v.input_factor *= x, scale);
            all.push(Family { sign, ..input });
        }
    }
    if problem.delta_bias.is_some() {
        all.push(family("bias-scaled", Part::StepOrder, |x| format!("delta_bias is multiplied by {x}"),
            |v, x| v.step_sizes.iter_mut().for_each(|s| s.before *= x), scale));
    }
    if problem.z.is_some() {
        all.push(family("gate-swish", Part::Epilogue, |x| format!("the gate is z·sigmoid({x} z)"),
            |v, x| v.gate = GateFunction::Swish(x), scale));
    }
    if case.form.formula().a_bar == Transition::Exponential {
        // Each over few decades: a grid is fine enough there.
        for k in 0..RAISED {
            let range = (10f64.powi(-6 * (k + 1)), 10f64.powi(-6 * k));
            all.push(family("log-space-scan-raised", Part::Scan,
                |x| format!("the scan is P Σ B̄u/(P + {x}), with P the product of all Ā so far"),
                |v, x| v.raised = Raised::Added(x), range));
            all.push(family("log-space-scan-raised", Part::Scan,
                |x| format!("the scan is P Σ B̄u/max(P, {x}), with P the product of all Ā so far"),
                |v, x| v.raised = Raised::AtLeast(x), range));
        }
    }
    all.push(family("state-scaled", Part::Carry,
        |x| format!("the carried state is multiplied by {x} at every position"),
        |v, x| v.chunks = Some(Chunks::new(1, Carry::Times(x))), scale));
    all
}

/// Numbers that are kept within limits on their way; `step` is the largest Δ.
fn limits(case: &Case, step: f64) -> Vec<Family> {
    let problem = case.problem;
    let family = |name, what, apply, range| Family { name, part: Part::Clamp, what, apply, range, sign: 1.0 };
    let largest = |values: &[f32]| values.iter().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
    // Somewhat below what is largest, as a limit that shows in few elements is another matter.
    let below = |most: f64| (LEAST_LIMIT * most, most);
    type Of = (&'static str, fn(&str) -> String, fn(&mut Variant, f64));
    macro_rules! both {
        ($name:literal, $of:expr, $text:literal) => {
            (
                $name,
                (|x| format!("{} is kept within [−{x}, {x}]", $text)) as fn(&str) -> String,
                (|v, x| v.limits[$of as usize] = (-x, x)) as fn(&mut Variant, f64),
            )
        };
    }
    macro_rules! most {
        ($name:literal, $of:expr, $text:literal) => {
            (
                $name,
                (|x| format!("{} is at most {x}", $text)) as fn(&str) -> String,
                (|v, x| v.limits[$of as usize].1 = x) as fn(&mut Variant, f64),
            )
        };
    }
    let mut all = Vec::new();
    let mut add = |(name, what, apply): Of, range: (f64, f64)| {
        if range.0 < range.1 && range.1.is_finite() {
            all.push(family(name, what, apply, range));
        }
    };
    add(both!("u-clipped", Limited::U, "u of the scan"), below(largest(&problem.u)));
    add(most!("u-clipped", Limited::U, "u of the scan"), below(largest(&problem.u)));
    add(both!("b-clipped", Limited::B, "B"), below(largest(&problem.b)));
    add(both!("c-clipped", Limited::C, "C"), below(largest(&problem.c)));
    if let Some(z) = &problem.z {
        add(both!("gate-clipped", Limited::Gate, "z of the gate"), below(largest(z)));
        add(most!("gate-clipped", Limited::Gate, "z of the gate"), below(largest(z)));
    }
    let got = &case.got.get(TensorName::Out).map_or(&[][..], |out| &out.values[..]);
    let out = got.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    add(both!("readout-clipped", Limited::Sum, "what is read of the states"), below(2.0 * out));
    for k in -3..2 {
        let range = (10f64.powi(k), 10f64.powi(k + 1));
        add(both!("state-clipped", Limited::State, "every state"), range);
        add(most!("b-bar-clipped", Limited::BBar, "B̄ without B"), (range.0 / 10.0, range.1 / 10.0));
    }
    let exponent = below(largest(&problem.a) * step);
    add(
        (
            "exponent-clipped",
            |x| format!("Re ΔA is at least −{x} in Ā and B̄"),
            |v, x| {
                v.limits[Limited::OfABar as usize].0 = -x;
                v.limits[Limited::OfBBar as usize].0 = -x;
            },
        ),
        exponent,
    );
    if case.form.formula().now().iter().any(|term| term.of != Function::Power(0)) {
        add(
            (
                "exponent-clipped-in-a-bar",
                |x| format!("Re ΔA is at least −{x} in Ā only"),
                |v, x| {
                    v.limits[Limited::OfABar as usize].0 = -x;
                },
            ),
            exponent,
        );
        add(
            (
                "exponent-clipped-in-b-bar",
                |x| format!("Re ΔA is at least −{x} in B̄ only"),
                |v, x| {
                    v.limits[Limited::OfBBar as usize].0 = -x;
                },
            ),
            exponent,
        );
    }
    all
}

/// What is added to something.
fn plus(x: &str) -> String {
    x.strip_prefix('−').map_or_else(|| format!(" + {x}"), |x| format!(" − {x}"))
}

/// Divisions that a small number in the denominator guards.
fn guards(form: Form) -> impl Iterator<Item = Family> {
    type Guard = (Option<usize>, fn(&str) -> String, fn(&mut Variant, f64));
    macro_rules! of_a {
        ($phi:expr, $of:literal) => {
            (
                $phi,
                |x| format!("{} divided by A{} in place of A", $of, plus(x)),
                |v, x| {
                    v.divisions.in_b_bar = Division::Guarded(x);
                    v.divisions.of_phi = $phi;
                },
            )
        };
    }
    const ALL: [Guard; 4] = [
        of_a!(None, "B̄ is"),
        of_a!(Some(1), "of B̄, φ₁ is"),
        of_a!(Some(2), "of B̄, φ₂ is"),
        of_a!(Some(3), "of B̄, φ₃ is"),
    ];
    const OF_Z: Guard = (
        None,
        |x| format!("B̄ is divided by ΔA{} in place of ΔA", plus(x)),
        |v, x| v.divisions.in_b_bar = Division::GuardedStep(x),
    );
    let of_phi = move |k: usize| form.formula().now().iter().any(|term| term.of == Function::Phi(k));
    let count = (1..4).filter(|k| of_phi(*k)).count();
    let applies = move |guard: &Guard| match guard.0 {
        None => count > 0,
        Some(k) => count > 1 && of_phi(k),
    };
    let family = |(_, what, apply): Guard| Family {
        name: "division-guarded",
        part: Part::BBar,
        what,
        apply,
        range: SMALL,
        sign: 1.0,
    };
    ALL.into_iter().chain([OF_Z]).filter(applies).map(family)
}

/// The change of a family with which no look refutes the variant, if there is one. The number is looked for in the first of these
/// looks; simple ones that are near it have to do for `all` of them.
pub fn find(
    case: &Case,
    (looks, all): (&[Look], &[Look]),
    variant: &Variant,
    family: &Family,
) -> Option<Change> {
    let with = |x: f64| {
        let mut changed = *variant;
        (family.apply)(&mut changed, x);
        changed
    };
    let sign = family.sign;
    // One channel is enough to come near.
    let near = if family.is_limit() { looks } else { &looks[..looks.len().min(1)] };
    let distance =
        |log: f64| near.iter().map(|look| look.distance(case, &with(sign * log.exp()))).sum::<f64>();
    let at = family.logarithms();
    let grid: Vec<f64> = at.iter().map(|&log| distance(log)).collect();
    let end = at.len() - 1;
    let mut least: Vec<usize> = (0..=end).filter(|&i| grid[i].is_finite()).collect();
    least.retain(|&i| (i == 0 || grid[i] <= grid[i - 1]) && (i == end || grid[i] <= grid[i + 1]));
    let without: f64 = near.iter().map(|look| look.distance(case, variant)).sum();
    least.retain(|&i| grid[i] <= LEFT * without);
    sorted::by_number(&mut least, &|&i| grid[i]);
    // What is no minimum at the level of rounding stops coming nearer.
    let stops = |step: usize, nearest: f64, of_grid: f64| {
        step == REFINED / 4 && nearest > SOON_LEFT * of_grid
            || step == REFINED / 2 && nearest > 1e-3 * of_grid
    };
    for &i in least.iter().take(2) {
        let (mut low, mut high) = (at[i.saturating_sub(1)], at[(i + 1).min(end)]);
        // The golden section.
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let (mut one, mut other) = (high - ratio * (high - low), low + ratio * (high - low));
        let (mut at_one, mut at_other) = (distance(one), distance(other));
        for step in 0..REFINED {
            if stops(step, at_one.min(at_other), grid[i]) {
                break;
            }
            if at_one < at_other {
                (high, other, at_other) = (other, one, at_one);
                one = high - ratio * (high - low);
                at_one = distance(one);
            } else {
                (low, one, at_one) = (one, other, at_other);
                other = low + ratio * (high - low);
                at_other = distance(other);
            }
        }
        let found = sign * if at_one < at_other { one } else { other }.exp();
        let mut known = numbers::near(found, 1e-2, case.problem.shape.dstate);
        // Beside another change a number that nobody has typed fits by chance.
        if *variant != Variant::specified(case.form) {
            known.retain(|known| known.digits < numbers::NO_CHOICE);
        }
        let fits = |value: f64| looks.iter().chain(all).all(|look| !look.refutes(case, &with(value)));
        if let Some(known) = known.into_iter().find(|known| known.value != 0.0 && fits(known.value)) {
            let (apply, value) = (family.apply, known.value);
            let what = (family.what)(&known.text);
            return Some(Change::new(family.part, family.name, what, move |v: &mut Variant| apply(v, value)));
        }
    }
    None
}

/// Thresholds above which softplus may return its argument, of one and two digits, with which no look refutes a variant.
pub fn thresholds(case: &Case, looks: &[Look], variant: &Variant) -> Vec<Change> {
    if !case.problem.delta_softplus {
        return Vec::new();
    }
    let one_digit = [1.0, 2.0, 5.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0];
    let two_digits = (11..100).filter(|digits| digits % 10 != 0).map(|digits| f64::from(digits) / 10.0);
    let digits: Vec<f64> = one_digit.into_iter().chain(two_digits).collect();
    // As decimals are written, not as products are.
    let decimal = |digits: f64, unit: f64| (digits * unit * 1e4).round() / 1e4;
    let values = digits.iter().flat_map(|&digits| [1.0, 10.0, 0.1, 0.01].map(|unit| decimal(digits, unit)));
    let fits = |change: &Change| {
        let mut changed = *variant;
        (change.change)(&mut changed);
        looks.iter().all(|look| !look.refutes(case, &changed))
    };
    values.filter(|above| *above <= 30.0).map(threshold).filter(fits).collect()
}

/// A threshold above which softplus returns its argument.
pub fn threshold(above: f64) -> Change {
    let activation = Activation::Softplus { beta: 1.0, above };
    let what = format!("softplus(x) is x for x above {above} already");
    Change::new(Part::Step, "softplus-threshold", what, move |v: &mut Variant| {
        v.step_sizes.iter_mut().for_each(|s| s.activation = activation);
    })
}
