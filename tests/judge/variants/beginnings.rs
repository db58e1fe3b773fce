//! What is computed of first positions alone is the beginning of the whole, for whatever is looked for in recordings and for any
//! length; and what depends on more than them has no beginning.

use holdfast::formula::{Fraction, Function, Term, Textbook};
use holdfast::judge::diagnose::alternatives;
use holdfast::judge::faults::around::{
    Before, Delay, Finish, FoundTerm, GateFunction, Gated, Guarded, Initial, Limited, Raised, Stage, UUse,
};
use holdfast::judge::faults::complex::{OfComplex, Product, Way};
use holdfast::judge::faults::only::{Every, Only};
use holdfast::judge::faults::pieces::pieces;
use holdfast::judge::faults::scan::{beginning, channel, looks_ahead, of_terms};
use holdfast::judge::faults::variant::{BUse, LastState, Readout, Sum, Variant};
use holdfast::method::Method;
use holdfast::problem::conventions::{Reads, StateHolds};
use holdfast::problem::{InputType, Operand, Problem, Shape};
use holdfast::tensor::TensorName;

use super::changed;
use crate::cases::each;
use crate::support::problems::{Layout, generator};

const SEQLEN: usize = 10;

fn problem() -> Problem {
    let shape = Shape { batch: 1, dim: 2, dstate: 2, seqlen: SEQLEN, groups: 2 };
    let layout =
        Layout { shape, c: Operand::Variable, gate: true, extras: true, ..Layout::plain(1, 2, 2, SEQLEN) };
    let mut problem = layout.random(&mut generator("beginnings"));
    problem.judged_channels = problem.channels().collect();
    problem.initial_state = Some(vec![0.5, -1.0, 2.0, 0.25]);
    problem
}

/// The bits, of which all that is no number and both zeros have one kind.
fn bits(values: &[f64]) -> Vec<u64> {
    let of = |value: &f64| if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() };
    values.iter().map(of).collect()
}

#[track_caller]
fn assert_begins(variant: &Variant, problem: &Problem, len: usize, what: &str) {
    let whole = &channel(variant, problem, (0, 1)).tensors[TensorName::Out];
    let Some(first) = beginning(variant, problem, (0, 1), len) else {
        assert!(looks_ahead(variant), "{what}");
        return;
    };
    assert!(!looks_ahead(variant), "{what}");
    assert_eq!(bits(&first.values), bits(&whole.values[..len]), "{what}, {len} positions");
    assert_eq!(bits(&first.bound), bits(&whole.bound[..len]), "{what}, {len} positions");
}

/// One of each name, everywhere and at some places alone.
#[test]
fn the_beginning_of_a_change_is_that_of_the_whole() {
    each([1, 2, 4, 7], |len: usize| {
        let problem = problem();
        let all = alternatives(Method::Foh, &problem, 3);
        let mut compared = 0;
        for (i, one) in all.iter().enumerate() {
            let is_known = all[..i].last().is_some_and(|before| before.name == one.name);
            if is_known || one.variant.in_one_scan.is_some() {
                continue;
            }
            assert_begins(&one.variant, &problem, len, &one.what);
            let only = Only::Positions(Every::Of { length: 2, at: 1 });
            assert_begins(&Variant { only, ..one.variant }, &problem, len, &one.what);
            compared += 1;
        }
        assert!(compared > 150, "{compared}");
    });
}

#[test]
fn outputs_depend_on_later_positions() {
    let cases: [(&str, fn(&mut Variant), bool); 9] = [
        ("right", |_: &mut Variant| {}, false),
        ("two scans", |v: &mut Variant| v.bidirectional = true, true),
        ("backwards", |v: &mut Variant| v.reverse = true, true),
        ("a circle", |v: &mut Variant| v.initial = Initial::Circular, true),
        ("another start", |v: &mut Variant| v.initial = Initial::Ignored, false),
        ("early", |v: &mut Variant| v.delay = Delay::Readout(-1), true),
        ("in time", |v: &mut Variant| v.delay = Delay::Readout(0), false),
        ("late", |v: &mut Variant| v.delay = Delay::Readout(1), false),
        ("late states", |v: &mut Variant| v.delay = Delay::State(1), false),
    ];
    each(cases, |(_, change, ahead)| {
        let variant = changed(Method::Zoh, change);
        assert_eq!(looks_ahead(&variant), ahead);
        assert_eq!(beginning(&variant, &problem(), (0, 0), 3).is_none(), ahead);
    });
}

fn term(of: Function) -> FoundTerm {
    FoundTerm { term: Term { factor: Fraction::ONE, delta: 1, of }, b: 1, u: 1, offset: 0 }
}

