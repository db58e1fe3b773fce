//! Promise: each fault model says what it is about, applies to what has that, and changes what its name says.

use std::collections::{BTreeMap, BTreeSet};

use holdfast::formula::Form;
use holdfast::judge::faults::gradient::catalogue::{self, Fault, windows};
use holdfast::judge::faults::gradient::find;
use holdfast::judge::faults::gradient::structure::{self, Axis, By, Map, Sides, Site, StepSize, Swap};
use holdfast::judge::faults::gradient::variant::{
    Accumulator, Carry, Edge, Length, Misread, Over, PhiSlope, Pick, PowerSlope, SlopePart, Variant,
};
use holdfast::method::Method;
use holdfast::problem::conventions::StateHolds;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::tensor::GradientName::Delta;
use rstest::rstest;

use super::random;
use crate::figures::golden;
use crate::support::problems::{Layout, generator};

/// What an input, a statement or a size takes from a problem.
type Change = fn(&mut Problem);
const LESS: [Change; 25] = [
    |p| p.z = None,
    |p| p.d = None,
    |p| (p.z, p.d) = (None, None),
    |p| p.delta_bias = None,
    |p| p.delta_softplus = false,
    |p| (p.delta_bias, p.delta_softplus) = (None, false),
    |p| p.initial_state = None,
    |p| p.b_operand = Operand::Constant,
    |p| p.c_operand = Operand::Constant,
    |p| (p.b_operand, p.conventions.state) = (Operand::Constant, StateHolds::InputAlone),
    |p| p.shape.batch = 1,
    |p| p.shape.batch = 16,
    |p| p.shape.batch = 17,
    |p| (p.shape.dim, p.shape.groups) = (1, 1),
    |p| p.shape.groups = 1,
    |p| p.shape.groups = 4,
    |p| p.shape.dstate = 1,
    |p| p.shape.seqlen = 1,
    |p| p.shape.seqlen = 2,
    |p| p.shape.seqlen = 3,
    |p| p.shape.seqlen = 16,
    |p| p.shape.seqlen = 17,
    |p| p.shape.seqlen = 32,
    |p| p.shape.seqlen = 256,
    |p| p.shape.seqlen = 257,
];

/// Every method with both kinds of weights, then the one that has the most with less.
fn various() -> Vec<(Method, Problem)> {
    let mut rng = generator("what faults apply to");
    let shape = Shape { batch: 2, dim: 4, dstate: 2, seqlen: 33, groups: 2 };
    let (b, c) = (Operand::Variable, Operand::Variable);
    let mut draw = |weights| {
        let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
        random(&layout, &mut rng).0
    };
    let (real, complex) = (draw(Weights::Real), draw(Weights::Complex));
    let full = |method| [(method, real.clone()), (method, complex.clone())];
    let less = |change: Change| {
        let mut problem = complex.clone();
        change(&mut problem);
        (Method::Poly, problem)
    };
    Method::ALL.into_iter().flat_map(full).chain(LESS.into_iter().map(less)).collect()
}

/// The words of a name that are no numbers: all of them in the catalogue, and where a place is.
fn pattern(name: &str, words: usize) -> String {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let words = name.split('-').take(words).map(|word| if is_number(word) { "#" } else { word });
    words.collect::<Vec<_>>().join("-")
}

fn row(fault: &Fault, words: usize, problems: &[(Method, Problem)]) -> String {
    let is = [
        ('r', fault.rounds()),
        ('d', fault.divides()),
        ('s', fault.is_separate()),
        ('f', fault.is_factor()),
        ('w', fault.without(Method::Zoh.into()).is_some()),
    ];
    let is: String = is.into_iter().map(|(mark, is)| if is { mark } else { '.' }).collect();
    let mark = |(method, problem): &(Method, Problem)| {
        if fault.applies((*method).into(), problem) { 'x' } else { '.' }
    };
    let applies: String = problems.iter().map(mark).collect();
    format!("{} | {is} | {applies}", pattern(fault.name, words))
}

#[test]
fn what_faults_are_and_apply_to_is_as_recorded() {
    let description = "Faults of backward passes: their names or places, whether they round, divide, are separate, are factors and \
                       have a place that can be 0, the problems that they apply to, and how many there are of these.";
    let problems = various();
    let places = structure::ALL.iter().chain(structure::OF_ANY_LENGTH.iter());
    let all = catalogue::ALL.iter().chain(catalogue::PARTS.iter()).map(|fault| (fault, usize::MAX));
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    for (fault, words) in all.chain(places.map(|fault| (fault, 3))) {
        *rows.entry(row(fault, words, &problems)).or_default() += 1;
    }
    let table: String = rows.iter().map(|(row, count)| format!("{row} | {count}\n")).collect();
    golden("backward-applies", description, &table);
}

