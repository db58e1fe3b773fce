//! Several changes at once, by their pieces: what each changes on its own (Ā, K, B, C, u, or what is around Σ C x) is computed
//! once, and any two that change different pieces are put together from these at the first positions. That takes
//! nanoseconds, so that all pairs are tried, each with every epilogue, and every pair of a change and a number.
//!
//! What is found here is proposed, and nothing more: it is tried on elements as everything else is.

use num_complex::Complex64;

use super::changes::Change;
use super::finder::{self, Family};
use super::looks::Look;
use super::{Candidate, Search, epilogue};
use crate::judge::faults::pieces::{Course, Pieces};
use crate::judge::faults::variant::{Directions, Reversed, Variant};
use crate::parallel;
use crate::tensor::TensorName;

/// Positions and channels that pieces are computed for.
const SOON: usize = 4;
const CHANNELS: usize = 6;
/// Positions × states of a channel up to which a scan in both directions is put together.
const WHOLE: usize = 4096;
/// Positions × states that pairs may take whose pieces do not tell what they do together: those that are more than pieces, those
/// that change the same one, and those that take whole channels.
const DIRECT: usize = 2_000_000;
/// Positions × states that trying one pair takes at least.
const LEAST: usize = 64;
/// Pairs of which one does not show in the first positions.
const HIDDEN: usize = 512;
/// The same of pairs that are put together.
const TOGETHER: usize = 200_000_000;
/// How far a recorded value may be off what is put together, relative to the moduli of what that is a sum of: much more than
/// rounding makes, and little enough to refute nearly all pairs.
const NEAR: f64 = 1e-4;
/// The same of numbers beside changes.
const NUMBERS: usize = 40_000_000;
/// States of all changes beside which another B̄ is looked for.
const FORMULAS: usize = 2000;
/// What holds for the first position and is looked at further.
const STARTS: usize = 48;

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

    fn is_empty(&self) -> bool {
        let Own { a_bar, k, b, c, u, epilogue, course } = self;
        let values = [a_bar, k, b, c].into_iter().all(Option::is_none);
        values && u.is_none() && epilogue.is_none() && course.is_none()
    }
}

/// Pieces of two changes beside those of neither; none where both change the same one.
struct Whole<'a> {
    initial: &'a [Complex64],
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
            initial: &base.initial,
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
            let mut x = self.initial[n];
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
                x = decayed + self.k[delta * states + n] * self.b[b * states + n] * self.u[at(l, flips.u)];
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

/// Changes, and with them what is left to say of them.
enum Proposed {
    /// They are near what was recorded.
    Near(Vec<usize>),
    /// Two whose pieces do not tell: what trying them takes, and of which of the budgets.
    Direct([usize; 2], usize, usize),
}

/// What is used again from pair to pair.
#[derive(Default)]
struct Scratch {
    sums: Vec<(f64, f64)>,
    /// The epilogues that are left.
    left: Vec<usize>,
    /// Positions × states that were put together.
    work: usize,
}

/// A family, its numbers, and what each of them changes.
type Grid<'f> = (&'f Family, Vec<f64>, Vec<Vec<Own>>);

