//! Masks: places of a tensor's elements as data, which a sentence can say and a hypothesis hold in.

use std::fmt::{self, Display, Formatter};

/// Indices of a list that are named; of more than that their number is.
const NAMED: usize = 6;

/// The shortest range of residues.
const SHORTEST: usize = 4;

/// Periods of an axis that are tried.
const PERIODS: std::ops::RangeInclusive<usize> = 2..=64;

/// How often a period has to be seen: two runs of some length that lie alike are one already, and so are odd or even indices; other
/// sets are none.
const SEEN: usize = 3;
const SEEN_OF_RUNS: usize = 2;

/// The least power of two beyond whose last multiple a tail is.
const TAIL: usize = 4;

/// Simple set of indices along one axis. Both ends of a range are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    All,
    One(usize),
    From(usize),
    UpTo(usize),
    Range(usize, usize),
    /// Indices from `from` on that leave one of these residues.
    EveryNth {
        period: usize,
        residues: Vec<usize>,
        from: usize,
    },
    Listed(Vec<usize>),
    Except(Vec<usize>),
}

/// log₂ of the number of ways to choose k of n.
pub fn choices(n: usize, k: usize) -> f64 {
    let k = k.min(n.saturating_sub(k));
    (0..k).map(|i| ((n - i) as f64 / (k - i) as f64).log2()).sum()
}

impl Indices {
    pub fn contains(&self, at: usize) -> bool {
        match self {
            Indices::All => true,
            Indices::One(one) => at == *one,
            Indices::From(first) => at >= *first,
            Indices::UpTo(last) => at <= *last,
            Indices::Range(first, last) => (*first..=*last).contains(&at),
            Indices::EveryNth { period, residues, from } => at >= *from && residues.contains(&(at % period)),
            Indices::Listed(listed) => listed.binary_search(&at).is_ok(),
            Indices::Except(others) => others.binary_search(&at).is_err(),
        }
    }

    /// Length of a description, along an axis of this length: its kind, and the numbers in it.
    pub fn bits(&self, len: usize) -> f64 {
        let index = (len as f64).log2();
        let numbers = match self {
            Indices::All => 0.0,
            Indices::One(_) | Indices::From(_) | Indices::UpTo(_) => index,
            // Both ends, in order.
            Indices::Range(..) => (2.0 * index - 1.0).max(0.0),
            Indices::EveryNth { period, residues, from } => {
                let start = if from < period { 0.0 } else { (len as f64 / *period as f64).log2() };
                let size = (*period as f64).log2();
                // A range of residues has two ends.
                let of_range = if is_range(residues) { 2.0 * size } else { f64::INFINITY };
                2.0 * size + 1.0 + choices(*period, residues.len()).min(of_range) + start
            }
            Indices::Listed(_) | Indices::Except(_) => index + self.choice(len).0,
        };
        3.0 + numbers
    }

    /// Length of which indices of an axis are in it; and the first one, where it is shorter to say that none is before it.
    fn choice(&self, len: usize) -> (f64, Option<usize>) {
        let count = self.count(len);
        let first = (0..len).find(|&at| self.contains(at)).unwrap_or(0);
        let (of_all, of_late) = (choices(len, count), (len as f64).log2() + choices(len - first, count));
        if of_late < of_all { (of_late, Some(first)) } else { (of_all, None) }
    }

    /// The shortest set that has, of the indices that are judged, those that are wrong and no other; none where none is.
    pub fn shortest(judged: &[bool], wrong: &[bool]) -> Option<Indices> {
        let all: Vec<usize> = (0..judged.len()).filter(|&at| judged[at]).collect();
        let (some, others): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&at| wrong[at]);
        let (&first, &last) = (some.first()?, some.last()?);
        let periods = PERIODS.filter_map(|period| {
            let mut residues: Vec<usize> = some.iter().map(|at| at % period).collect();
            residues.sort_unstable();
            residues.dedup();
            let from = if first < period { 0 } else { first };
            let seen = if is_range(&residues) || period == 2 { SEEN_OF_RUNS } else { SEEN };
            let is_seen = all.iter().filter(|&&at| at >= from).count() >= seen * period;
            is_seen.then_some(Indices::EveryNth { period, residues, from })
        });
        let simple = [
            Indices::All,
            Indices::One(first),
            Indices::From(first),
            Indices::UpTo(last),
            Indices::Range(first, last),
        ];
        let are_few = some.len() <= others.len();
        let list = if are_few { Indices::Listed(some.clone()) } else { Indices::Except(others.clone()) };
        let is_true = |set: &Indices| {
            some.iter().all(|&at| set.contains(at)) && !others.iter().any(|&at| set.contains(at))
        };
        let sets = simple.into_iter().chain([list]).chain(periods).filter(is_true);
        sets.min_by(|a, b| a.bits(judged.len()).total_cmp(&b.bits(judged.len())))
    }

    /// How many indices of an axis of this length are in it.
    pub fn count(&self, len: usize) -> usize {
        (0..len).filter(|&at| self.contains(at)).count()
    }

    /// Whether it is a rule, and not so many of them.
    pub fn is_rule(&self) -> bool {
        !matches!(self, Indices::Listed(some) | Indices::Except(some) if some.len() > NAMED)
    }
}

