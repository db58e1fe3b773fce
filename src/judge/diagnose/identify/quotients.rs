//! Quotients that go wrong in one place: an inverse (1 − αz)⁻¹ whose series is cut, and parts that take Δ of another position.

use super::changes::{Change, Part};
use crate::formula::{Form, Fraction, Transition};
use crate::judge::faults::place::Map;
use crate::judge::faults::variant::{Inverse, Variant};

/// The highest power that a series of an inverse is cut after: a few terms, or the squarings of Newton's iteration.
const CUT: u32 = 7;
/// The same beside others.
const LIKELY: u32 = 2;

/// What is tried on its own.
pub fn all(form: Form) -> Vec<Change> {
    up_to(form, CUT, true)
}

/// What is tried beside others.
pub fn few(form: Form) -> Vec<Change> {
    up_to(form, LIKELY, false)
}

fn up_to(form: Form, most: u32, all_ends: bool) -> Vec<Change> {
    let Transition::Quotient(alpha) = form.formula().a_bar else { return Vec::new() };
    let mut all = cut(alpha, most);
    all.extend(at_other_positions(alpha, all_ends));
    all
}

/// αΔA as it is written.
fn share(alpha: Fraction) -> String {
    if alpha == Fraction::ONE { "ΔA".to_owned() } else { format!("ΔA/{}", alpha.1) }
}

/// Inverses that are taken for the first terms of their series.
fn cut(alpha: Fraction, most: u32) -> Vec<Change> {
    let share = share(alpha);
    let mut all = Vec::new();
    for power in 0..=most {
        for alternating in [false, true].into_iter().take(1 + usize::from(power > 0)) {
            let sign = |k: u32| if alternating && k % 2 == 1 { "−" } else { "+" };
            let term = |k: u32| match k {
                1 => format!(" {} {share}", sign(k)),
                k => format!(" {} ({share}){}", sign(k), ["", "", "²", "³", "⁴", "⁵", "⁶", "⁷"][k as usize]),
            };
            let series: String =
                std::iter::once("1".to_owned()).chain((1..=power).map(term)).collect::<Vec<_>>().concat();
            let with = if alternating { CutAs::Alternating } else { CutAs::Right };
            for (in_a_bar, in_b_bar, of) in
                [(true, true, "Ā and B̄"), (true, false, "Ā only"), (false, true, "B̄ only")]
            {
                // Without an inverse in one of both it is a fault model.
                if power == 0 && in_a_bar != in_b_bar {
                    continue;
                }
                let what = format!(
                    "the inverse (1 − {share})⁻¹ is taken for the beginning of its series, {series}, in {of}"
                );
                let part = if in_a_bar { Part::ABar } else { Part::BBar };
                all.push(Change::new(part, "inverse-as-series", what, move |v: &mut Variant| {
                    if in_a_bar {
                        v.a_bar_inverse = with.after(power);
                    }
                    if in_b_bar {
                        v.b_bar_inverse = with.after(power);
                    }
                }));
            }
        }
    }
    all
}

/// With which signs.
#[derive(Clone, Copy)]
enum CutAs {
    Right,
    Alternating,
}

impl CutAs {
    fn after(self, power: u32) -> Inverse {
        match self {
            CutAs::Right => Inverse::Cut(power),
            CutAs::Alternating => Inverse::CutAlternating(power),
        }
    }
}

/// A numerator and an inverse that have Δ of two positions, as where one of them is kept from the step before.
fn at_other_positions(alpha: Fraction, all_ends: bool) -> Vec<Change> {
    let (above, below) = (share(alpha.complement()), share(alpha));
    let numerator = format!("the numerator 1 + {above} of Ā");
    let inverse = format!("the inverse (1 − {below})⁻¹");
    let places = [
        (true, [true, false, false], "a-bar-numerator", numerator, "its inverse"),
        (false, [false, true, true], "inverse", inverse.clone(), "what it multiplies in Ā and B̄"),
        (false, [false, true, false], "a-bar-inverse", format!("{inverse} of Ā"), "the numerator"),
        (false, [false, false, true], "b-bar-inverse", format!("{inverse} of B̄"), "what it multiplies"),
    ];
    let has_numerator = alpha != Fraction::ONE;
    let mut all = Vec::new();
    for (_, at, name, of, other) in places.iter().filter(|place| has_numerator || !place.0) {
        for (by, off, from) in [(-1, "late", "l − 1"), (1, "early", "l + 1")] {
            let ends = [
                ("0", Map::Shifted(by)),
                ("the last one", Map::Held(by)),
                ("that of the other end", Map::Rolled(by)),
            ];
            for (end, map) in ends.into_iter().take(if all_ends { 3 } else { 1 }) {
                let at = *at;
                let what = format!(
                    "at position l {of} takes Δ of {from}, and {other} that of l; beyond the end it is {end}"
                );
                let part = if at[..2] == [false; 2] { Part::BBar } else { Part::ABar };
                all.push(Change::new(part, format!("{name}-{off}"), what, move |v: &mut Variant| {
                    v.quotient_at = at.map(|is_moved| if is_moved { map } else { Map::Same });
                }));
            }
        }
    }
    all
}