/// Of seven items, and of six, in chunks of three.
#[rstest]
#[case(Pick::All, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8])]
#[case(Pick::First, &[0, 1, 2], &[0, 1, 2])]
#[case(Pick::Last, &[6, 7, 8], &[3, 4, 5, 6, 7, 8])]
#[case(Pick::ButFirst, &[3, 4, 5, 6, 7, 8], &[3, 4, 5, 6, 7, 8])]
#[case(Pick::ButLast, &[0, 1, 2, 3, 4, 5], &[0, 1, 2])]
#[case(Pick::Whole, &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3, 4, 5])]
#[case(Pick::Inside, &[0, 1, 2, 3, 4, 5, 6], &[0, 1, 2, 3, 4, 5])]
#[case(Pick::Only(1), &[3, 4, 5], &[3, 4, 5])]
#[case(Pick::Only(2), &[6, 7, 8], &[6, 7, 8])]
#[case(Pick::Lane(0), &[0, 3, 6], &[0, 3, 6])]
#[case(Pick::Lane(2), &[2, 5, 8], &[2, 5, 8])]
fn picks(#[case] pick: Pick, #[case] of_seven: &[usize], #[case] of_six: &[usize]) {
    for (len, expected) in [(7, of_seven), (6, of_six)] {
        let kept: Vec<usize> = (0..9).filter(|&i| pick.has(i, len, 3)).collect();
        assert_eq!(kept, expected, "of {len}");
    }
}

/// Three quarters of a spacing of bf16 above 1, as a sum or as what is added to 1.
#[rstest]
#[case::neither(None, None, 1.005859375, 2.005859375)]
#[case::the_sum(None, Some(InputType::Bf16), 1.0078125, 2.0)]
#[case::what_is_added(Some(InputType::Bf16), None, 1.005859375, 2.0078125)]
#[case::both(Some(InputType::Bf16), Some(InputType::Bf16), 1.0078125, 2.0)]
#[case::both_in_f16(Some(InputType::F16), Some(InputType::F16), 1.005859375, 2.005859375)]
fn narrow_sums(
    #[case] added: Option<InputType>,
    #[case] kept: Option<InputType>,
    #[case] small: f64,
    #[case] large: f64,
) {
    let of = Accumulator { over: Over::Positions, added, kept, backwards: false };
    assert_eq!((of.add(1.0, 0.005859375), of.add(1.0, 1.005859375)), (small, large));
}

#[test]
fn sums_are_over_what_they_say() {
    let sums = [Over::Positions, Over::BatchAndPositions, Over::Group, Over::States];
    for (i, over) in sums.into_iter().enumerate() {
        let of = Accumulator { over, added: None, kept: Some(InputType::Bf16), backwards: true };
        let variant = Variant { accumulator: Some(of), ..Variant::specified(Method::Zoh.into()) };
        assert_eq!(of.is_of_positions(), i < 2);
        assert_eq!(variant.of_positions(), (i < 2).then_some(of));
        for other in sums {
            assert_eq!(variant.sum_over(other), (other == over).then_some(of));
        }
    }
    let specified = Variant::specified(Method::Zoh.into());
    assert_eq!((specified.of_positions(), specified.sum_over(Over::Positions)), (None, None));
}

fn swap(sites: &'static [Site], by: By) -> Swap {
    Swap { sites, by, side: None }
}