/// Axis of a mask: the noun for an index, how many there are and how many of them are judged, and the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Along {
    pub noun: &'static str,
    pub len: usize,
    pub judged: usize,
    pub set: Indices,
}

fn list(some: &[usize]) -> String {
    let named: Vec<String> = some.iter().map(usize::to_string).collect();
    match named.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => named.concat(),
    }
}

/// Whether residues are a range that is said by its ends.
fn is_range(residues: &[usize]) -> bool {
    residues.len() >= SHORTEST && residues[residues.len() - 1] - residues[0] + 1 == residues.len()
}

/// Phrase on some residues, from where on they count.
fn every(noun: &str, period: usize, residues: &[usize], from: usize) -> String {
    let (first, last) = (residues[0], residues[residues.len() - 1]);
    let is_range = is_range(residues);
    let start = if from < period { String::new() } else { format!(" from {from} on") };
    let said = match residues {
        [1] if period == 2 => format!("odd {noun}s"),
        [0] if period == 2 => format!("even {noun}s"),
        [0] => format!("each {noun} {period}k"),
        [one] => format!("each {noun} {one} + {period}k"),
        _ if is_range && first == 0 => format!("{noun}s mod {period} up to {last}"),
        _ if is_range && last + 1 == period => format!("{noun}s mod {period} from {first} on"),
        _ if is_range => format!("{noun}s mod {period} from {first} to {last}"),
        _ => {
            let residues: Vec<String> = residues.iter().map(usize::to_string).collect();
            format!("{noun}s mod {period} in {{{}}}", residues.join(", "))
        }
    };
    said + &start
}

impl Display for Along {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Along { noun, len, judged, set } = self;
        match set {
            Indices::All if judged == len => write!(f, "all {noun}s"),
            Indices::All => write!(f, "all judged {noun}s"),
            Indices::One(one) => write!(f, "{noun} {one}"),
            Indices::From(first) => {
                let unit = 1 << first.trailing_zeros().min(32);
                // What is wrong from the first multiple on may as well be what is carried there.
                let is_tail = unit >= TAIL && *first > unit && first + unit > *len && len % unit > 0;
                let tail =
                    if is_tail { format!(", beyond the last multiple of {unit}") } else { String::new() };
                write!(f, "{noun}s from {first} on{tail}")
            }
            Indices::UpTo(last) => write!(f, "{noun}s up to {last}"),
            Indices::Range(first, last) if first + 1 == *last => write!(f, "{noun}s {first} and {last}"),
            Indices::Range(first, last) => write!(f, "{noun}s {first} to {last}"),
            Indices::EveryNth { period, residues, from } => {
                f.write_str(&every(noun, *period, residues, *from))
            }
            Indices::Listed(some) if set.is_rule() => write!(f, "{noun}s {}", list(some)),
            // A number alone would be a count.
            Indices::Except(some) if set.is_rule() => {
                let plural = if some.len() == 1 { "" } else { "s" };
                write!(f, "all {noun}s but {noun}{plural} {}", list(some))
            }
            Indices::Listed(_) | Indices::Except(_) => {
                let count = match set {
                    Indices::Except(others) => judged - others.len(),
                    _ => set.count(*len),
                };
                match set.choice(*len).1.filter(|_| judged == len) {
                    Some(first) => write!(f, "{count} of {} {noun}s from {first} on", len - first),
                    None => write!(f, "{count} of {judged} {noun}s"),
                }
            }
        }
    }
}

/// Mask: the places in which something holds, a product of simple sets along the axes of a tensor as it was recorded, and within that
/// a range of its flat indices, where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    pub axes: Vec<Along>,
    /// First and last.
    pub flat: Option<(usize, usize)>,
}

impl Mask {
    fn elements(&self) -> usize {
        self.axes.iter().map(|axis| axis.len).product()
    }

    pub fn contains(&self, index: &[usize]) -> bool {
        self.holds(self.axes.iter().zip(index).fold(0, |flat, (axis, at)| flat * axis.len + at))
    }

    /// Whether it contains the element with this flat index.
    pub fn holds(&self, mut flat: usize) -> bool {
        self.flat.is_none_or(|(first, last)| (first..=last).contains(&flat))
            && self.axes.iter().rev().all(|axis| {
                let at = flat % axis.len;
                flat /= axis.len;
                axis.set.contains(at)
            })
    }

    /// Length of its description.
    pub fn bits(&self) -> f64 {
        let sets: f64 = self.axes.iter().filter(|a| a.len > 1).map(|axis| axis.set.bits(axis.len)).sum();
        let ends = self
            .flat
            .map_or(0, |(first, last)| usize::from(first > 0) + usize::from(last + 1 < self.elements()));
        sets + ends as f64 * (self.elements() as f64).log2()
    }

    /// A phrase for each axis longer than 1, or one for the flat range.
    pub fn phrases(&self) -> Vec<String> {
        let of_axes = || self.axes.iter().filter(|axis| axis.judged > 1).map(Along::to_string).collect();
        match self.flat {
            None => of_axes(),
            Some((first, last)) if last + 1 == self.elements() => vec![format!("flat index from {first} on")],
            Some((0, last)) => vec![format!("flat index up to {last}")],
            Some((first, last)) => vec![format!("flat index {first} to {last}")],
        }
    }
}

impl Display for Mask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.phrases().join(", "))
    }
}
