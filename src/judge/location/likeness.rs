//! Likeness of wrong values: a constant times the right ones, or other values that stand elsewhere.

use std::collections::HashSet;

use half::{bf16, f16};

use super::rule::Axis;
use crate::judge::verdict::Element;

/// Bits of evidence, and wrong values, below which a likeness may be chance; values that are one number are less so.
const EVIDENCE: f64 = 60.0;
const FEWEST: usize = 8;
const SAME: usize = 4;

/// Units of its bound above which a value has a size.
const SIZED: f64 = 16.0;

/// Values of a tensor above which none is looked for elsewhere, and places of one that are tried.
pub const LARGEST: usize = 1 << 24;
const TRIED: usize = 64;

/// A type that an f32 may have been rounded to on its way.
struct Narrow {
    name: &'static str,
    rounded: fn(f64) -> f64,
    unit: f64,
}

const NARROW: [Narrow; 2] = [
    Narrow { name: "bf16", rounded: |value| bf16::from_f64(value).to_f64(), unit: 1.0 / (1 << 8) as f64 },
    Narrow { name: "f16", rounded: |value| f16::from_f64(value).to_f64(), unit: 1.0 / (1 << 11) as f64 },
];

impl Narrow {
    fn has(&self, value: f64) -> bool {
        (self.rounded)(value) == value
    }

    /// Whether a bound allows no rounding to it: what is stored in the type has others.
    fn is_wider_than(&self, bound: f64, value: f64) -> bool {
        SIZED * bound < self.unit * value.abs()
    }
}

/// Source of each place.
type Map<'a> = &'a dyn Fn(usize) -> usize;

/// Bits by which a value that is within its bound is no chance.
fn evidence(want: f64, bound: f64) -> f64 {
    if want.abs() > SIZED * bound { (want.abs() / bound).log2().min(24.0) } else { 0.0 }
}

/// Numbers c with got = c·want within the bounds of all elements.
#[derive(Clone, Debug)]
pub struct Factor {
    allowed: (f64, f64),
    /// All of it, and that of one element, which any number has.
    evidence: (f64, f64),
}

impl Factor {
    pub const ANY: Factor = Factor { allowed: (f64::NEG_INFINITY, f64::INFINITY), evidence: (0.0, 0.0) };

    pub fn add(&mut self, Element { got, want, bound, .. }: Element) {
        let ratio = got / want;
        let half = bound * ratio.abs().max(1.0) / want.abs();
        // Nothing times 0 is wrong.
        let (low, high) =
            if want == 0.0 { (f64::INFINITY, f64::NEG_INFINITY) } else { (ratio - half, ratio + half) };
        self.allowed = (self.allowed.0.max(low), self.allowed.1.min(high));
        let bits = evidence(want, bound);
        self.evidence = (self.evidence.0 + bits, self.evidence.1.max(bits));
    }

    /// The shortest of them as a decimal; none where no number is true of all, or 1 is.
    pub fn said(&self) -> Option<String> {
        let (low, high) = self.allowed;
        let is_allowed = |number: f64| (low..=high).contains(&number);
        if self.evidence.0 - self.evidence.1 < EVIDENCE || is_allowed(1.0) {
            return None;
        }
        let decimals = (0..=9).map(|digits| format!("{:.digits$}", f64::midpoint(low, high)));
        decimals.into_iter().find(|decimal| decimal.parse().is_ok_and(is_allowed))
    }
}

/// Values of a tensor, the right ones with their bounds where they are at hand, and those of others of its shape, in one order.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub got: Vec<f64>,
    pub want: Option<[Vec<f64>; 2]>,
    pub others: Vec<(&'static str, Vec<f64>)>,
}

/// Which type these elements are all of, where the bounds of most of them allow no rounding to it.
pub fn rounded(failing: &[usize], Sources { got, want, .. }: &Sources) -> Option<String> {
    let [_, bound] = want.as_ref()?;
    let distinct = failing.iter().map(|&place| got[place].to_bits()).collect::<HashSet<u64>>().len();
    let is_of = |narrow: &&Narrow| {
        let wider = failing.iter().filter(|&&place| narrow.is_wider_than(bound[place], got[place])).count();
        2 * wider > failing.len() && failing.iter().all(|&place| narrow.has(got[place]))
    };
    let narrow = NARROW.iter().filter(|_| distinct >= FEWEST).find(is_of)?;
    Some(format!("numbers of {}", narrow.name))
}