/// Changes by their pieces.
pub(super) struct Together<'s> {
    search: &'s Search<'s>,
    rows: Vec<Row<'s>>,
    looks: Vec<Look>,
    changes: Vec<Change>,
    /// Of each channel; none where a change is more than its pieces.
    own: Vec<Option<Vec<Own>>>,
    /// What trying each beside another takes, in positions × states; nothing where it does not show in the first positions.
    direct: Vec<Option<usize>>,
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
        if !search.tensors.contains(&TensorName::Out) || bidirectional && shape.seqlen * shape.dstate > WHOLE
        {
            return None;
        }
        let len = if bidirectional { shape.seqlen } else { SOON.min(shape.seqlen) };
        let channels = if bidirectional { 1 } else { CHANNELS };
        let looks: Vec<Look> =
            search.spread().take(channels).map(|row| Look { len, ..search.whole(row) }).collect();
        let row = |look: &Look| {
            let base = case.pieces(&search.base, look.channel, len)?;
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
            direct: Vec::new(),
            epilogues: Vec::new(),
            states: shape.dstate,
            len,
            compared: SOON.min(shape.seqlen),
            changes,
        };
        together.own = parallel::map(&together.changes, &|change| together.own(&search.with(&[change])));
        let base: Vec<Vec<f64>> =
            together.looks.iter().map(|look| look.outputs(case, &search.base).values).collect();
        let direct = |i: usize| together.direct(&together.changes[i], &together.own[i], &base);
        together.direct = parallel::each(together.changes.len(), &direct);
        let epilogues = epilogue::beside_others(case.problem).into_iter().filter_map(|change| {
            let own = together.own(&search.with(&[&change]))?;
            Some((change, own))
        });
        together.epilogues = epilogues.collect();
        Some(together)
    }

    fn own(&self, variant: &Variant) -> Option<Vec<Own>> {
        let of = |(look, row): (&Look, &Row)| {
            let pieces = self.search.case.pieces(variant, look.channel, self.len)?;
            Some(Own::new(pieces, &row.base))
        };
        self.looks.iter().zip(&self.rows).map(of).collect()
    }

    /// What trying a change beside another one takes; nothing where it does not show in the first positions.
    fn direct(&self, change: &Change, own: &Option<Vec<Own>>, base: &[Vec<f64>]) -> Option<usize> {
        let (case, variant) = (self.search.case, self.search.with(&[change]));
        let shows = match own {
            Some(own) => own.iter().any(|own| !own.is_empty()),
            None => {
                self.looks.iter().zip(base).any(|(look, base)| look.outputs(case, &variant).values != *base)
            }
        };
        let shape = case.problem.shape;
        let begins = case.beginning(&variant, self.looks[0].channel, 1).is_some();
        shows.then_some(if begins { LEAST } else { 2 * shape.seqlen * shape.dstate })
    }

    /// Leaves the epilogues with which two changes are near what was recorded, 0 being their own; none where their pieces do not
    /// tell.
    fn near(
        &self,
        (one, other): (&[Own], &[Own]),
        compared: usize,
        Scratch { sums, left, work }: &mut Scratch,
    ) -> Option<()> {
        left.clear();
        for (at, row) in self.rows.iter().enumerate() {
            let whole = Whole::new(&row.base, &one[at], &other[at])?;
            if at == 0 {
                left.push(0);
                let others = one[at].epilogue.is_none() && other[at].epilogue.is_none();
                left.extend(1..if others { self.epilogues.len() + 1 } else { 1 });
            }
            for compared in [1, compared] {
                whole.readouts(self.states, compared, sums);
                *work += compared * self.states;
                for (l, sum) in sums.iter().enumerate() {
                    left.retain(|&epilogue| {
                        let own = if epilogue == 0 {
                            None
                        } else {
                            self.epilogues[epilogue - 1].1[at].epilogue.as_ref()
                        };
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

    /// Changes and pairs of them, with epilogues, that are near what was recorded at the first positions that are compared.
    fn all_near(&self, compared: usize, direct: usize) -> Vec<Vec<usize>> {
        let count = self.changes.len();
        let each = self.states * if self.search.base.bidirectional { self.len } else { 2 };
        let tried =
            (1..=count).take_while(|count| count * count / 2 <= TOGETHER / each.max(1)).last().unwrap_or(0);
        let nothing = vec![Own::default(); self.rows.len()];
        let of_one = |i: usize| {
            let (mut scratch, mut found) = (Scratch::default(), Vec::new());
            if self.search.case.work.is_over() {
                return found;
            }
            let mut wanted = [0; 3];
            let with_epilogue = |indices: &[usize], epilogue: usize| {
                [indices, &epilogue.checked_sub(1).map_or(vec![], |at| vec![count + at])].concat()
            };
            let alone = self.own[i].as_ref();
            if alone.is_some_and(|own| self.near((own, &nothing), compared, &mut scratch).is_some()) {
                found.extend(
                    scratch.left.iter().map(|epilogue| Proposed::Near(with_epilogue(&[i], *epilogue))),
                );
            }
            for j in i + 1..tried {
                let (one, other) = (&self.changes[i], &self.changes[j]);
                if one.part == other.part {
                    continue;
                }
                let own = self.own[i].as_ref().zip(self.own[j].as_ref());
                let near = own.and_then(|(one, other)| self.near((one, other), compared, &mut scratch));
                if near.is_some() {
                    let near =
                        scratch.left.iter().map(|epilogue| Proposed::Near(with_epilogue(&[i, j], *epilogue)));
                    found.extend(near);
                } else if let (Some(one_takes), Some(other_takes)) = (self.direct[i], self.direct[j])
                    && let takes = one_takes.max(other_takes)
                    && let budget = (if takes > LEAST { 2 } else { usize::from(own.is_some()) })
                    // What this change alone would spend is more than there is.
                    && wanted[budget] < direct
                {
                    wanted[budget] += takes;
                    found.push(Proposed::Direct([i, j], takes, budget));
                }
            }
            self.search.case.work.add(scratch.work);
            found
        };
        let mut proposed: Vec<Proposed> = parallel::each(tried, &of_one).into_iter().flatten().collect();
        // In this order, and not in that of threads: what is named is the same in every run.
        let mut spent = [0; 3];
        proposed.retain(|one| match one {
            Proposed::Near(_) => true,
            Proposed::Direct(_, takes, budget) => {
                let has_room = spent[*budget] < direct;
                spent[*budget] += if has_room { *takes } else { 0 };
                has_room
            }
        });
        let holds = |one: &Proposed| match one {
            Proposed::Near(indices) => Some(indices.clone()),
            Proposed::Direct(indices, ..) => {
                let variant = self.search.with(&indices.map(|index| &self.changes[index]));
                let refuted = self.looks.iter().any(|look| look.refutes(self.search.case, &variant));
                (!refuted).then(|| indices.to_vec())
            }
        };
        parallel::filter_map(&proposed, &holds)
    }

    fn change(&self, index: usize) -> &Change {
        self.changes.get(index).unwrap_or_else(|| &self.epilogues[index - self.changes.len()].0)
    }

    fn candidate(&self, indices: &[usize]) -> Candidate {
        let changes: Vec<Change> = indices.iter().map(|&index| self.change(index).clone()).collect();
        let variant = self.search.with(&changes.iter().collect::<Vec<_>>());
        Candidate { changes, variant }
    }

    /// Pairs, each with its own or another epilogue, that hold for the first positions.
    pub fn pairs(&self) -> Vec<Candidate> {
        let shows = |indices: &Vec<usize>| {
            indices.iter().all(|index| self.direct.get(*index).is_none_or(|takes| takes.is_some()))
        };
        let (mut found, hidden): (Vec<_>, Vec<_>) =
            self.all_near(self.compared, DIRECT).into_iter().partition(shows);
        found.extend(hidden.into_iter().take(HIDDEN));
        found.iter().map(|indices| self.candidate(indices)).collect()
    }

    /// What holds for the first positions that are compared, and shows in the first one of them.
    fn starts(&self, compared: usize) -> Vec<Candidate> {
        if self.search.base.bidirectional {
            return Vec::new();
        }
        let shows_at_once = |index: &usize| {
            let Some(own) = self.own.get(*index) else { return true };
            let mut rows = own.iter().flatten().zip(&self.rows);
            rows.any(|(own, row)| self.shows_first(own, &row.base))
        };
        let near = self.all_near(compared, 0).into_iter();
        let mut starts: Vec<Vec<usize>> = near.filter(|indices| indices.iter().all(shows_at_once)).collect();
        starts.sort_by_key(Vec::len);
        starts.truncate(STARTS);
        starts.iter().map(|indices| self.candidate(indices)).collect()
    }

    /// Pairs that hold for the first positions, and may fail later.
    pub fn beginnings(&self) -> Vec<Candidate> {
        self.starts(self.compared)
    }

    /// What holds for the first position of each channel, with one change more that shows later.
    pub fn with_later_ones(&self) -> Vec<Candidate> {
        let longer = |start: &Candidate| {
            let is_other = |change: &&Change| start.changes.iter().all(|known| known.part != change.part);
            let joined =
                self.changes.iter().filter(is_other).map(|change| self.search.joined(start, change.clone()));
            let refuted =
                |one: &Candidate| self.looks.iter().any(|look| look.refutes(self.search.case, &one.variant));
            joined.filter(|one| !refuted(one)).collect::<Vec<_>>()
        };
        parallel::flat_map(&self.starts(1), &longer)
    }

    /// Whether the first position alone shows it.
    fn shows_first(&self, own: &Own, base: &Pieces) -> bool {
        let n = self.states;
        let differs = |own: &Option<Vec<Complex64>>, base: &[Complex64]| {
            own.as_ref().is_some_and(|own| own[..n] != base[..n])
        };
        differs(&own.k, &base.k)
            || differs(&own.b, &base.b)
            || differs(&own.c, &base.c)
            || own.u.as_ref().is_some_and(|u| u[0] != base.u[0])
            || own.epilogue.as_ref().is_some_and(|epilogue| epilogue[0] != base.epilogue[0])
            || own.course.is_some()
    }

    /// A change with a number beside each other one.
    pub fn with_numbers(&self) -> Vec<Candidate> {
        let case = self.search.case;
        let families = finder::families(case, &self.looks, &self.search.base);
        let of_family = |i: usize| {
            let family = &families[i];
            let grid = (!family.is_limit()).then(|| family.grid())?;
            let own = |number: &f64| self.own(&family.with(&self.search.base, *number));
            let own: Option<Vec<Vec<Own>>> = grid.iter().map(own).collect();
            Some((family, grid, own?))
        };
        let grids: Vec<Grid> = parallel::each(families.len(), &of_family).into_iter().flatten().collect();
        let each = self.states * if self.search.base.bidirectional { self.len } else { 1 };
        let points: usize = grids.iter().map(|(_, grid, _)| grid.len()).sum();
        let tried = NUMBERS / (each * points).max(1);
        let of_change = |&(change, own): &(&Change, &Vec<Own>)| {
            let start = self.search.alone(change);
            let is_over = case.work.is_over();
            let beside = grids.iter().filter(|(family, ..)| !is_over && family.part() != change.part);
            let mut found = Vec::new();
            for (family, grid, of_grid) in beside {
                for i in self.crossings(own, of_grid) {
                    let between = family.between(grid[i], grid[i + 1]);
                    let number = finder::find(case, (&self.looks, &[]), &start.variant, &between);
                    found.extend(number.map(|number| self.search.joined(&start, number)));
                }
            }
            found
        };
        let changes =
            self.changes.iter().zip(&self.own).filter_map(|(change, own)| Some((change, own.as_ref()?)));
        let epilogues = self.epilogues.iter().map(|(change, own)| (change, own));
        let starts: Vec<(&Change, &Vec<Own>)> = epilogues.chain(changes).take(tried).collect();
        parallel::flat_map(&starts, &of_change)
    }

    /// Another B̄ beside each change that is not about B̄ or Δ.
    pub fn with_formulas(&self) -> Vec<Candidate> {
        if self.search.base.bidirectional {
            return Vec::new();
        }
        let is_beside =
            |own: &&Vec<Own>| own.iter().all(|own| own.k.is_none()) && own.iter().any(|own| !own.is_empty());
        let changes = self.changes.iter().zip(&self.own);
        let beside = changes.filter_map(|(change, own)| own.as_ref().filter(is_beside).map(|_| change));
        let starts: Vec<&Change> = beside.take(FORMULAS / self.states.max(1)).collect();
        let of_change = |change: &&Change| self.search.b_bars(&self.search.alone(change), false);
        parallel::flat_map(&starts, &of_change)
    }

    /// Between which neighbours of a grid what was recorded may be, at every position that is compared.
    fn crossings(&self, own: &[Own], of_grid: &[Vec<Own>]) -> Vec<usize> {
        let mut left: Vec<usize> = (0..of_grid.len() - 1).collect();
        let mut sums = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            // What the first position does not show, the next ones may.
            let shows = of_grid.iter().any(|own| self.shows_first(&own[at], &row.base));
            for compared in if shows { vec![1] } else { vec![1, self.compared] } {
                let mut sides: Vec<Option<Vec<i8>>> = vec![None; of_grid.len()];
                let mut side = |i: usize| -> Option<Vec<i8>> {
                    let whole = Whole::new(&row.base, &own[at], &of_grid[i][at])?;
                    whole.readouts(self.states, compared, &mut sums);
                    self.search.case.work.add(compared * self.states);
                    let of = |(l, sum): (usize, &(f64, f64))| {
                        let (gain, offset) = whole.epilogue[l];
                        let above = row.got[l] > gain * sum.0 + offset;
                        if row.is_near(l, *sum, (gain, offset)) {
                            0
                        } else if above {
                            1
                        } else {
                            -1
                        }
                    };
                    Some(sums.iter().enumerate().map(of).collect())
                };
                for i in left.iter().flat_map(|&i| [i, i + 1]) {
                    if sides[i].is_none() {
                        sides[i] = side(i);
                    }
                }
                left.retain(|&i| {
                    let (Some(one), Some(other)) = (&sides[i], &sides[i + 1]) else { return false };
                    one.iter().zip(other).all(|(one, other)| one * other <= 0)
                });
                if left.is_empty() {
                    return left;
                }
            }
        }
        left
    }
}
