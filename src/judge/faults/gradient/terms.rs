//! A coefficient, or its derivative, that has other terms than specified: c·Δⁱ·Aʲ·f(z), found by least squares. A gradient is
//! linear in the coefficient that its own product has, so what is too much in it is a sum of what single terms would give.

use super::diagnose::{Look, PAIRS, TELLING, number};
use super::structure::{By, Of, Site, Swap, Term};
use super::sums::simple;
use super::variant::Variant;
use crate::parallel;
use crate::results::Diagnosis;
use crate::sorted;
use crate::tensor::GradientName::{A, B, Delta, DeltaBias, U};

/// What is said of a coefficient that was found.
pub const TERMS: (&str, &str) =
    ("coefficient-of-other-terms", "a coefficient or its derivative has terms too many, or lacks some");

/// The highest powers of Δ and of A.
const POWERS: (u8, u8) = (4, 3);
/// The most terms that are put together.
const TOGETHER: usize = 3;
/// What a fit may leave of the error, as a first look.
const LEFT: f64 = 1e-6;
/// Fits that are computed in whole.
const PROPOSED: usize = 16;

type Place = (&'static [Site], &'static str);

/// A term at a place, and what it adds to the gradient.
struct Member {
    place: &'static str,
    term: Term,
    values: Vec<f64>,
}

/// The fewest terms that explain the gradient.
pub fn found(look: &Look) -> Option<Diagnosis> {
    let places: &[Place] = match look.name {
        U => &[(&[Site::HInU], "B̄/B in grad.u")],
        B => &[(&[Site::HInB], "B̄/B in grad.B")],
        Delta | DeltaBias => {
            &[(&[Site::HByDelta], "B̄'s derivative by Δ"), (&[Site::ABarByDelta], "Ā's derivative by Δ")]
        }
        A => &[(&[Site::HByA], "B̄'s derivative by A"), (&[Site::ABarByA], "Ā's derivative by A")],
        _ => &[],
    };
    let functions: Vec<Of> = match look.case.form.formula().is_rational() {
        true => [Of::One].into_iter().chain((1..=3).map(Of::Resolvent)).collect(),
        false => [Of::One].into_iter().chain((0..=4).map(Of::Phi)).collect(),
    };
    let powers = (0..=POWERS.0).flat_map(|delta| (0..=POWERS.1).map(move |a| (delta, a)));
    let terms: Vec<Term> =
        powers.flat_map(|(delta, a)| functions.iter().map(move |&of| Term { delta, a, of })).collect();
    let count = places.len() * terms.len();
    let got = &look.case.got[look.name].values;
    if count == 0 || count * look.whole_cost() > PAIRS || got.len() < 2 * TELLING {
        return None;
    }
    let want = &look.case.want[look.name].values;
    let compute = |sites: &'static [Site], by: By| {
        let mut variant = Variant::specified(look.case.form);
        variant.swap(Swap { sites, by, side: None });
        look.case.sums(&variant, &look.whole_scope())[look.name].clone()
    };
    let mut members: Vec<Member> = Vec::new();
    for &(sites, place) in places {
        let zero = compute(sites, By::Zero);
        members.extend(parallel::map(&terms, &|&term| {
            let with = compute(sites, By::Term(term));
            Member { place, term, values: with.iter().zip(&zero).map(|(with, zero)| with - zero).collect() }
        }));
    }
    if look.case.work.is_over() {
        return None;
    }
    members.retain(|member| member.values.iter().all(|value| value.is_finite()));
    let bounds = &look.case.bounds[look.name];
    let width = look.case.want[look.name].width;
    let weigh = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        values.enumerate().map(|(i, value)| value / bounds[i / width]).collect()
    };
    let error = weigh(&mut got.iter().zip(want).map(|(got, want)| got - want));
    if error.iter().any(|error| !error.is_finite()) {
        return None;
    }
    let weighed: Vec<Vec<f64>> =
        members.iter().map(|member| weigh(&mut member.values.iter().copied())).collect();
    let fits = Fits::new(&weighed, &error);
    (1..=TOGETHER).find_map(|together| {
        let proposed = fits.best(together);
        look.case.work.add(proposed.len());
        let complexity = |(at, _): &(Vec<usize>, Vec<f64>)| {
            at.iter().map(|&at| members[at].term.delta + members[at].term.a).sum::<u8>()
        };
        let mut proposed: Vec<(Vec<usize>, Vec<f64>)> = proposed;
        sorted::by_key(&mut proposed, &complexity);
        proposed.into_iter().find_map(|(at, factors)| {
            let factors: Vec<f64> = factors.into_iter().map(simple).collect::<Option<_>>()?;
            let value =
                |i: usize| at.iter().zip(&factors).map(|(&at, by)| members[at].values[i] * by).sum::<f64>();
            let model: Vec<f64> = (0..want.len()).map(|i| want[i] + value(i)).collect();
            let mut said: Vec<(&str, String)> = Vec::new();
            for (&at, &factor) in at.iter().zip(&factors).filter(|(_, factor)| **factor != 0.0) {
                let Member { place, term, .. } = &members[at];
                match said.iter_mut().find(|(of, _)| of == place) {
                    Some((_, text)) => *text += &format!(" {} {}", sign(factor), worded(factor.abs(), *term)),
                    None if factor < 0.0 => said.push((place, format!("−{}", worded(-factor, *term)))),
                    None => said.push((place, worded(factor, *term))),
                }
            }
            let said: Vec<String> =
                said.iter().map(|(place, text)| format!("{place} has {text} too much")).collect();
            look.explained(TERMS.0, &said.join(", and "), &model)
        })
    })
}

