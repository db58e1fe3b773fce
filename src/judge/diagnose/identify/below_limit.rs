//! B̄ that is a polynomial of its own where |ΔA|, |A| or Δ is below a limit, by least squares: for each term of the formula and
//! each limit that somebody may have chosen, outputs are linear in the coefficients of what takes that term's place there. This
//! finds series with wrong coefficients, and limits that are taken where they do not hold yet.

use super::b_bar::{Fitting, recognized, sum};
use super::changes::{Change, Part};
use super::guards::{guarded, limits};
use super::looks::{self, Look};
use super::{Candidate, Search};
use crate::formula::{Fraction, Function, Term};
use crate::judge::faults::around::{FoundTerm, Guarded, TERMS};
use crate::judge::faults::variant::Variant;
use crate::parallel;

/// Powers of z that take a term's place, at most.
const POWERS: usize = 4;
/// Channels and positions × states of each that are looked at.
const CHANNELS: usize = 4;
const ELEMENTS: usize = 400;
/// Positions × states of a channel of a scan in both directions, at most.
const LONGEST: usize = 4096;

/// A term of the formula, a limit, and of what it is one.
type Place = (usize, f64, (Guarded, &'static str));

/// The likeliest such B̄ that explains what is looked at.
pub fn find(search: &Search) -> Option<Candidate> {
    let case = search.case;
    let shape = case.problem.shape;
    // A scan in both directions is computed as a whole for each of them.
    if search.base.bidirectional && shape.seqlen * shape.dstate > LONGEST {
        return None;
    }
    let len = shape.seqlen.min((ELEMENTS / shape.dstate.max(1)).max(super::BEYOND));
    let looks: Vec<Look> =
        search.order.iter().take(CHANNELS).map(|&row| Look { len, ..search.whole(row) }).collect();
    let own = case.form.formula();
    let is_series = |term: &Term| matches!(term.of, Function::Phi(1..) | Function::Resolvent(_));
    let terms: Vec<Term> = own.now().to_vec();
    // Those of a neighbouring position have no place in what is found.
    if own.b_bar.iter().skip(1).any(|terms| !terms.is_empty()) {
        return None;
    }
    let of_base = looks::weighed(case, &looks, &search.base);
    let fitted = |&(at, limit, guarded): &Place| -> Option<Candidate> {
        let others: Vec<FoundTerm> =
            terms.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, term)| found(*term)).collect();
        let variant = |more: &[FoundTerm]| {
            let mut all = [None; TERMS];
            all.iter_mut().zip(others.iter().chain(more)).for_each(|(slot, term)| *slot = Some(*term));
            Variant { found: Some(all), other_below: limit, guarded: guarded.0, ..search.base }
        };
        let power = |k: usize, factor: Fraction| {
            found(Term { factor, delta: terms[at].delta, of: Function::Power(k) })
        };
        let without = looks::weighed(case, &looks, &variant(&[]));
        let scaled = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            let elements = values.zip(&without).zip(&of_base);
            elements.map(|((value, (_, without)), (_, (_, bound)))| (value - without.0) / bound).collect()
        };
        let most = POWERS.min(TERMS - others.len());
        let with = |k: usize| looks::weighed(case, &looks, &variant(&[power(k, Fraction::ONE)]));
        let columns: Vec<Vec<f64>> =
            (0..most).map(|k| scaled(&mut with(k).iter().map(|(_, (value, _))| *value))).collect();
        let target = scaled(&mut of_base.iter().map(|(got, _)| *got));
        let fitting = Fitting::new(&columns, &target);
        (1..=most).find_map(|count| {
            let coefficients = fitting.solve(&(0..count).collect::<Vec<_>>())?;
            let known: Option<Vec<Fraction>> = coefficients.iter().map(|c| recognized(*c)).collect();
            let of_powers: Vec<FoundTerm> = (0..)
                .zip(known?)
                .filter(|(_, factor)| factor.0 != 0)
                .map(|(k, factor)| power(k, factor))
                .collect();
            if of_powers.is_empty() {
                return None;
            }
            let variant = variant(&of_powers);
            if looks.iter().any(|look| look.refutes(case, &variant)) {
                return None;
            }
            let what = format!(
                "B̄ has {} in place of {} where {} is below {limit}, and is right elsewhere",
                sum(&of_powers),
                sum(&[found(terms[at])]),
                guarded.1
            );
            let (all, guarded) = (variant.found, guarded.0);
            let change = Change::new(Part::BBar, "b-bar-other-near-0", what, move |v: &mut Variant| {
                (v.found, v.other_below, v.guarded) = (all, limit, guarded);
            });
            Some(search.alone(&change))
        })
    };
    let of_limit = |limit: f64| {
        guarded(case.problem.weights).iter().map(move |&guarded| (limit, guarded)).collect::<Vec<_>>()
    };
    let series = terms.iter().enumerate().filter(|(_, term)| is_series(term)).map(|(at, _)| at);
    let places: Vec<Place> = series
        .flat_map(|at| limits().into_iter().flat_map(of_limit).map(move |(limit, of)| (at, limit, of)))
        .collect();
    // All of them, so that what it takes is the same in every run.
    parallel::filter_map(&places, &fitted).into_iter().next()
}

fn found(term: Term) -> FoundTerm {
    FoundTerm { term, b: 1, u: 1, offset: 0 }
}
