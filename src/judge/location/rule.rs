//! The shortest rule that is true of the elements that fail, and of those that do not.

use super::mask::{Along, Indices, Mask, choices};

/// Axis along which a scan goes: how far elements fail there depends on their sizes.
const POSITION: &str = "position";

/// Share of the elements in a flat range that fail, and bits by which it has to be shorter than a product of sets.
const DENSE: f64 = 0.9;
const SHORTER: f64 = 16.0;

/// Axis of a tensor as it was recorded: the noun for an index, and how many there are.
pub type Axis = (&'static str, usize);

/// Mask outside of which nothing fails, and how much of it does.
#[derive(Clone, Debug)]
pub struct Rule {
    pub mask: Mask,
    /// Judged elements in it, and those that fail.
    pub covers: usize,
    pub fails: usize,
    /// Of its judged rows, which are along positions, those with a failure, and all; elements where there are no positions.
    rows: (usize, usize),
    /// Where the runs of positions that fail begin, and the flat index from which on everything does, if it takes several sets to say so.
    starts: Option<String>,
    from: Option<usize>,
}

impl Rule {
    /// The shortest one for judged elements, each by its flat index and whether it fails; none where none does. `sequences` are the
    /// positions at which sequences begin.
    pub fn shortest(
        axes: &[Axis],
        sequences: &[usize],
        elements: impl Iterator<Item = (usize, bool)> + Clone,
    ) -> Option<Rule> {
        let mut seen: Vec<[Vec<bool>; 2]> =
            axes.iter().map(|axis| [(); 2].map(|()| vec![false; axis.1])).collect();
        let (mut fails, mut first, mut last) = (0, usize::MAX, 0);
        for (flat, is_wrong) in elements.clone() {
            let mut rest = flat;
            for ([judged, wrong], &(_, len)) in seen.iter_mut().zip(axes).rev() {
                judged[rest % len] = true;
                wrong[rest % len] |= is_wrong;
                rest /= len;
            }
            if is_wrong {
                (fails, first, last) = (fails + 1, first.min(flat), last.max(flat));
            }
        }
        let along = |(&(noun, len), [judged, wrong]): (&Axis, &[Vec<bool>; 2])| {
            let judged_count = judged.iter().filter(|is_judged| **is_judged).count();
            Some(Along { noun, len, judged: judged_count, set: Indices::shortest(judged, wrong)? })
        };
        let mask = Mask { axes: axes.iter().zip(&seen).map(along).collect::<Option<_>>()?, flat: None };
        let total: usize = axes.iter().map(|(_, len)| len).product();
        let count = |is_in: &dyn Fn(usize) -> bool| {
            let some = elements.clone().filter(|(flat, _)| is_in(*flat));
            some.fold((0, 0), |(wrong, all), (_, is_wrong)| (wrong + usize::from(is_wrong), all + 1))
        };
        let covers = count(&|flat| mask.holds(flat)).1;
        let inner = axes.iter().position(|(noun, _)| *noun == POSITION);
        let rows = inner.map_or((fails, covers), |inner| rows(axes, inner, &mask, elements.clone()));
        let starts = inner.and_then(|inner| starts(&mask.axes[inner], &seen[inner], sequences));
        // Of some rows alone, others may be different.
        let is_whole = mask.axes.iter().all(|along| along.judged == along.len);
        let sets = mask.axes.iter().filter(|along| along.set != Indices::All).count();
        let is_tail = || (0..total).all(|flat| mask.holds(flat) == (flat >= first));
        let from = (is_whole && sets > 1 && fails == covers && is_tail()).then_some(first);
        let product = Rule { mask, covers, fails, rows, starts, from };

        // A range of flat indices is no product of sets where it ends within a row, or has another number of rows of each index. What is
        // beside its ends along the last axis has to fail with the rest.
        let len = axes.last()?.1;
        let range = |(first, last): (usize, usize)| {
            let is_in = |flat: usize| (first..=last).contains(&flat);
            let is_beside = |flat: usize| is_in(flat) && !(first % len..=last % len).contains(&(flat % len));
            let ((_, covers), beside) = (count(&is_in), count(&is_beside));
            let is_dense = |(some, all): (usize, usize)| some as f64 >= DENSE * all as f64;
            let is_no_set = beside.1 > 0 || product.rows.0 < product.rows.1;
            let anywhere = |along: &Along| Along { set: Indices::All, ..along.clone() };
            let mask =
                Mask { axes: product.mask.axes.iter().map(anywhere).collect(), flat: Some((first, last)) };
            let rule = Rule { mask, covers, starts: None, from: None, ..product.clone() };
            (is_no_set && is_dense(beside) && is_dense((fails, covers))).then_some(rule)
        };
        let ranges = [(first, total - 1), (0, last), (first, last)];
        let ranges =
            ranges.into_iter().filter(|_| is_whole && fails < covers && axes.len() > 1).filter_map(range);
        let shortest = ranges.min_by(|a, b| a.bits().total_cmp(&b.bits()));
        Some(shortest.filter(|range| range.bits() + SHORTER < product.bits()).unwrap_or(product))
    }

    /// Length of the mask's description, and of which of its elements fail.
    pub fn bits(&self) -> f64 {
        self.mask.bits() + choices(self.covers, self.fails)
    }

    /// Judged elements at its places, where no phrase says how many there are.
    pub fn unsaid_covers(&self) -> usize {
        let is_said = self.mask.flat.is_none() && self.rows == (self.fails, self.covers);
        if is_said { 0 } else { self.covers }
    }

    /// Phrases on where it is. Sets along several axes that are not those of all rows together are said with their share.
    pub fn phrases(&self) -> Vec<String> {
        let mut phrases = self.mask.phrases();
        if self.mask.flat.is_some() {
            return phrases;
        }
        let shown: Vec<&Along> = self.mask.axes.iter().filter(|axis| axis.judged > 1).collect();
        let at = shown.iter().position(|along| along.noun == POSITION);
        if let (Some(at), Some(starts)) = (at, &self.starts) {
            phrases[at].push_str(starts);
        }
        let (some, all) = self.rows;
        let is_last = |along: &&Along| along.noun != POSITION && !matches!(along.set, Indices::One(_));
        if let Some(last) = shown.iter().rposition(is_last).filter(|_| some < all) {
            let along @ Along { noun, judged, set, len } = shown[last];
            phrases[last] = match set {
                Indices::All => format!("{some} of their {all} {noun}s"),
                set if set.is_rule() => format!("{some} of their {all} {along}"),
                // The set has no name: of all.
                set => format!("{some} of their {} {noun}s", all * judged / set.count(*len)),
            };
        }
        phrases.extend(self.from.map(|first| format!("which is all from flat index {first} on")));
        phrases
    }
}

/// Rows of a mask along an axis, those with a failure and all with a judged element.
fn rows(
    axes: &[Axis],
    inner: usize,
    mask: &Mask,
    elements: impl Iterator<Item = (usize, bool)>,
) -> (usize, usize) {
    let (len, of) = (axes[inner].1, |axes: &[Axis]| axes.iter().map(|(_, len)| len).product::<usize>());
    let unit = of(&axes[inner + 1..]);
    let mut rows = vec![[false; 2]; of(axes) / len];
    for (flat, is_wrong) in elements.filter(|(flat, _)| mask.holds(*flat)) {
        let row = &mut rows[flat / unit / len * unit + flat % unit];
        *row = [row[0] | is_wrong, true];
    }
    let count = |which: usize| rows.iter().filter(|row| row[which]).count();
    (count(0), count(1))
}

/// Where runs of positions that fail begin, in words, if at multiples of something, or where sequences do.
fn starts(along: &Along, [judged, wrong]: &[Vec<bool>; 2], sequences: &[usize]) -> Option<String> {
    if let Indices::From(first) = along.set {
        let is_start = sequences.len() > 1 && sequences.contains(&first);
        return is_start.then(|| ", where a sequence begins".to_owned());
    }
    let begins = |at: usize| wrong[at] && (at == 0 || judged[at - 1] && !wrong[at - 1]);
    let is_begin: Vec<bool> = (0..along.len).map(begins).collect();
    // Sequences that begin at 0 have no run before them that could end.
    let inner = |at: &usize| *at > 0;
    let runs = (0..along.len).filter(|&at| is_begin[at]).filter(inner);
    if along.set.is_rule() || runs.clone().count() < 2 {
        return None;
    }
    if runs.eq(sequences.iter().copied().filter(inner)) {
        return Some(", in runs that begin where sequences do".to_owned());
    }
    let set = Indices::shortest(judged, &is_begin)?;
    let is_regular = matches!(set, Indices::EveryNth { .. });
    is_regular.then(|| format!(", in runs that begin at {}", Along { set, ..along.clone() }))
}
