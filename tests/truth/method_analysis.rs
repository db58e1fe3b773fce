//! Promise: what the specification says of its methods (spec.md §2) is what the certified truth measures.

use holdfast::analysis::{self, SYSTEMS, order};
use holdfast::method::Method;
use holdfast::report::methods;
use holdfast::results::analysis::{Convergence, FormProperties, MethodAnalysis};
use holdfast::truth::{Form, Textbook};

fn analysis() -> &'static MethodAnalysis {
    let analysis = analysis::methods();
    assert_eq!(analysis.reason, "");
    analysis
}

fn properties(form: Form) -> &'static FormProperties {
    analysis()
        .forms
        .iter()
        .find(|f| f.form == form.name())
        .unwrap_or_else(|| panic!("{form} was not measured"))
}

/// The orders at the last halvings of Δ, which must have settled: two in a row are the same integer.
fn settled_order(form: Form, system: &str, input: &str) -> Option<f64> {
    let same = |c: &&Convergence| (&*c.form, &*c.system, &*c.input) == (form.name(), system, input);
    let errors = &analysis().convergence.iter().find(same).unwrap().error;
    let order = order::observed(errors);
    let before = order::observed(&errors[..errors.len() - 1]);
    assert_eq!(order.map(f64::round), before.map(f64::round), "{form} {system} {input}: {errors:?}");
    order
}

/// spec.md §2, to the letter: not by way of what the report says.
fn specified_order(method: Method) -> u8 {
    let text = include_str!("../../src/spec.md").replace('\n', " ");
    let (_, orders) = text.split_once("orders for constant input: ").expect("in spec.md §2");
    let orders = orders.split(". ").next().expect("a sentence").split(", ");
    let of = |order: &str| order.strip_prefix(&format!("{method} "))?.parse().ok();
    orders.filter_map(of).next().unwrap_or_else(|| panic!("no order of {method} in spec.md §2"))
}

#[test]
fn measured_order_for_constant_input_is_the_specified_one() {
    for (method, system) in Method::ALL.into_iter().flat_map(|m| SYSTEMS.map(|system| (m, system))) {
        let specified = specified_order(method);
        let order = settled_order(method.into(), system.name, order::CONSTANT).expect("no method is exact");
        // e(Δ) = cΔᵖ(1 + c₁Δ + …) has log₂(e(Δ)/e(Δ/2)) = p + c₁Δ/(2 ln 2) + …, and |c₁| is about |A| at most.
        let size = f64::from(system.a[0]).hypot(f64::from(system.a[1]));
        let settled = size / 128.0 / (2.0 * 2f64.ln());
        assert!((order - f64::from(specified)).abs() <= settled, "{method} {}: {order}", system.name);
        assert_eq!(methods::order_constant(method.into()), Some(specified), "{method}");
    }
}

#[test]
fn every_order_is_the_one_that_reports_expect() {
    for form in Form::all() {
        for system in SYSTEMS {
            let expected = methods::order_constant(form).map(f64::from);
            let measured = settled_order(form, system.name, order::CONSTANT).map(f64::round);
            assert_eq!(measured.map(f64::abs), expected, "{form} {} constant", system.name);
            let expected = methods::order_smooth(form).map(f64::from);
            let measured = settled_order(form, system.name, order::SMOOTH).map(f64::round);
            assert_eq!(measured.map(f64::abs), expected, "{form} {} smooth", system.name);
        }
    }
}

#[test]
fn foh_alone_loses_its_input_as_the_step_vanishes() {
    for form in Form::all() {
        let found = properties(form);
        // |B̄/(ΔB) − 1| ≤ cΔ with c ≤ 1 for A = −1, and Δ = 2⁻¹⁶.
        let limit = if methods::is_consistent(form) { 1.0 } else { 0.0 };
        assert!((found.b_bar_over_delta - limit).abs() <= 2f64.powi(-16), "{found:?}");
        assert_eq!(methods::is_consistent(form), form != Form::Method(Method::Foh));
    }
}

#[test]
fn foh_poly_and_highorder_depend_on_the_unit_of_time_and_the_others_do_not() {
    for form in Form::all() {
        let change = properties(form).time_scale_change;
        let depends = [Method::Foh, Method::Poly, Method::HighOrder].map(Form::Method).contains(&form);
        assert_eq!(change > 1.0, depends, "{form}: {change}");
        assert!(depends || change == 0.0, "{form}: {change}");
        assert_eq!(methods::is_time_scale_invariant(form), !depends);
    }
}

/// eᶻ and bilinear's Ā are bounded by 1 in the left half-plane and nowhere else; the series of four terms also
/// reaches to −2.785… on the real axis (the root of 1 + z/2 + z²/6 + z³/24).
#[test]
fn stable_regions_are_the_known_ones() {
    let regions: Vec<_> = analysis().stability.iter().filter(|r| r.bound == 1.0).collect();
    assert_eq!(regions.len(), 3);
    for region in &regions {
        let axis = region.rows.iter().find(|row| row.im == 0.0).unwrap();
        let [from, to] = axis.intervals[0];
        let classical = region.forms == [Textbook::Rk4Classical.name()];
        // Crossings are interpolated between points 1/8 apart.
        let start = if classical { -2.785_293_563_405_282 } else { region.re[0] };
        assert!((from - start).abs() < 0.01 && to.abs() < 0.01, "{:?}: {from} to {to}", region.forms);
        assert!(classical || region.rows.iter().all(|row| row.intervals.len() == 1), "{:?}", region.forms);
    }
}

/// At ω → 0 the response is that to a constant, B̄/(1 − Ā) = what the step response tends to.
#[test]
fn responses_to_slow_sines_and_to_steps_agree() {
    let analysis = analysis();
    // The methods, and the continuous system.
    let curves = SYSTEMS.len() * (Method::ALL.len() + 1);
    assert_eq!((analysis.frequency.len(), analysis.step.len()), (curves, curves));
    for slow in &analysis.frequency {
        let step = analysis.step.iter().find(|s| s.form == slow.form && s.system == slow.system).unwrap();
        let (decay, scale) = if slow.system == SYSTEMS[0].name { (1.0, 1.0) } else { (0.5, 0.5) };
        // Eight units of time leave e^{−8·decay}, of a tail no larger than twice the response; the slowest sine,
        // ω = π/(96Δ), is off by (ω/|A|)² at most.
        let middle = if slow.form == "poly" { step.output.len() / 2 } else { step.output.len() - 1 };
        let left = 2.0 * (-decay * step.time[middle]).exp() / scale;
        let off = (slow.magnitude[0] - step.output[middle].abs()).abs();
        assert!(off <= slow.magnitude[0] * 0.01 + left, "{} {}: {off}", slow.form, slow.system);
    }
}
