//! What lifting, the relative gate and the measured sensitivity say, as short lines for every renderer.

use std::collections::BTreeSet;

use super::{groups, text};
use crate::formula::{Form, Function};
use crate::method::Method;
use crate::problem::Weights;
use crate::results::{
    Beyond, CaseResult, CoefficientResult, DERIVATIVES, ErrorPart, GradientSensitivity, Lifting, Results,
    Sensitivity, Verdict,
};
use crate::tensor::ElementType;

/// What a failed case has beside its worst element: which bounds it is beyond, and truncation and rounding apart.
pub fn of_case(case: &CaseResult) -> Vec<String> {
    let mut lines = Vec::new();
    if case.beyond == Beyond::Probabilistic {
        let ratio = text::share(case.worst_case_ratio);
        lines.push(format!("beyond the probabilistic bound, within the worst case ({ratio} of it)"));
    }
    lines.extend(case.lifted.iter().flat_map(of_lifting));
    lines
}

/// The same of a failed sweep.
pub fn of_sweep(sweep: &CoefficientResult) -> Vec<String> {
    sweep.lifted.iter().flat_map(of_lifting).collect()
}

fn of_lifting(lifted: &Lifting) -> Vec<String> {
    if lifted.verdict == Verdict::Unmeasured || !lifted.reason.is_empty() {
        return vec![format!("lifted to double: {} {}", lifted.verdict.name(), lifted.reason)];
    }
    let part = |name: &str, what: &str, part: ErrorPart| {
        format!(
            "{name} ({what}): {} of its allowance, max {}, rel L2 {}",
            text::share(part.share),
            text::number(part.max, 3),
            text::number(part.rel_l2, 3)
        )
    };
    let conclusion = lifted.conclusion.map_or(String::new(), |c| format!(": {}", c.name()));
    let shrink = lifted.shrink.map_or(String::new(), |s| format!(", error shrinks by 2^{s:.1}"));
    vec![
        format!("lifted to double: {}{conclusion}{shrink}", lifted.verdict.name()),
        part("rounding", "got - lifted", lifted.rounding),
        part("truncation", "lifted - want", lifted.truncation),
    ]
}

/// The cases that were also run in double, with what that came to.
pub fn lifted(results: &Results) -> Vec<(&CaseResult, &Lifting)> {
    results.cases.iter().filter_map(|case| Some((case, case.lifted.as_ref()?))).collect()
}

/// The numbers of bits by which errors shrink in double, ascending. A 16-bit output is rounded on store, which double
/// does not do: that gain says nothing, and is left out.
pub fn shrinks(cases: &[(&CaseResult, &Lifting)]) -> Vec<f64> {
    let f32_only = cases.iter().filter(|(case, _)| case.input == ElementType::F32);
    let mut shrinks: Vec<f64> = f32_only.filter_map(|(_, lifting)| lifting.shrink).collect();
    shrinks.sort_by(f64::total_cmp);
    shrinks
}

/// How the lifted runs went; none where there are none.
pub fn lifting(results: &Results) -> Option<String> {
    results.lifted().next()?;
    let (cases, all) = (lifted(results), results.lifted());
    let passes = results.lifted().filter(|lifted| lifted.verdict == Verdict::Pass).count();
    let shrinks = shrinks(&cases);
    let median = shrinks.get(shrinks.len() / 2).map_or(String::new(), |median| {
        format!("; f32 errors shrink by 2^{median:.1} (median), 2^{:.1} at least", shrinks[0])
    });
    Some(format!("lifted to double: {passes} of {} within the same bounds at u = 2^-53{median}", all.count()))
}

/// Whether a case passes where no error of Ā or B̄ that was planted has shown: its share says nothing of the method.
pub fn says_nothing(results: &Results, case: &CaseResult) -> bool {
    let measured = results.sensitivity.iter().find(|one| {
        (&one.regime, one.weights, Form::from(one.method)) == (&case.regime, case.weights, case.method)
    });
    case.verdict == Verdict::Pass && measured.is_some_and(|one| one.a_bar.is_none() && one.b_bar.is_none())
}

/// The measured sensitivity by regime and weight type.
pub fn by_regime(results: &Results) -> Vec<((&str, Weights), Vec<&Sensitivity>)> {
    groups::by_key(&results.sensitivity, |one| (&*one.regime, one.weights))
}

/// The same of gradients.
pub fn gradients_by_regime(results: &Results) -> Vec<((&str, Weights), Vec<&GradientSensitivity>)> {
    groups::by_key(&results.gradient_sensitivity, |one| (&*one.regime, one.weights))
}

