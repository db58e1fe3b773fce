//! Several changes at once, by their pieces: what each changes on its own (Ā, K, B, C, u, or what is around Σ C x) is computed
//! once, and any two that change different pieces are put together from these at the first positions. That takes
//! nanoseconds, so that all pairs are tried, each with every epilogue, and every pair of a change and a number.
//!
//! What is found here is proposed, and nothing more: it is tried on elements as everything else is.

use num_complex::Complex64;
use rayon::prelude::*;

use super::changes::Change;
use super::finder::{self, Family};
use super::looks::Look;
use super::{Candidate, Case, Search, epilogue, structure};
use crate::judge::faults::scan::{self, Course, Pieces};
use crate::judge::faults::variant::{Directions, Reversed, Variant};
use crate::tensor::TensorName;

/// Positions and channels that pieces are computed for.
const SOON: usize = 4;
const CHANNELS: usize = 6;
/// Positions × states of a channel up to which a scan in both directions is put together.
const WHOLE: usize = 4096;
/// Positions × states that pairs may take whose pieces do not tell what they do together.
const DIRECT: usize = 4_000_000;
/// The same of pairs that are put together.
const TOGETHER: usize = 100_000_000;
/// How far a recorded value may be off what is put together, relative to the moduli of what that is a sum of: much more than
/// rounding makes, and little enough to refute nearly all pairs.
const NEAR: f64 = 1e-4;
/// Proposals that are tried on elements.
const PROPOSED: usize = 64;

/// What a change changes, of each channel; nothing where that is as specified.
#[derive(Clone, Default)]
struct Own {
    a_bar: Option<Vec<Complex64>>,
    k: Option<Vec<Complex64>>,
    b: Option<Vec<Complex64>>,
    c: Option<Vec<Complex64>>,
    u: Option<Vec<f64>>,
    epilogue: Option<Vec<(f64, f64)>>,
    course: Option<Course>,
}

impl Own {
    fn new(pieces: Pieces, base: &Pieces) -> Self {
        fn own<T: PartialEq>(mine: T, base: &T) -> Option<T> {
            (mine != *base).then_some(mine)
        }
        Own {
            a_bar: own(pieces.a_bar, &base.a_bar),
            k: own(pieces.k, &base.k),
            b: own(pieces.b, &base.b),
            c: own(pieces.c, &base.c),
            u: own(pieces.u, &base.u),
            epilogue: own(pieces.epilogue, &base.epilogue),
            course: own(pieces.course, &base.course),
        }
    }
}

/// Pieces of two changes beside those of neither; none where both change the same one.
struct Whole<'a> {
    a_bar: &'a [Complex64],
    k: &'a [Complex64],
    b: &'a [Complex64],
    c: &'a [Complex64],
    u: &'a [f64],
    epilogue: &'a [(f64, f64)],
    course: Course,
}

