//! B̄ by least squares: an output is linear in the coefficients of the terms c·Δᵖ·f(z) Bᵇ uʷ that B̄u may have. Few terms with
//! recognized coefficients are looked for among many; what they leave has to be rounding, by the variant's own bounds.

use nalgebra::{DMatrix, DVector};

use super::changes::{Change, Part};
use super::looks::{self, Look};
use super::{Candidate, Search, numbers};
use crate::formula::{Formula, Fraction, Function, Term};
use crate::judge::faults::around::{FoundTerm, GateFunction, TERMS};
use crate::judge::faults::variant::Variant;
use crate::notation::{joined, raised, ratio};
use crate::parallel;
use crate::sorted;

/// Positions and channels that terms are fitted to, as far as there are so many.
pub const WHOLE: (usize, usize) = (20, 6);
/// The same where only the beginning may be right.
pub const BEGINNING: (usize, usize) = (7, 16);
/// Sets of terms of each size that are solved exactly, of all that are ranked by their normal equations.
const RANKED: usize = 40;
/// Formulas that are proposed.
const PROPOSED: usize = 12;
/// What all terms together may leave, root mean square, in units of bounds: no few of them leave less.
const TOO_MUCH: f64 = 64.0;
/// Denominators that a coefficient may have.
const DENOMINATORS: [u32; 15] = [1, 2, 3, 4, 6, 8, 12, 24, 5, 10, 16, 30, 60, 120, 720];
/// The same below 1: products of factorials, as nested forms have them by mistake.
const OF_ONE: [u32; 12] = [9, 18, 20, 27, 32, 36, 48, 64, 72, 96, 144, 288];

/// Terms that B̄u may have, those of the input before among them or not: where Δ and B are constant, a scan that reads its
/// states late is one of these, and the likelier of the two.
fn dictionary(neighbours: bool) -> Vec<FoundTerm> {
    let of = |term: Term| FoundTerm { term, b: 1, u: 1, offset: 0 };
    let term = |delta, of| Term { factor: Fraction::ONE, delta, of };
    use Function::{Phi, Power, Resolvent};
    let resolvents = [Resolvent(Fraction::HALF), Resolvent(Fraction::ONE), Resolvent(Fraction(-1, 2))];
    let functions: Vec<Function> =
        (0..=4).map(Power).chain([1, 2, 3, 0].map(Phi)).chain(resolvents).collect();
    let mut all: Vec<FoundTerm> = Vec::new();
    for delta in [1, 2, 3] {
        all.extend(functions.iter().map(|function| of(term(delta, *function))));
    }
    all.extend([Power(0), Power(1), Phi(1), Phi(2)].map(|function| of(term(0, function))));
    for (delta, function) in
        [(1, Power(0)), (1, Power(1)), (2, Power(0)), (2, Phi(2)), (1, Phi(1)), (1, Phi(2))]
    {
        let plain = of(term(delta, function));
        all.extend([
            FoundTerm { b: 2, ..plain },
            FoundTerm { b: 0, ..plain },
            FoundTerm { u: 0, ..plain },
            FoundTerm { u: 2, ..plain },
            FoundTerm { offset: -1, ..plain },
        ]);
    }
    all.extend([Phi(0), Resolvent(Fraction::HALF)].map(|f| FoundTerm { offset: -1, ..of(term(1, f)) }));
    all.retain(|found| neighbours || found.offset == 0);
    all
}

/// The readout of each term of the dictionary, element by element: gates are what it is multiplied with.
pub struct Readouts {
    looks: Vec<Look>,
    dictionary: Vec<FoundTerm>,
    columns: Vec<Vec<f64>>,
}