/// What changes Δ, Ā, h or their derivatives, and what leaves them as they are.
#[test]
fn steps_are_those_of_a_form_or_changed() {
    const DELTAS: &[Site] = &[Site::DoutInC, Site::Deltas];
    const TERM: &[Site] = &[Site::TermOfH(0)];
    const BY_DELTA: &[Site] = &[Site::TermByDelta(1)];
    const BY_A: &[Site] = &[Site::TermByA(2)];
    const ELSEWHERE: &[Site] = &[Site::HInU, Site::ABarByA];
    let form = Form::from(Method::Foh);
    let right = Variant::specified(form);
    assert!(right.has_steps_of(form) && !right.has_steps_of(Method::Zoh.into()));
    let changes: [fn(&mut Variant); 16] = [
        |v| v.form = Method::Zoh.into(),
        |v| v.slopes_of = Method::Zoh.into(),
        |v| v.h_slope = [1.0, 0.0],
        |v| v.h_slope_without = Some((0, SlopePart::Whole)),
        |v| v.exponent = 1.5,
        |v| v.chain = [true, false],
        |v| v.a_bar_as_exponential = true,
        |v| v.phi_slope = PhiSlope::Next,
        |v| v.power_slope = PowerSlope::Same,
        |v| v.length = Length::WithoutLast,
        |v| v.misread = Some((Delta, Misread::FirstBatch)),
        |v| v.swap(swap(DELTAS, By::One)),
        |v| v.swap(swap(TERM, By::One)),
        |v| v.swap(swap(BY_DELTA, By::One)),
        |v| v.swap(swap(BY_A, By::One)),
        |v| v.swaps[1] = Some(swap(TERM, By::One)),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut variant = right;
        change(&mut variant);
        assert!(!variant.has_steps_of(form), "change {i}");
    }
    let others: [fn(&mut Variant); 4] = [
        |v| v.carry = [Carry::Lost; 2],
        |v| v.positions = (Pick::First, 4),
        |v| v.edge = Some((4, Edge::Undecayed)),
        |v| v.swap(swap(ELSEWHERE, By::One)),
    ];
    for (i, change) in others.into_iter().enumerate() {
        let mut variant = right;
        change(&mut variant);
        assert!(variant != right && variant.has_steps_of(form), "change {i}");
    }
}

/// There is room for two.
#[test]
fn changes_of_places_stand_side_by_side() {
    const SITES: [&[Site]; 3] = [&[Site::HInU], &[Site::HInB], &[Site::UInD]];
    let mut variant = Variant::specified(Method::Zoh.into());
    let [first, second, third] = SITES.map(|sites| swap(sites, By::One));
    variant.swap(first);
    assert_eq!(variant.swaps, [Some(first), None]);
    variant.swap(second);
    variant.swap(third);
    assert_eq!(variant.swaps, [Some(first), Some(second)]);
    assert!(first.has(Site::HInU) && !first.has(Site::HInB));
}

#[rstest]
#[case(By::Narrow(InputType::Bf16), true)]
#[case(By::Step(StepSize::Narrow(InputType::F16)), true)]
#[case(By::Chain(StepSize::Narrow(InputType::Bf16)), true)]
#[case(By::Step(StepSize::Raw), false)]
#[case(By::Chain(StepSize::WithoutBias), false)]
#[case(By::Of(Axis::Batch, Map::First), false)]
#[case(By::Sides(Sides::Exchanged), false)]
fn some_changes_round(#[case] by: By, #[case] rounds: bool) {
    assert_eq!(swap(&[Site::HInU], by).rounds(), rounds);
}

/// What stands at a place has another in whose place there is nothing; what belongs to none has not, nor have places that have
/// no 0.
#[test]
fn places_without_what_stands_there() {
    let without = |name: &str| find(name).expect("a fault").without(Method::Zoh.into());
    let mut zero = Variant::specified(Method::Zoh.into());
    zero.swap(swap(&[Site::DoutInAdjoint, Site::DoutInC], By::Zero));
    assert_eq!(without("dout-in-scan-times-2"), Some(zero));
    let mut reversed = Variant::specified(Method::Zoh.into());
    reversed.swap(Swap { sites: &[Site::UInStates], by: By::Zero, side: Some(true) });
    assert_eq!(without("reversed-u-in-states-bf16"), Some(reversed));
    for name in
        ["deltas-bf16", "adjoint-start-stale", "states-start-stale", "delta-without-h", "adjoint-lost-at-4"]
    {
        assert_eq!(without(name), None, "{name}");
    }
}

#[rstest]
#[case("state-bf16-at-16", "r...")]
#[case("adjoint-f16-at-4", "r...")]
#[case("adjoint-lost-at-16", "....")]
#[case("sum-in-bf16", "r.s.")]
#[case("adjoint-f16", "r...")]
#[case("u-in-b-bf16", "r...")]
#[case("a-bar-in-adjoint-of-delta-f16", "r...")]
#[case("h-in-u-times-delta-bf16", "r...")]
#[case("state-in-c-over-gate", ".d..")]
#[case("state-in-c-times-gate", "....")]
#[case("gradient-zero", "..sf")]
#[case("batch-averaged", "..sf")]
#[case("batch-last-alone", "..s.")]
#[case("gradient-conjugated", "..s.")]
#[case("gradient-reversed", "..s.")]
#[case("sum-of-last-32", "..s.")]
#[case("group-first-alone", "..s.")]
#[case("delta-one-state", "..s.")]
#[case("half-missing", "...f")]
#[case("reversed-missing", "....")]
#[case("output-factor-twice", "...f")]
#[case("delta-without-h", "....")]
fn what_faults_are(#[case] name: &str, #[case] expected: &str) {
    let fault = find(name).expect("a fault");
    let is = [fault.rounds(), fault.divides(), fault.is_separate(), fault.is_factor()];
    let is: String =
        is.into_iter().zip("rdsf".chars()).map(|(is, mark)| if is { mark } else { '.' }).collect();
    assert_eq!(is, expected);
}