/// The smallest errors caught, for each weight type: in the short regimes, and over all of them; and those of gradients.
pub fn sensitivity(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for weights in Weights::ALL {
        let of = |short: bool| -> Vec<&Sensitivity> {
            let is_short = |s: &&Sensitivity| s.regime == "short" || !short;
            results.sensitivity.iter().filter(|s| s.weights == weights).filter(is_short).collect()
        };
        let (short, all) = (of(true), of(false));
        if all.is_empty() {
            continue;
        }
        let shown = |among: &[&Sensitivity], pick: fn(&Sensitivity) -> Option<i32>| match among
            .iter()
            .filter_map(|s| pick(s))
            .max()
        {
            Some(exponent) => format!("2^{exponent}"),
            None => text::UNMEASURED.to_owned(),
        };
        let blind = all.iter().filter(|s| s.a_bar.is_none() || s.b_bar.is_none()).count();
        let measured = regimes(all.iter().map(|one| &*one.regime));
        let forward = results.cases.iter().filter(|case| !case.is_backward() && !case.has_no_scan());
        let forward = forward.filter(|case| case.input == ElementType::F32);
        let run = regimes(forward.filter(|case| case.weights == weights).map(|case| &*case.regime));
        let of_all = match measured < run {
            true => format!("; measured in {measured} of {run} regimes"),
            false => String::new(),
        };
        lines.push(format!(
            "{weights}: a relative error of {} in Ā and of {} in B̄ is caught in the short regime, of {} and {} \
             wherever either is caught; {} of {} regimes and methods are blind to one of them{of_all}",
            shown(&short, |s| s.a_bar),
            shown(&short, |s| s.b_bar),
            shown(&all, |s| s.a_bar),
            shown(&all, |s| s.b_bar),
            blind,
            all.len()
        ));
    }
    lines.extend(Weights::ALL.into_iter().filter_map(|weights| of_gradients(results, weights)));
    lines
}

/// The smallest error of each derivative that some regime shows, and that the short one does, of the method of which it is largest.
fn of_gradients(results: &Results, weights: Weights) -> Option<String> {
    let all: Vec<&GradientSensitivity> =
        results.gradient_sensitivity.iter().filter(|one| one.weights == weights).collect();
    let shown = |among: &[&GradientSensitivity], at: usize| {
        let smallest = |method: Method| {
            among.iter().filter(|one| one.method == method).map(|one| one.derivatives()[at]).reduce(smaller)
        };
        let has = |method: &Method| DERIVATIVES[at] != "∂h/∂A" || has_h_by_a(*method);
        // Of a method that nothing was measured of, nothing is said.
        let each: Vec<Option<i32>> = Method::ALL.into_iter().filter(has).filter_map(smallest).collect();
        let largest =
            each.iter().copied().collect::<Option<Vec<i32>>>().and_then(|each| each.into_iter().max());
        match largest {
            Some(exponent) => format!("2^{exponent}"),
            None if each.is_empty() => text::UNMEASURED.to_owned(),
            None => "none".to_owned(),
        }
    };
    let list = |among: &[&GradientSensitivity], names: bool| {
        let one = |at: usize| {
            shown(among, at) + &if names { format!(" in {}", DERIVATIVES[at]) } else { String::new() }
        };
        format!("{}, {}, {} and {}", one(0), one(1), one(2), one(3))
    };
    let short: Vec<&GradientSensitivity> = all.iter().copied().filter(|one| one.regime == "short").collect();
    let in_short = if short.is_empty() {
        String::new()
    } else {
        format!(", and the short one errors of {}", list(&short, false))
    };
    let measured = regimes(all.iter().map(|one| &*one.regime));
    let run = results.cases.iter().filter(|case| case.is_backward() && !case.has_no_scan());
    let run = run.filter(|case| case.weights == weights);
    let run = regimes(run.map(|case| &*case.regime));
    (!all.is_empty()).then(|| {
        format!(
            "{weights} gradients: of every method some regime shows a relative error of {}, with h = B̄/B{in_short}; \
             measured in {measured} of {run} regimes",
            list(&all, true)
        )
    })
}

/// How many different ones.
fn regimes<'a>(of: impl Iterator<Item = &'a str>) -> usize {
    of.collect::<BTreeSet<&str>>().len()
}

/// Of two smallest errors, where any shows.
fn smaller(one: Option<i32>, other: Option<i32>) -> Option<i32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Whether a method's h is not Δ alone.
fn has_h_by_a(method: Method) -> bool {
    method.formula().now().iter().any(|term| term.of != Function::Power(0))
}