impl Readouts {
    /// Of a variant, at as many positions and channels.
    pub fn new(
        search: &Search,
        variant: &Variant,
        (positions, channels): (usize, usize),
        neighbours: bool,
    ) -> Self {
        let seqlen = search.case.problem.shape.seqlen;
        let rows = search.order.iter().take(channels);
        let looks: Vec<Look> =
            rows.map(|&row| Look { len: seqlen.min(positions), ..search.whole(row) }).collect();
        let bare = Variant { gate: GateFunction::One, skip: 0.0, ..*variant };
        let dictionary = dictionary(neighbours);
        let of_look = |look: &Look| {
            // What an initial state adds has no B̄ in it.
            let without = look.outputs(search.case, &bare.of_terms(&[])).values;
            let mut all = look.outputs_of_terms(search.case, &bare, &dictionary);
            for column in &mut all {
                column.iter_mut().zip(&without).for_each(|(readout, without)| *readout -= without);
            }
            all
        };
        let rows = parallel::map(&looks, &of_look);
        let column = |term| rows.iter().flat_map(|row: &Vec<Vec<f64>>| &row[term]).copied().collect();
        let columns = (0..dictionary.len()).map(column).collect();
        Readouts { looks, dictionary, columns }
    }
}

/// The formulas of B̄ with which a variant is what was recorded, simple ones first; `readouts` are its own, whatever the gate.
pub fn find(search: &Search, start: &Candidate, readouts: &Readouts) -> Vec<Candidate> {
    let case = search.case;
    if case.work.is_over() {
        return Vec::new();
    }
    let Readouts { looks, dictionary, columns } = readouts;
    if start.variant.gate == GateFunction::OfOutput {
        return Vec::new();
    }
    // With no B̄ all that is left is the skip, and what an initial state leaves.
    let only = |terms: &[FoundTerm]| start.variant.of_terms(terms);
    let without = looks::weighed(case, looks, &only(&[]));
    let bounds: Vec<f64> =
        looks::weighed(case, looks, &start.variant).iter().map(|(_, (_, bound))| *bound).collect();
    let around = looks.iter().flat_map(|look| look.around(case, &start.variant));
    let gates: Vec<f64> =
        around.map(|at| at.z.map_or(1.0, |z| start.variant.gate.of(z, at.u, 0.0))).collect();
    let gated = |readout: &Vec<f64>| -> Vec<f64> {
        let elements = readout.iter().zip(&gates).zip(&bounds);
        elements.map(|((readout, gate), bound)| readout * gate / bound).collect()
    };
    let left = without.iter().zip(&bounds).map(|((got, (without, _)), bound)| (got - without) / bound);
    let fitting = Fitting::new(&columns.iter().map(gated).collect::<Vec<_>>(), &left.collect::<Vec<f64>>());
    if fitting.left_by_all() > TOO_MUCH {
        return Vec::new();
    }
    let mut found: Vec<(usize, u64, Vec<FoundTerm>)> = Vec::new();
    for set in fitting.sets(dictionary) {
        case.work.add(set.len() * bounds.len());
        let Some(coefficients) = fitting.solve(&set) else { continue };
        let known: Option<Vec<Fraction>> = coefficients.iter().map(|c| recognized(*c)).collect();
        let Some(known) = known else { continue };
        let terms: Vec<FoundTerm> = set
            .iter()
            .zip(&known)
            .filter(|(_, factor)| factor.0 != 0)
            .map(|(&i, &factor)| FoundTerm { term: Term { factor, ..dictionary[i].term }, ..dictionary[i] })
            .collect();
        let variant = only(&terms);
        if terms.is_empty() || looks.iter().any(|look| look.refutes(case, &variant)) {
            continue;
        }
        let difficulty = terms.iter().map(difficulty).sum();
        found.push((terms.len(), difficulty, terms));
    }
    sorted::by_key(&mut found, &|(count, difficulty, _)| (*count, *difficulty));
    found.dedup_by(|one, other| one.2 == other.2);
    let formula = start.variant.b_bar.formula();
    let candidate = |(_, _, terms): (usize, u64, Vec<FoundTerm>)| {
        let variant = only(&terms);
        let found = variant.found;
        let change = Change::new(
            Part::BBar,
            "b-bar-identified",
            sentence(&terms, &formula),
            move |v: &mut Variant| v.found = found,
        );
        Candidate { changes: [&[change], &start.changes[..]].concat(), variant }
    };
    found.into_iter().take(PROPOSED).map(candidate).collect()
}