/// Terms are computed together where their scan is on its own: φ-functions are there, whichever of them takes one.
#[test]
fn terms_are_computed_together_where_they_can_be() {
    let cases: [(&str, fn(&mut Variant), bool); 5] = [
        ("right", |_: &mut Variant| {}, true),
        ("somewhere", |v: &mut Variant| v.only = Only::States(Every::one(1)), false),
        ("after another scan", |v: &mut Variant| v.initial = Initial::EndOf(Before::Channel), false),
        ("backwards", |v: &mut Variant| v.reverse = true, false),
        ("from 0", |v: &mut Variant| v.initial = Initial::Ignored, true),
    ];
    each(cases, |(_, change, can)| {
        let (problem, variant) = (problem(), changed(Method::Zoh, change));
        let [held, first] = [Function::Power(0), Function::Phi(1)].map(term);
        for terms in [&[held][..], &[first], &[held, first], &[first, held], &[]] {
            let together = of_terms(&variant, &problem, (0, 1), 4, terms);
            assert_eq!(together.is_some(), can);
            let Some(together) = together else { continue };
            assert_eq!(together.len(), terms.len());
            for (term, together) in terms.iter().zip(together) {
                let alone = beginning(&variant.of_terms(&[*term]), &problem, (0, 1), 4).expect("causal");
                assert_eq!(bits(&together), bits(&alone.values), "{term:?}");
            }
        }
    });
}

/// A variant is put together of its pieces, or it is more than they are.
#[test]
fn a_variant_is_what_its_pieces_make() {
    let cases: [(&str, fn(&mut Variant), bool); 29] = [
        ("right", |_: &mut Variant| {}, true),
        ("another b bar", |v: &mut Variant| v.b_bar = Method::Foh.into(), true),
        ("another input", |v: &mut Variant| v.u_use = [UUse::Silu, UUse::Squared], true),
        ("b", |v: &mut Variant| v.b_use = BUse::Twice, true),
        ("ways", |v: &mut Variant| v.ways[Way::BBar as usize] = OfComplex::Modulus, true),
        ("limits", |v: &mut Variant| v.limits[Limited::BBar as usize].1 = 0.1, true),
        ("stages", |v: &mut Variant| v.stages[Stage::Delta as usize] = InputType::F16, true),
        ("the last state", |v: &mut Variant| v.last_state = LastState::Doubled, true),
        ("a readout", |v: &mut Variant| v.readout = Readout::ImaginaryPart, true),
        ("no gate", |v: &mut Variant| v.gate = GateFunction::One, true),
        ("the skip alone", |v: &mut Variant| v.gated = Gated::Skip, true),
        ("two scans", |v: &mut Variant| v.bidirectional = true, true),
        ("a gate of the output", |v: &mut Variant| v.gate = GateFunction::OfOutput, false),
        ("one gated scan", |v: &mut Variant| v.gated = Gated::ForwardAndSkip, false),
        ("a skip with a step", |v: &mut Variant| v.u_use[1] = UUse::TimesDelta, false),
        ("mixed states", |v: &mut Variant| v.sum = Sum::OuterProducts, false),
        ("a neighbour", |v: &mut Variant| v.b_bar = Textbook::FohCausal.into(), false),
        ("somewhere", |v: &mut Variant| v.only = Only::Below(Guarded::Z, 0.5), false),
        ("a late state", |v: &mut Variant| v.delay = Delay::State(1), false),
        ("another start", |v: &mut Variant| v.initial = Initial::Ignored, false),
        ("a narrow state", |v: &mut Variant| v.state = InputType::Bf16, false),
        ("a limited state", |v: &mut Variant| v.limits[Limited::State as usize].1 = 1.0, false),
        ("a limited sum", |v: &mut Variant| v.limits[Limited::Sum as usize].1 = 1.0, false),
        ("a narrow input", |v: &mut Variant| v.stages[Stage::Input as usize] = InputType::F16, false),
        ("a wrong product", |v: &mut Variant| v.products[0] = Product::Moduli, false),
        ("a kept state", |v: &mut Variant| v.ways[Way::Kept as usize] = OfComplex::RealPart, false),
        ("raised", |v: &mut Variant| v.raised = Raised::Added(0.1), false),
        ("finished", |v: &mut Variant| v.finish = Finish::Tanh, false),
        ("u missing", |v: &mut Variant| v.u_in_higher_terms = false, false),
    ];
    each(cases, |(_, change, is)| {
        let variant = changed(Method::Zoh, change);
        assert_eq!(pieces(&variant, &problem(), (0, 1), 5).is_some(), is);
        // Under conventions of its own a scan is read otherwise.
        let mut before = problem();
        before.conventions.reads = Reads::BeforeUpdate;
        let mut without_b = problem();
        without_b.conventions.state = StateHolds::InputAlone;
        for stated in [before, without_b] {
            assert!(pieces(&variant, &stated, (0, 1), 5).is_none());
        }
    });
}