impl<'a> Whole<'a> {
    fn new(base: &'a Pieces, one: &'a Own, other: &'a Own) -> Option<Self> {
        fn either<'a, T, U: ?Sized>(base: &'a U, one: &'a Option<T>, other: &'a Option<T>) -> Option<&'a U>
        where
            T: std::ops::Deref<Target = U>,
        {
            match (one, other) {
                (Some(_), Some(_)) => None,
                (Some(own), None) | (None, Some(own)) => Some(own),
                (None, None) => Some(base),
            }
        }
        let course = match (one.course, other.course) {
            (Some(_), Some(_)) => return None,
            (one, other) => one.or(other).unwrap_or(base.course),
        };
        Some(Whole {
            a_bar: either(&base.a_bar[..], &one.a_bar, &other.a_bar)?,
            k: either(&base.k[..], &one.k, &other.k)?,
            b: either(&base.b[..], &one.b, &other.b)?,
            c: either(&base.c[..], &one.c, &other.c)?,
            u: either(&base.u[..], &one.u, &other.u)?,
            epilogue: either(&base.epilogue[..], &one.epilogue, &other.epilogue)?,
            course,
        })
    }

    /// Σ Re C x at the first `len` positions, and the moduli of what it sums.
    fn readouts(&self, states: usize, len: usize, sums: &mut Vec<(f64, f64)>) {
        sums.clear();
        sums.resize(len, (0.0, 0.0));
        let Course { bidirectional, directions, reversed, without_input, flips } = self.course;
        let kept = |reverse: bool| match directions {
            Directions::CausalOnly if bidirectional => !reverse,
            Directions::BackwardOnly if bidirectional => reverse,
            _ => true,
        };
        for n in 0..states {
            let mut x = Complex64::ZERO;
            for (l, sum) in sums.iter_mut().enumerate().filter(|_| kept(false)) {
                let i = l * states + n;
                let decayed = self.a_bar[i] * x;
                x = decayed + self.k[i] * self.b[i] * self.u[l];
                add(sum, self.c[i], if without_input { decayed } else { x });
            }
            if !bidirectional || !kept(true) {
                continue;
            }
            let last = self.u.len() - 1;
            let at = |l: usize, flips: bool| if flips { l } else { last - l };
            let mut x = Complex64::ZERO;
            for l in (0..=last).rev() {
                let (delta, b, c) = (at(l, flips.delta), at(l, flips.b), at(l, flips.c));
                let later = if reversed == Reversed::ABarOffByOne { (delta + 1).min(last) } else { delta };
                let decayed = self.a_bar[later * states + n] * x;
                let before = x;
                x = decayed
                    + self.k[delta * states + n] * self.b[b * states + n] * self.u[at(l, flips.u)];
                let read = match reversed {
                    Reversed::OffByOne => before,
                    Reversed::WithoutInput => decayed,
                    _ => x,
                };
                if let Some(sum) = sums.get_mut(at(l, flips.back)) {
                    add(sum, self.c[c * states + n], read);
                }
            }
        }
    }
}

fn add((value, size): &mut (f64, f64), c: Complex64, x: Complex64) {
    let (re, im) = (c.re * x.re, c.im * x.im);
    *value += re - im;
    *size += re.abs() + im.abs();
}

/// One channel that changes are put together for.
struct Row<'a> {
    got: &'a [f64],
    rounding: Vec<f64>,
    base: Pieces,
}

impl Row<'_> {
    fn is_near(&self, l: usize, (value, size): (f64, f64), (gain, offset): (f64, f64)) -> bool {
        let error = (self.got[l] - gain * value - offset).abs();
        error <= NEAR * (gain.abs() * size + offset.abs()) + self.rounding[l] || !self.got[l].is_finite()
    }
}

/// Changes by their pieces.
pub(super) struct Together<'s> {
    search: &'s Search<'s>,
    rows: Vec<Row<'s>>,
    looks: Vec<Look>,
    changes: Vec<Change>,
    /// Of each channel; none where a change is more than its pieces.
    own: Vec<Option<Vec<Own>>>,
    epilogues: Vec<(Change, Vec<Own>)>,
    states: usize,
    /// Positions that are computed.
    len: usize,
    /// Positions that are compared at first.
    compared: usize,
}

impl<'s> Together<'s> {
    /// None where what was recorded is not put together of pieces.
    pub fn new(search: &'s Search<'s>, changes: Vec<Change>) -> Option<Self> {
        let case = search.case;
        let shape = case.problem.shape;
        let bidirectional = search.base.bidirectional;
        if !search.tensors.contains(&TensorName::Out) || bidirectional && shape.seqlen * shape.dstate > WHOLE {
            return None;
        }
        let len = if bidirectional { shape.seqlen } else { SOON.min(shape.seqlen) };
        let channels = if bidirectional { 1 } else { CHANNELS };
        let looks: Vec<Look> =
            search.spread().take(channels).map(|row| Look { len, ..search.whole(row) }).collect();
        let row = |look: &Look| {
            let base = scan::pieces(&search.base, case.problem, look.channel, len)?;
            let got = look.got(case);
            let rounding = got.iter().map(|got| Look::rounding(case, *got)).collect();
            Some(Row { got, rounding, base })
        };
        let rows: Option<Vec<Row>> = looks.iter().map(row).collect();
        let mut together = Together {
            search,
            rows: rows?,
            looks,
            own: Vec::new(),
            epilogues: Vec::new(),
            states: shape.dstate,
            len,
            compared: SOON.min(shape.seqlen),
            changes,
        };
        together.own =
            together.changes.par_iter().map(|change| together.own(&search.with(&[change]))).collect();
        let epilogues = epilogue::beside_others(case).into_iter().filter_map(|change| {
            let own = together.own(&search.with(&[&change]))?;
            Some((change, own))
        });
        together.epilogues = epilogues.collect();
        Some(together)
    }