/// The simplest of proposed formulas that holds for every element.
pub fn simplest(search: &Search, proposed: Vec<Candidate>) -> Vec<Candidate> {
    proposed.into_iter().find(|candidate| search.confirmed(candidate).is_some()).into_iter().collect()
}

/// What makes a term less likely: large denominators and high orders.
fn difficulty(found: &FoundTerm) -> u64 {
    let Fraction(numerator, denominator) = found.term.factor;
    let odd = u64::from(found.b != 1) + u64::from(found.u != 1) + u64::from(found.offset != 0);
    u64::from(denominator)
        + u64::from(numerator.unsigned_abs())
        + 4 * odd
        + found.term.order().unsigned_abs() as u64
}

/// A coefficient as a fraction, 0 among them; none where it is none of those that formulas have.
pub fn recognized(coefficient: f64) -> Option<Fraction> {
    let close = |denominator: &u32| {
        let numerator = (coefficient * f64::from(*denominator)).round();
        let off = (numerator / f64::from(*denominator) - coefficient).abs();
        let fits = off <= 2e-3 * coefficient.abs() || off <= 1e-4 && numerator == 0.0 && *denominator == 1;
        (fits && numerator.abs() <= 64.0).then(|| reduced(numerator as i32, *denominator))
    };
    let of_one = |denominator: &u32| close(denominator).filter(|fraction| fraction.0.abs() == 1);
    DENOMINATORS.iter().find_map(close).or_else(|| OF_ONE.iter().find_map(of_one))
}

/// In lowest terms.
pub fn reduced(numerator: i32, denominator: u32) -> Fraction {
    let (mut divisor, mut rest) = (denominator, numerator.unsigned_abs());
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    Fraction(numerator / divisor as i32, denominator / divisor)
}

/// Columns of unit length, and what they are to add up to.
pub struct Fitting {
    columns: Vec<DVector<f64>>,
    lengths: Vec<f64>,
    target: DVector<f64>,
    products: DMatrix<f64>,
    with_target: Vec<f64>,
}

impl Fitting {
    pub fn new(columns: &[Vec<f64>], target: &[f64]) -> Self {
        let finite = |x: &f64| if x.is_finite() { *x } else { 0.0 };
        let target = DVector::from_iterator(target.len(), target.iter().map(finite));
        let vectors: Vec<DVector<f64>> = columns
            .iter()
            .map(|column| DVector::from_iterator(column.len(), column.iter().map(finite)))
            .collect();
        let lengths: Vec<f64> = vectors.iter().map(|v| v.norm()).collect();
        let columns: Vec<DVector<f64>> =
            vectors.iter().zip(&lengths).map(|(v, length)| v / length.max(f64::MIN_POSITIVE)).collect();
        let count = columns.len();
        let products = DMatrix::from_fn(count, count, |i, j| columns[i].dot(&columns[j]));
        let with_target = columns.iter().map(|column| column.dot(&target)).collect();
        Fitting { columns, lengths, target, products, with_target }
    }

    /// What all columns together leave of the target, root mean square.
    fn left_by_all(&self) -> f64 {
        let mut left = self.target.clone();
        let mut directions: Vec<DVector<f64>> = Vec::new();
        for column in &self.columns {
            let mut rest = column.clone();
            // Twice, as the first time leaves roundings of what it takes away.
            for _ in 0..2 {
                for direction in &directions {
                    let share = rest.dot(direction);
                    rest.axpy(-share, direction, 1.0);
                }
            }
            let length = rest.norm();
            if length > 1e-9 {
                rest /= length;
                let share = left.dot(&rest);
                left.axpy(-share, &rest, 1.0);
                directions.push(rest);
            }
        }
        left.norm() / (left.len().max(1) as f64).sqrt()
    }

