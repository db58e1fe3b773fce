//! Closed forms of φ-functions, (eᶻ − Σ zⁱ/i!)/zᵏ, with other numbers in them: outputs are linear in what is too much, so that it
//! is found by least squares. A sum that stops too early is one, and so are factorials that are wrong.

use super::b_bar::{Fitting, WHOLE, recognized, reduced};
use super::changes::{Change, Part};
use super::looks::{self, Look};
use super::{Candidate, Search};
use crate::formula::{Form, Fraction, Function};
use crate::judge::faults::partial_sums::PartialSums;
use crate::judge::faults::variant::Variant;
use crate::notation::{joined, raised, ratio};

/// The most numbers that are wrong at once: one in each of three φ-functions.
const TOGETHER: usize = 3;
const NOTHING: Fraction = Fraction(0, 1);
const SUBSCRIPTS: [&str; 4] = ["₀", "₁", "₂", "₃"];
const FACTORIALS: [u32; 4] = [1, 1, 2, 6];

/// One number of a numerator: which φₖ's, and of which power of z; none for that of eᶻ.
type Place = (usize, Option<usize>);

/// The φ-functions that a form takes.
fn phis(form: Form) -> Vec<usize> {
    (1..4).filter(|k| form.formula().now().iter().any(|term| term.of == Function::Phi(*k))).collect()
}

/// The hypothesis whose numbers, all of them simple fractions, explain what is looked at.
pub fn find(search: &Search, start: &Candidate) -> Option<Candidate> {
    let (case, variant) = (search.case, &start.variant);
    let places: Vec<Place> = phis(case.form)
        .into_iter()
        .flat_map(|k| (0..k).map(Some).chain([None]).map(move |of| (k, of)))
        .collect();
    if places.is_empty() {
        return None;
    }
    let len = case.problem.shape.seqlen.min(WHOLE.0);
    let looks: Vec<Look> =
        search.order.iter().take(WHOLE.1).map(|&row| Look { len, ..search.whole(row) }).collect();
    let outputs =
        |sums: PartialSums| looks::weighed(case, &looks, &Variant { partial_sums: Some(sums), ..*variant });
    let without = outputs(PartialSums::RIGHT);
    let in_bounds = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        values.zip(&without).map(|(value, (_, (right, bound)))| (value - right) / bound).collect()
    };
    let target = in_bounds(&mut without.iter().map(|(got, _)| *got));
    let columns: Vec<Vec<f64>> = places
        .iter()
        .map(|place| {
            let with = outputs(with(&[(*place, Fraction::ONE)]));
            in_bounds(&mut with.into_iter().map(|(_, (value, _))| value))
        })
        .collect();
    if !columns.iter().chain([&target]).flatten().all(|value| value.is_finite()) {
        return None;
    }
    let fitting = Fitting::new(&columns, &target);
    let proposed = |set: &Vec<usize>| -> Option<Candidate> {
        let known: Option<Vec<Fraction>> = fitting.solve(set)?.into_iter().map(recognized).collect();
        let numbers: Vec<(Place, Fraction)> =
            set.iter().map(|&i| places[i]).zip(known?).filter(|(_, number)| number.0 != 0).collect();
        // Where some of them are nothing, fewer explain it.
        if numbers.len() < set.len() {
            return None;
        }
        let candidate = search.joined(start, change(case.form, with(&numbers)));
        (!looks.iter().any(|look| look.refutes(case, &candidate.variant))).then_some(candidate)
    };
    (1..=TOGETHER).find_map(|count| sets(places.len(), count).iter().find_map(proposed))
}

/// Every choice of so many of the first `n` numbers.
fn sets(n: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = |set: Vec<usize>| {
            let from = set.last().map_or(0, |last| last + 1);
            (from..n).map(move |next| [&set[..], &[next]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Numerators with these numbers too much.
fn with(numbers: &[(Place, Fraction)]) -> PartialSums {
    let mut sums = PartialSums::RIGHT;
    for &((k, of), number) in numbers {
        match of {
            Some(i) => sums.of_powers[k - 1][i] = number,
            None => sums.of_exponential[k - 1] = number,
        }
    }
    sums
}

/// a − b
fn less(a: Fraction, b: Fraction) -> Fraction {
    reduced(a.0 * b.1 as i32 - b.0 * a.1 as i32, a.1 * b.1)
}

/// `eᶻ − 1 − z − z²/2`
fn numerator(sums: &PartialSums, k: usize) -> String {
    let exponential = less(sums.of_exponential[k - 1], Fraction(-1, 1));
    let powers =
        (0..k).map(|i| (less(sums.of_powers[k - 1][i], Fraction(1, FACTORIALS[i])), raised("z", i as i32)));
    let all = std::iter::once((exponential, "eᶻ".to_owned())).chain(powers);
    let present = all.filter(|(Fraction(above, _), _)| *above != 0);
    joined(present.map(|(Fraction(above, below), of)| ratio(&of, above.into(), below.into())))
}

/// (numerator)/zᵏ
fn quotient(sums: &PartialSums, k: usize) -> String {
    let above = numerator(sums, k);
    let above = if above.contains(' ') { format!("({above})") } else { above };
    format!("{above}/{}", raised("z", k as i32))
}

fn change(form: Form, sums: PartialSums) -> Change {
    let changed = phis(form).into_iter().filter(|k| sums.changes(*k));
    let one = |k: usize| {
        let (is, right) = (quotient(&sums, k), quotient(&PartialSums::RIGHT, k));
        format!("φ{} is {is}, for {right}", SUBSCRIPTS[k])
    };
    let what = format!("in B̄ {}", changed.map(one).collect::<Vec<_>>().join("; "));
    Change::new(Part::BBar, "phi-closed-form", what, move |v: &mut Variant| v.partial_sums = Some(sums))
}

/// The likeliest ones, in all φ-functions or in one of them: what is tried beside others, and where |z| is not small alone.
pub fn few(form: Form) -> Vec<Change> {
    type Kind = fn(usize, usize) -> Fraction;
    // What is added of zⁱ to the numerator of φₖ.
    let kinds: [Kind; 5] = [
        // The sum stops one term early.
        |k, i| if i + 1 == k { Fraction(1, FACTORIALS[i]) } else { NOTHING },
        // It lacks its factorials.
        |_, i| less(Fraction(1, FACTORIALS[i]), Fraction::ONE),
        // Those are one too high.
        |_, i| less(Fraction(1, FACTORIALS[i]), Fraction(1, FACTORIALS[i + 1])),
        // Its 1 is subtracted from what has lost it, as from expm1.
        |_, i| if i == 0 { Fraction(-1, 1) } else { NOTHING },
        // Signs alternate.
        |_, i| if i % 2 == 1 { Fraction(2, FACTORIALS[i]) } else { NOTHING },
    ];
    let phis = phis(form);
    let each = phis.iter().filter(|_| phis.len() > 1).map(|k| vec![*k]);
    let chosen: Vec<Vec<usize>> = std::iter::once(phis.clone()).chain(each).collect();
    let mut known: Vec<PartialSums> = vec![PartialSums::RIGHT];
    for kind in kinds {
        for phis in &chosen {
            let numbers = phis.iter().flat_map(|&k| (0..k).map(move |i| ((k, Some(i)), kind(k, i))));
            let sums = with(&numbers.collect::<Vec<_>>());
            if !known.contains(&sums) {
                known.push(sums);
            }
        }
    }
    known.into_iter().skip(1).map(|sums| change(form, sums)).collect()
}