/// Where else the values are that these elements have, in words. `failing` are places among values in the order of the recorded tensor, of
/// which each element has `width`.
pub fn elsewhere(
    name: &'static str,
    (axes, width): (&[Axis], usize),
    failing: &[usize],
    sources: &Sources,
) -> Option<String> {
    let at = |place: usize| sources.got[place];
    let distinct = failing.iter().map(|&place| at(place).to_bits()).collect::<HashSet<u64>>().len();
    if failing.len() >= SAME && distinct == 1 {
        return Some(format!("all {}", at(failing[0])));
    }
    // The one that is least like others.
    let probe = *failing.iter().max_by(|a, b| at(**a).abs().total_cmp(&at(**b).abs()))?;
    let nearest = |is_source: &dyn Fn(usize) -> bool, is_true: &dyn Fn(isize) -> bool| {
        let sources = (0..sources.got.len()).filter(|&from| is_source(from));
        let mut offsets: Vec<isize> = sources.map(|from| from as isize - probe as isize).collect();
        offsets.sort_by_key(|offset| offset.unsigned_abs());
        offsets.into_iter().take(TRIED).find(|&offset| is_true(offset))
    };
    let mut copies =
        std::iter::once((name, &sources.got)).chain(sources.others.iter().map(|(name, of)| (*name, of)));
    let copied = |(source, of): (&str, &Vec<f64>)| {
        let is_source = |place: usize, from: usize| {
            of.get(from).is_some_and(|value| value.to_bits() == at(place).to_bits())
                && (source != name || from != place)
        };
        let is_true =
            |offset: isize| failing.iter().all(|&place| is_source(place, place.wrapping_add_signed(offset)));
        let offset = nearest(&|from| is_source(probe, from), &is_true)?;
        Some(format!("{source}{}, bit for bit", moved((axes, width), failing, offset)))
    };
    if let Some(copied) = copies.by_ref().filter(|_| distinct >= FEWEST).find_map(copied) {
        return Some(copied);
    }
    let [want, bound] = sources.want.as_ref()?;
    let is_source =
        |place: usize, from: usize| from < want.len() && (at(place) - want[from]).abs() <= bound[from];
    let are_from = |from: Map| {
        failing.iter().all(|&place| is_source(place, from(place)))
            && failing.iter().map(|&place| evidence(want[from(place)], bound[from(place)])).sum::<f64>()
                >= EVIDENCE
    };
    let is_true = |offset: isize| are_from(&|place| place.wrapping_add_signed(offset));
    let said = match nearest(&|from| is_source(probe, from), &is_true) {
        Some(offset) => moved((axes, width), failing, offset),
        None => exchanged((axes, width), &are_from)?,
    };
    Some(format!("the right values{said}"))
}

/// Where the source of each value is, seen from its own place: ` of the previous item`.
fn moved((axes, width): (&[Axis], usize), failing: &[usize], offset: isize) -> String {
    let step = offset.unsigned_abs();
    let (way, side) = if offset < 0 { ("before", "previous") } else { ("after", "next") };
    let mut unit = width;
    for &(noun, len) in axes.iter().rev() {
        // All stay in their rows.
        let is_within =
            |&place: &usize| place.wrapping_add_signed(offset) / (unit * len) == place / (unit * len);
        if step.is_multiple_of(unit) && step < unit * len && failing.iter().all(is_within) {
            return match step / unit {
                0 => " at the same place".to_owned(),
                1 => format!(" of the {side} {noun}"),
                count => format!(" {count} {noun}s {way}"),
            };
        }
        unit *= len;
    }
    format!(" {step} numbers {way} in memory")
}

/// The order of some axis, or of two, that right values stand in.
fn exchanged((axes, width): (&[Axis], usize), are_from: &dyn Fn(Map) -> bool) -> Option<String> {
    let mut unit = width;
    let mut inner: Axis = ("part", width);
    for &(noun, len) in axes.iter().rev() {
        let at = |place: usize| place / unit % len;
        if are_from(&|place| place - at(place) * unit + (len - 1 - at(place)) * unit) {
            return Some(format!(" with {noun}s in reverse order"));
        }
        // Memory of (inner, len) that is read as (len, inner).
        let small = unit / inner.1;
        let from = |place: usize| {
            let both = place / small % (len * inner.1);
            place - both * small + (both % len * inner.1 + both / len) * small
        };
        if are_from(&from) {
            return Some(format!(" with {noun} and {} exchanged in memory", inner.0));
        }
        (unit, inner) = (unit * len, (noun, len));
    }
    None
}