    /// Sets of terms worth solving: those of up to three that leave least, the best of them with one more, and the
    /// polynomials in z.
    fn sets(&self, dictionary: &[FoundTerm]) -> Vec<Vec<usize>> {
        let usable: Vec<usize> = (0..self.columns.len()).filter(|&i| self.lengths[i] > 0.0).collect();
        let mut all: Vec<Vec<usize>> = usable.iter().map(|&i| vec![i]).collect();
        let mut triples = Vec::new();
        let mut pairs = Vec::new();
        for (a, &i) in usable.iter().enumerate() {
            for (b, &j) in usable.iter().enumerate().skip(a + 1) {
                pairs.push((self.left(&[i, j]), vec![i, j]));
                for &k in &usable[b + 1..] {
                    triples.push((self.left(&[i, j, k]), vec![i, j, k]));
                }
            }
        }
        let best = |mut sets: Vec<(f64, Vec<usize>)>| {
            let count = RANKED.min(sets.len());
            if count > 0 {
                sets.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
            }
            sets.truncate(count);
            sets.into_iter().map(|(_, set)| set).collect::<Vec<_>>()
        };
        all.extend(best(pairs));
        let triples = best(triples);
        let mut quadruples = Vec::new();
        for set in &triples {
            for &more in usable.iter().filter(|more| !set.contains(more)) {
                let set = [&set[..], &[more]].concat();
                quadruples.push((self.left(&set), set));
            }
        }
        all.extend(triples);
        all.extend(best(quadruples));
        // Δ(1, z, …, zᵏ), alone and beside Δ²(1, z, …).
        let powers = |delta: i32, most: usize| -> Vec<usize> {
            let is_one = |i: &usize| {
                let found = &dictionary[*i];
                let power = matches!(found.term.of, Function::Power(k) if k <= most);
                power && found.term.delta == delta && (found.b, found.u, found.offset) == (1, 1, 0)
            };
            usable.iter().copied().filter(is_one).collect()
        };
        for most in 2..=4 {
            all.push(powers(1, most));
            for more in 0..=2 {
                let both = [powers(1, most), powers(2, more)].concat();
                all.extend((both.len() <= TERMS).then_some(both));
            }
        }
        all
    }

    /// What is left of the target's square, by the normal equations.
    fn left(&self, set: &[usize]) -> f64 {
        let n = set.len();
        let mut m = [[0.0f64; 5]; 4];
        for (row, &i) in set.iter().enumerate() {
            for (column, &j) in set.iter().enumerate() {
                m[row][column] = self.products[(i, j)];
            }
            m[row][4] = self.with_target[i];
        }
        // By elimination; what the eliminated unknowns take away of the square is summed up.
        let mut taken = 0.0;
        for k in 0..n {
            let above = m[k];
            if above[k] <= 1e-13 {
                return f64::INFINITY;
            }
            taken += above[4] * above[4] / above[k];
            for row in &mut m[k + 1..n] {
                let factor = row[k] / above[k];
                row.iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
            }
        }
        -taken
    }

    /// The coefficients of these terms, where the data tell them apart.
    pub fn solve(&self, set: &[usize]) -> Option<Vec<f64>> {
        let columns: Vec<DVector<f64>> = set.iter().map(|&i| self.columns[i].clone()).collect();
        if columns.is_empty() {
            return None;
        }
        let svd = DMatrix::from_columns(&columns).svd(true, true);
        let (most, least) = (svd.singular_values.max(), svd.singular_values.min());
        if least < 1e-6 * most {
            return None;
        }
        let solved = svd.solve(&self.target, 0.0).ok()?;
        Some(solved.iter().zip(set).map(|(x, &i)| x / self.lengths[i]).collect())
    }
}