    fn case(&self) -> &'s Case<'s> {
        self.search.case
    }

    fn own(&self, variant: &Variant) -> Option<Vec<Own>> {
        let of = |(look, row): (&Look, &Row)| {
            let pieces = scan::pieces(variant, self.case().problem, look.channel, self.len)?;
            Some(Own::new(pieces, &row.base))
        };
        self.looks.iter().zip(&self.rows).map(of).collect()
    }

    /// With which epilogues two changes are near what was recorded, 0 being their own; none where their pieces do not tell.
    fn near(&self, one: &[Own], other: &[Own], sums: &mut Vec<(f64, f64)>, left: &mut Vec<usize>) -> Option<()> {
        left.clear();
        for (at, row) in self.rows.iter().enumerate() {
            let whole = Whole::new(&row.base, &one[at], &other[at])?;
            if at == 0 {
                left.push(0);
                let others = one[at].epilogue.is_none() && other[at].epilogue.is_none();
                left.extend(1..if others { self.epilogues.len() + 1 } else { 1 });
            }
            for compared in [1, self.compared] {
                whole.readouts(self.states, compared, sums);
                for (l, sum) in sums.iter().enumerate() {
                    left.retain(|&epilogue| {
                        let own = if epilogue == 0 { None } else { self.epilogues[epilogue - 1].1[at].epilogue.as_ref() };
                        row.is_near(l, *sum, own.map_or(whole.epilogue[l], |own| own[l]))
                    });
                    if left.is_empty() {
                        return Some(());
                    }
                }
            }
        }
        Some(())
    }

    /// All pairs, each with every epilogue.
    pub fn pairs(&self) -> Vec<Candidate> {
        let count = self.changes.len();
        let each = self.states * if self.search.base.bidirectional { self.len } else { 2 };
        let tried = (1..=count).take_while(|count| count * count / 2 <= TOGETHER / each.max(1)).last().unwrap_or(0);
        let direct = DIRECT / (self.states * if self.search.base.bidirectional { 2 * self.len } else { 1 }).max(1);
        let spent = std::sync::atomic::AtomicUsize::new(0);
        let found = (0..tried).into_par_iter().flat_map_iter(|i| {
            let (mut sums, mut left, mut found) = (Vec::new(), Vec::new(), Vec::new());
            for j in i + 1..tried {
                let (one, other) = (&self.changes[i], &self.changes[j]);
                if one.part == other.part {
                    continue;
                }
                let near = self.own[i].as_ref().zip(self.own[j].as_ref());
                let near = near.and_then(|(one, other)| self.near(one, other, &mut sums, &mut left));
                if near.is_some() {
                    found.extend(left.iter().map(|epilogue| (i, j, *epilogue)));
                } else if spent.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < direct
                    && !self.looks.iter().any(|look| {
                        look.refutes(self.case(), &self.search.with(&[one, other]))
                    })
                {
                    found.push((i, j, 0));
                }
            }
            found
        });
        let found: Vec<(usize, usize, usize)> = found.collect();
        let candidate = |&(i, j, epilogue): &(usize, usize, usize)| {
            let mut changes = vec![self.changes[i].clone(), self.changes[j].clone()];
            changes.extend(epilogue.checked_sub(1).map(|at| self.epilogues[at].0.clone()));
            let variant = self.search.with(&changes.iter().collect::<Vec<_>>());
            Candidate { changes, variant }
        };
        found.iter().map(candidate).collect()
    }
}