/// The name of what goes wrong at an edge says where, and in which scan.
#[test]
fn edges_are_where_their_names_say() {
    let mut halved = Vec::new();
    for fault in structure::ALL.iter().chain(structure::OF_ANY_LENGTH.iter()) {
        let mut variant = Variant::specified(Method::Poly.into());
        fault.change(&mut variant);
        let Some((length, edge)) = variant.edge else { continue };
        assert!(fault.name.ends_with(&format!("-at-{length}")), "{}: {length}", fault.name);
        assert!(fault.what.contains(&format!(" {length}")), "{}: {}", fault.name, fault.what);
        let (sides, whose) = match fault.name.split('-').next() {
            Some("forward") => ([true, false], "in the forward scan "),
            Some("reversed") => ([false, true], "in the reversed scan "),
            _ => ([true, true], ""),
        };
        assert_eq!(variant.edge_in, sides, "{}", fault.name);
        assert!(fault.what.starts_with(whose) && fault.what.starts_with("in the ") != whose.is_empty());
        if edge == Edge::Adjoint(0.5) && sides == [true, true] {
            halved.push(length);
        }
    }
    halved.sort();
    let longer = [512, 1024, 2048];
    assert!(halved.iter().copied().eq((2..=256).chain(longer)), "{halved:?}");
}

/// Parts of each of four terms of h, each with the number of its term in its name and in its sentence.
#[test]
fn parts_of_terms_are_what_they_say() {
    let parts = [
        SlopePart::Whole,
        SlopePart::Power,
        SlopePart::Argument,
        SlopePart::Taylor(0),
        SlopePart::Taylor(1),
        SlopePart::Taylor(2),
        SlopePart::Taylor(3),
        SlopePart::Taylor(4),
    ];
    let of_terms = catalogue::PARTS.iter().filter(|part| part.name.starts_with("h-slope-term-"));
    let mut found = of_terms.map(|part| {
        let mut variant = Variant::specified(Method::Rk4.into());
        part.change(&mut variant);
        (part.name, part.what, variant.h_slope_without)
    });
    let mut sentences = BTreeSet::new();
    for term in 0..4 {
        for part in parts {
            let (name, said, without) = found.next().expect("a part");
            assert_eq!(name, format!("h-slope-term-{}-scaled", term + 1));
            assert!(said.ends_with(&format!(" of term {} of h", term + 1)), "{said}");
            sentences.insert(said);
            assert_eq!(without, Some((term, part)));
        }
    }
    assert!(found.next().is_none());
    assert_eq!(sentences.len(), 4 * parts.len());
}

/// Windows and tails of any length have it in their names, and in what they change.
#[test]
fn windows_have_their_lengths() {
    let all: Vec<Fault> = windows(&[3, 5]).collect();
    let picks = [("sum-of-first", Pick::First), ("sum-of-last", Pick::Last), ("sum-of-whole", Pick::Whole)];
    assert_eq!(all.len(), 8);
    for (i, length) in [3, 5].into_iter().enumerate() {
        for (kind, (name, pick)) in picks.into_iter().enumerate() {
            let mut variant = Variant::specified(Method::Zoh.into());
            all[2 * kind + i].change(&mut variant);
            assert_eq!(all[2 * kind + i].name, format!("{name}-{length}"));
            assert_eq!(variant.positions, (pick, length));
        }
        let mut variant = Variant::specified(Method::Zoh.into());
        all[6 + i].change(&mut variant);
        assert_eq!(all[6 + i].name, format!("tail-{length}-without-gradient"));
        assert_eq!(variant.length, Length::CutTo(length));
    }
    for (length, is) in [(2, true), (3, true), (255, true), (256, true), (257, false)] {
        assert_eq!(find(&format!("sum-of-whole-{length}")).is_some(), is, "{length}");
    }
}