/// A term as it is written: Δ²A/2, −Δ²φ₂/3, …
pub fn written(found: &FoundTerm) -> String {
    let Term { factor: Fraction(numerator, denominator), delta, of } = found.term;
    let (deltas, rest) = match of {
        Function::Power(k) => (delta + k as i32, raised("A", k as i32)),
        Function::Phi(0) => (delta, "e^(ΔA)".to_owned()),
        Function::Phi(k) => (delta, format!("φ{}", ["₀", "₁", "₂", "₃"].get(k).unwrap_or(&"…"))),
        Function::Resolvent(Fraction(1, 1)) => (delta, "(1 − ΔA)⁻¹".to_owned()),
        Function::Resolvent(Fraction(a, b)) => {
            (delta, format!("(1 {} ΔA/{b})⁻¹", if a < 0 { "+" } else { "−" }))
        }
    };
    let b = match found.b {
        0 => " without B",
        1 => "",
        _ => " with B twice",
    };
    let u = match (found.u, found.offset) {
        (0, _) => " without u",
        (1, 0) => "",
        (1, _) => " of the input before",
        _ => " with u twice",
    };
    let symbols = format!("{}{rest}", raised("Δ", deltas));
    format!("{}{b}{u}", ratio(&symbols, numerator.into(), denominator.into()))
}

pub fn sum(terms: &[FoundTerm]) -> String {
    joined(terms.iter().map(written))
}

/// The first orders in Δ, as far as a difference is looked for.
const ORDERS: i32 = 5;

/// What multiplies Δᵐ in a series, by powers of A.
fn at_order(terms: &[Term], m: i32) -> Vec<(usize, f64)> {
    let mut all: Vec<(usize, f64)> = Vec::new();
    for term in terms.iter().filter(|term| term.delta <= m) {
        let k = (m - term.delta) as usize;
        let value = term.factor.value() * term.of.coefficient(k);
        match all.iter_mut().find(|(power, _)| *power == k) {
            Some((_, sum)) => *sum += value,
            None => all.push((k, value)),
        }
    }
    all.retain(|(_, value)| value.abs() > 1e-12);
    sorted::by_key(&mut all, &|(k, _)| std::cmp::Reverse(*k));
    all
}

fn order_text(order: &[(usize, f64)]) -> String {
    if order.is_empty() {
        return "nothing".to_owned();
    }
    joined(order.iter().map(|&(k, value)| factor_text(&raised("A", k as i32), value)))
}

/// A number times a power: as a fraction where it is one.
fn factor_text(power: &str, value: f64) -> String {
    let fraction = recognized(value).filter(|fraction| (fraction.value() - value).abs() < 1e-9);
    match fraction {
        Some(Fraction(above, below)) => ratio(power, above.into(), below.into()),
        None => {
            let dot = if power.is_empty() { "" } else { "·" };
            format!("{}{dot}{power}", numbers::decimal(value))
        }
    }
}

/// The found formula beside the specified one, and where they first differ.
fn sentence(found: &[FoundTerm], specified: &Formula) -> String {
    let of = |term: &Term, offset: isize| FoundTerm { term: *term, b: 1, u: 1, offset };
    let now: Vec<FoundTerm> = specified
        .b_bar
        .iter()
        .zip(crate::formula::OFFSETS)
        .flat_map(|(terms, offset)| terms.iter().map(move |t| of(t, offset)))
        .collect();
    let mut text = format!("B̄ computes {}; specified is {}", sum(found), sum(&now));
    let is_plain = |term: &FoundTerm| (term.b, term.u, term.offset) == (1, 1, 0);
    if found.iter().chain(&now).all(is_plain) {
        let plain = |terms: &[FoundTerm]| terms.iter().map(|found| found.term).collect::<Vec<Term>>();
        let (found, specified) = (plain(found), plain(&now));
        let differs = |m: &i32| {
            let (one, other) = (at_order(&found, *m), at_order(&specified, *m));
            one.len() != other.len()
                || one.iter().zip(&other).any(|(a, b)| a.0 != b.0 || (a.1 - b.1).abs() > 1e-9)
        };
        if let Some(m) = (0..=ORDERS).find(differs) {
            let delta = ratio(&raised("Δ", m), 1, 1);
            text.push_str(&format!(
                "; they differ from {delta} on: it has {} in place of {}",
                order_text(&at_order(&found, m)),
                order_text(&at_order(&specified, m))
            ));
        }
    }
    text
}
