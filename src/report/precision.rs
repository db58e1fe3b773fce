//! What lifting, the relative gate and the measured sensitivity say, as short lines for every renderer.

use super::{groups, text};
use crate::formula::{Form, Function};
use crate::method::Method;
use crate::problem::{InputType, Weights};
use crate::results::{
    Beyond, CaseResult, CoefficientResult, ErrorPart, GradientSensitivity, Lifting, Results, Sensitivity,
    Verdict,
};

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
    let f32_only = cases.iter().filter(|(case, _)| case.input == InputType::F32);
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
        lines.push(format!(
            "{weights}: a relative error of {} in Ā and of {} in B̄ is caught in the short regime, of {} and {} \
             wherever either is caught; {} of {} regimes and methods are blind to one of them",
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

/// The smallest error of each derivative that some regime shows, of the method of which it is largest; and in the short regime.
fn of_gradients(results: &Results, weights: Weights) -> Option<String> {
    let all: Vec<&GradientSensitivity> =
        results.gradient_sensitivity.iter().filter(|one| one.weights == weights).collect();
    let smallest = |method: Method, at: usize, regime: Option<&str>| {
        let of =
            all.iter().filter(|one| one.method == method && regime.is_none_or(|name| one.regime == name));
        of.filter_map(|one| one.derivatives()[at]).min()
    };
    let shown = |at: usize, regime: Option<&str>| {
        let has = |method: &Method| at != 3 || has_h_by_a(*method);
        let methods = Method::ALL.into_iter().filter(|method| all.iter().any(|one| one.method == *method));
        let each: Option<Vec<i32>> = methods.filter(has).map(|method| smallest(method, at, regime)).collect();
        let largest = each.and_then(|each| each.into_iter().max());
        largest.map_or(text::UNMEASURED.to_owned(), |exponent| format!("2^{exponent}"))
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| shown(at, None));
    let [e, f, g, h] = [0, 1, 2, 3].map(|at| shown(at, Some("short")));
    (!all.is_empty()).then(|| {
        format!(
            "{weights} gradients: a relative error of {a} in ∂Ā/∂Δ, {b} in ∂h/∂Δ, {c} in ∂Ā/∂A and {d} in ∂h/∂A, with \
             h = B̄/B, is caught in some regime, whatever the method; in the short one of {e}, {f}, {g} and {h}"
        )
    })
}

/// Whether a method's h is not Δ alone.
fn has_h_by_a(method: Method) -> bool {
    method.formula().now().iter().any(|term| term.of != Function::Power(0))
}