fn sign(factor: f64) -> &'static str {
    if factor < 0.0 { "−" } else { "+" }
}

/// `2Δ²Aφ₃`
fn worded(factor: f64, Term { delta, a, of }: Term) -> String {
    let power = |of: &str, by: u8| match by {
        0 => String::new(),
        1 => of.to_owned(),
        by => format!("{of}{}", ["⁰", "¹", "²", "³", "⁴"][usize::from(by)]),
    };
    let of = match of {
        Of::One => String::new(),
        Of::Phi(0) => "exp(ΔA)".to_owned(),
        Of::Phi(k) => format!("φ{}", ["₀", "₁", "₂", "₃", "₄"][usize::from(k)]),
        Of::Resolvent(by) => format!("/(1 − ΔA/2){}", ["", "", "²", "³"][usize::from(by)]),
    };
    let product = format!("{}{}{of}", power("Δ", delta), power("A", a));
    let is_bare = product.is_empty() || product.starts_with('/');
    match factor == 1.0 {
        true if is_bare => format!("1{product}"),
        true => product,
        false if is_bare => format!("{}{product}", number(factor)),
        false => format!("{}·{product}", number(factor)),
    }
}

/// Least squares over few of many members, by their products.
struct Fits {
    /// Of each member with each, and with the error, all of size 1.
    products: Vec<Vec<f64>>,
    with_error: Vec<f64>,
    /// The error's size over each member's.
    scale: Vec<f64>,
}

impl Fits {
    fn new(members: &[Vec<f64>], error: &[f64]) -> Self {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let size = dot(error, error).sqrt();
        let sizes: Vec<f64> = members.iter().map(|member| dot(member, member).sqrt()).collect();
        let of = |i: usize| -> Vec<f64> {
            (0..=i).map(|j| dot(&members[i], &members[j]) / (sizes[i] * sizes[j])).collect()
        };
        let products = parallel::each(members.len(), &of);
        let with_error = members.iter().zip(&sizes).map(|(m, of)| dot(m, error) / (of * size)).collect();
        Fits { products, with_error, scale: sizes.iter().map(|of| size / of).collect() }
    }

    /// The members and factors that leave almost nothing of the error.
    fn best(&self, together: usize) -> Vec<(Vec<usize>, Vec<f64>)> {
        let firsts = parallel::each(self.products.len(), &|last| {
            let mut found = Vec::new();
            self.add_sets(&mut [last; TOGETHER], (1, together), &mut found);
            found
        });
        let mut found: Vec<(f64, Vec<usize>, Vec<f64>)> = firsts.into_iter().flatten().collect();
        sorted::by_number(&mut found, &|one| one.0);
        found.truncate(PROPOSED);
        found.into_iter().map(|(_, set, factors)| (set, factors)).collect()
    }

    /// Those of the sets that begin with the first `count` members of this one, each before those that follow it. There are
    /// hundreds of thousands: none takes memory of its own that leaves something.
    fn add_sets(
        &self,
        set: &mut [usize; TOGETHER],
        (count, together): (usize, usize),
        found: &mut Vec<(f64, Vec<usize>, Vec<f64>)>,
    ) {
        if count < together {
            for next in 0..set[count - 1] {
                set[count] = next;
                self.add_sets(set, (count + 1, together), found);
            }
        } else if let Some((left, factors)) = self.fit(&set[..together]) {
            found.push((left, set[..together].to_vec(), factors[..together].to_vec()));
        }
    }

    /// What the best factors leave of the error's square where that is almost nothing, and these.
    fn fit(&self, set: &[usize]) -> Option<(f64, [f64; TOGETHER])> {
        let product = |i: usize, j: usize| self.products[i.max(j)][i.min(j)];
        let count = set.len();
        let mut rows = [[0.0; TOGETHER + 1]; TOGETHER];
        for (row, &i) in rows.iter_mut().zip(set) {
            row.iter_mut().zip(set).for_each(|(value, &j)| *value = product(i, j));
            row[count] = self.with_error[i];
        }
        for i in 0..count {
            let pivot = rows[i];
            // Members that are almost one another tell nothing apart.
            if pivot[i].is_nan() || pivot[i] < 1e-10 {
                return None;
            }
            for row in rows[i + 1..count].iter_mut() {
                let factor = row[i] / pivot[i];
                row.iter_mut().zip(&pivot).for_each(|(x, pivot)| *x -= factor * pivot);
            }
        }
        let left = (0..count).rev().fold(1.0, |left, i| left - rows[i][count].powi(2) / rows[i][i]);
        if left.is_nan() || left >= LEFT {
            return None;
        }
        let mut factors = [0.0; TOGETHER];
        for i in (0..count).rev() {
            let known: f64 = (i + 1..count).map(|j| rows[i][j] * factors[j]).sum();
            factors[i] = (rows[i][count] - known) / rows[i][i];
        }
        factors.iter_mut().zip(set).for_each(|(factor, &at)| *factor *= self.scale[at]);
        Some((left, factors))
    }
}
