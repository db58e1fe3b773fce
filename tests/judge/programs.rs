//! Promise: a specified program computes what the truth has, gradients too; edits that were planted in one are found, as they are or as others that
//! compute the same, and said with their place; and of what no edit computes nothing is said.

use std::sync::Arc;

use holdfast::formula::{Form, Fraction};
use holdfast::judge::budget::{self, gradient::Pass};
use holdfast::judge::diagnose::Work;
use holdfast::judge::explain::{Evaluator, by_edits, by_edits_apart, by_two_edits, gradients, specified};
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Conventions, Coupling, Reads, StepLimit};
use holdfast::problem::plan::Spec;
use holdfast::problem::{
    Axes, InputType, Operand, OutputGradients, Packed, Problem, Shape, Shared, Weights, dense, regime,
};
use holdfast::program::edit::{Each, Edit, Patch};
use holdfast::program::print::Printer;
use holdfast::program::proposed;
use holdfast::program::writing::{Group, Writing};
use holdfast::program::{Function, Graph, Index, Input, Program, Symbol};
use holdfast::promise::Contract;
use holdfast::results::Diagnosis;
use holdfast::tensor::{Named, TensorName, Tensors};
use holdfast::truth;
use rand::RngExt as _;

use crate::cases::each;
use crate::planting::Planting;
use crate::support::problems::{Layout, generator, uniform};

/// Regimes that each show something of their own: groups, gate and bias, both ends of Δ, poles, states that grow.
const REGIMES: [&str; 6] =
    ["short", "everything-on", "mixed-steps", "bilinear-pole", "growing", "negative-delta"];

#[test]
fn a_specified_program_is_the_truth_within_its_own_bound() {
    each(REGIMES, |name| {
        let regime = regime::find(name).expect("a regime");
        for weights in Weights::ALL {
            let (b, c) = (Operand::Variable, Operand::Constant);
            let problem = Spec { regime, weights, input: InputType::F32, b, c }.draw(1);
            has_the_truth(name, problem);
        }
    });
}

/// Programs of matrices likewise: not normal, and complex.
#[test]
fn a_program_of_matrices_is_the_truth_within_its_own_bound() {
    each(["3 states", "grcar", "pivots"], |name| {
        for regime in dense::all().into_iter().filter(|regime| regime.name == name) {
            has_the_truth(name, regime.scan(1));
        }
    });
}

fn has_the_truth(regime: &str, mut problem: Problem) {
    problem.judged_channels.truncate(1);
    let weights = problem.weights;
    let forms: Vec<Form> = Form::all().collect();
    for (form, truth) in forms.iter().zip(truth::scan::solve(&problem, &forms).expect("certified")) {
        let (graph, program) = specified(*form, &problem);
        let mut evaluator = Evaluator::whole(&problem, problem.judged_channels[0]);
        let judged = budget::scan(*form, &problem, &Contract::FRAMEWORK);
        for (name, row) in evaluator.tensors(&graph, &program).iter() {
            for (i, (value, want)) in row.values.iter().zip(&truth.tensors[name].values).enumerate() {
                let (own, judged) = (
                    row.bound[i / truth.tensors[name].width],
                    judged.tensors[name].bound[i / truth.tensors[name].width],
                );
                let place = format!("{regime} {weights} {form}: {name}[{i}]");
                if want.abs() >= f64::from(f32::MAX) {
                    continue;
                }
                assert!((value - want).abs() <= 1e-6 * own, "{place}: {value} for {want}");
                // A bound that says nothing would explain anything.
                assert!(own <= 50.0 * judged, "{place}: {own} beside {judged}");
            }
        }
    }
}

#[test]
fn its_adjoint_is_the_truth_of_gradients() {
    let usual = Conventions::default();
    let stated = Conventions {
        reads: Reads::BeforeUpdate,
        output: ComplexOutput::RealPart,
        limit: StepLimit::new(0.05, 0.12).expect("limits"),
        ..usual
    };
    // Two channels of a head share what heads may share.
    let by = Some(2);
    let heads = Conventions {
        axes: Axes { shared: Shared { delta: by, delta_bias: by, a: by, d: by }, ..Axes::default() },
        ..usual
    };
    let cases = Weights::ALL.into_iter().flat_map(|weights| {
        let operands = [Operand::Variable, Operand::Constant].into_iter();
        let [matrices, stated_of_matrices] =
            [usual, stated].map(|of| Conventions { coupling: Coupling::Dense, ..of });
        let of_matrices = [(matrices, false), (stated_of_matrices, false), (matrices, true)];
        let kinds = [(usual, false), (stated, false), (heads, false), (heads, true)].into_iter();
        let kinds = kinds.chain(of_matrices);
        operands.flat_map(move |b| kinds.clone().map(move |kind| (weights, b, kind)))
    });
    each(cases.collect::<Vec<_>>(), |(weights, b, (conventions, is_packed))| {
        let problem = Problem { conventions, ..problem(weights, b) };
        let problem = if is_packed { by_indices(problem) } else { problem };
        let mut random = generator("adjoints");
        let mut drawn = |len: usize| (0..len).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
        let states = problem.shape.batch * problem.a.len();
        let problem = Problem { initial_state: Some(drawn(states)), ..problem };
        let problem = if problem.is_dense() { with_matrices(problem) } else { problem };
        let given = OutputGradients { dout: drawn(problem.u.len()), dlast_state: Some(drawn(states)) };
        for truth in truth::gradient::solve(&problem, &given, &Method::ALL).expect("certified") {
            let form = Form::from(truth.method);
            let (graph, program) = gradients::specified(form, &problem, &given).expect("an adjoint");
            let pass = Pass {
                form: truth.method.into(),
                problem: &problem,
                given: &given,
                contract: &Contract::FRAMEWORK,
            };
            let judged = budget::gradient::bounds(pass);
            let mut evaluator = Evaluator::backward(&problem, &given);
            for (name, want) in truth.tensors.iter() {
                let id = program.find(Symbol::Gradient(name)).expect("a gradient");
                let mut count = 0;
                for row in gradients::rows(&problem, name) {
                    let of = (&problem, name);
                    gradients::row(&mut evaluator, (&graph, id), of, &row, &mut |at, value, own| {
                        let (want, bound) = (want.values[at], judged.tensors[name].bound[at / want.width]);
                        let place = format!("{} {weights} {b:?} {conventions:?}: {name}[{at}]", truth.method);
                        assert!((value - want).abs() <= 1e-6 * bound, "{place}: {value} for {want}");
                        assert!(own.is_finite() && own >= 0.0, "{place}: {own}");
                        count += 1;
                    });
                }
                assert_eq!(count, want.values.len(), "{name}");
            }
        }
    });
}

/// Two items, channels of two groups, everything that a problem may have.
pub fn problem(weights: Weights, b: Operand) -> Problem {
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 40, groups: 2 };
    Layout { weights, b, ..Layout::whole(shape) }.random(&mut generator("programs"))
}

/// What a program computes, as f32 has it.
fn computed(problem: &Problem, graph: &Graph, program: &Program) -> Tensors<f64> {
    let channels = problem.judged_channels.iter();
    let rows = channels.map(|at| Evaluator::whole(problem, *at).tensors(graph, program)).collect::<Vec<_>>();
    let tensor = |name: TensorName| {
        let values =
            rows.iter().flat_map(|row| row[name].values.iter().map(|value| f64::from(*value as f32)));
        (name, problem.judged_tensor(name, values.collect()))
    };
    TensorName::SCANNED.into_iter().map(tensor).collect()
}

fn said(planting: &Planting, got: &Tensors<f64>) -> Vec<String> {
    let (work, failing) = (Work::default(), planting.failing(got));
    let sentences = |found: &Named<Vec<Diagnosis>>| -> Vec<String> {
        found.values().filter_map(|found| found.first()).map(|one| one.what.clone()).collect()
    };
    let case = planting.case(got, &work);
    let found = sentences(&by_edits(&case, &failing));
    if found.is_empty() { sentences(&by_two_edits(&case, &failing)) } else { found }
}

/// Right ways of writing a method's scan.
const WRITINGS: [Writing; 8] = [
    Writing::Inverses,
    Writing::Chunked(16),
    Writing::RunningSums { divided: true },
    Writing::RunningSums { divided: false },
    Writing::Grouped(Group::BBar),
    Writing::Grouped(Group::BU),
    Writing::Grouped(Group::DeltaU),
    Writing::Grouped(Group::DeltaB),
];

#[test]
fn a_way_of_writing_computes_what_is_specified() {
    let of = |weights| {
        let plain = with_start(problem(weights, Operand::Variable));
        [(weights, by_indices(plain.clone())), (weights, by_starts(weights)), (weights, plain)]
    };
    let problems = Weights::ALL.map(of);
    each(Method::ALL, |method| {
        for (weights, problem) in problems.iter().flatten() {
            let (mut graph, program) = specified(method.into(), problem);
            let want = computed(problem, &graph, &program);
            for writing in WRITINGS {
                let Some(written) = writing.program(method.into(), problem, &mut graph) else { continue };
                for (name, got, want) in computed(problem, &graph, &written).zip(&want) {
                    let largest = want.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
                    for (got, want) in got.values.iter().zip(&want.values) {
                        let off = (got - want).abs() / largest;
                        assert!(off < 1e-6, "{method} {weights} {writing:?}: {name} {got} for {want}");
                    }
                }
            }
        }
    });
}

/// A carry is printed as it is read, before its update, and an inverse of an inverse as its denominator.
#[test]
fn a_way_of_writing_is_printed_as_it_computes() {
    let problem = problem(Weights::Real, Operand::Variable);
    let (mut graph, program) = specified(Method::Bilinear.into(), &problem);
    let written =
        Writing::Chunked(16).program(Method::Bilinear.into(), &problem, &mut graph).expect("chunks");
    let lines = Printer::new(&graph, &written).lines();
    let carry = lines.iter().find(|line| line.starts_with("c_{l+1} = [P_l ")).expect("what is carried");
    assert!(carry.contains("] c_l + [s_l "), "{carry}");
    let step = program.find(Symbol::StepSize).expect("a step");
    let a = graph.input(Input::A);
    let z = graph.product([step, a]);
    let inverse = graph.apply(Function::Resolvent(Fraction::ONE), z);
    let of_inverse = graph.apply(Function::Reciprocal, inverse);
    assert_eq!(Printer::new(&graph, &program).text(of_inverse), "(1 − Δ_l A)");
}

fn with_start(problem: Problem) -> Problem {
    let mut random = generator("states");
    let states = problem.shape.batch * problem.a.len();
    Problem {
        initial_state: Some((0..states).map(|_| random.random_range(-1.0f32..1.0)).collect()),
        ..problem
    }
}

/// A matrix A for each channel.
fn with_matrices(mut problem: Problem) -> Problem {
    problem.conventions.coupling = Coupling::Dense;
    let entries = problem.shape.dim * problem.floats_of_a();
    problem.a = uniform(entries, InputType::F32, &mut generator("matrices"));
    problem
}

/// Sequences that begin with a chunk and within one, in each of two items, which have one state each.
fn by_indices(problem: Problem) -> Problem {
    let indices: Vec<i64> =
        (0..80).map(|i| i64::from(i % 40 >= 21 - i / 40) + i64::from(i % 40 >= 32)).collect();
    Problem { packed: Some(Arc::new(Packed::by_indices(&indices, 40))), ..problem }
}

/// Likewise in one item, with a state of each sequence.
fn by_starts(weights: Weights) -> Problem {
    let shape = Shape { batch: 1, dim: 4, dstate: 3, seqlen: 40, groups: 1 };
    let mut random = generator("packed programs");
    let problem = Layout { weights, ..Layout::whole(shape) }.random(&mut random);
    let states = uniform(3 * problem.a.len(), InputType::F32, &mut random);
    let packed = Some(Arc::new(Packed::by_starts(&[0, 21, 32, 40], 40, [3, 3])));
    Problem { initial_state: Some(states), packed, ..problem }
}

/// Every edit that is about borders, of each scan.
#[test]
fn a_border_that_is_missed_is_found() {
    each([Method::Zoh, Method::Poly], |method| {
        let planting = Planting::new(method, by_starts(Weights::Complex));
        let problem = &planting.problem;
        let (mut graph, program) = specified(method.into(), problem);
        let is_of_borders = |edit: &Edit| {
            let of_sequences =
                |index| matches!(index, Index::Sequence(_) | Index::FirstSequence | Index::OnlyFirstSequence);
            match edit.patch {
                Patch::Borders(_) | Patch::AcrossBorders => true,
                Patch::At(_, index) => of_sequences(index),
                _ => false,
            }
        };
        let (nodes, mut count) = (graph.len(), 0);
        for edit in proposed::plain(&graph, &program, problem).into_iter().filter(is_of_borders) {
            let edited = edit.apply(&mut graph, &program);
            let got = computed(problem, &graph, &edited);
            graph.truncate(nodes);
            if !planting.failing(&got).is_empty() {
                assert!(!said(&planting, &got).is_empty(), "{method}: {edit:?}");
                count += 1;
            }
        }
        assert!(count > 10, "{method}: {count}");
    });
}

/// A sample of the edits of every method and of right ways of writing it, at all positions.
#[test]
fn an_edit_that_is_planted_is_found() {
    each(Method::ALL, |method| {
        for weights in Weights::ALL {
            let planting = Planting::new(method, with_start(problem(weights, Operand::Variable)));
            let problem = &planting.problem;
            let (mut graph, program) = specified(method.into(), problem);
            let planted = |written: &Program, edits: Vec<Edit>, graph: &mut Graph| {
                let nodes = graph.len();
                for edit in edits {
                    let edited = edit.apply(graph, written);
                    let got = computed(problem, graph, &edited);
                    graph.truncate(nodes);
                    let is_finite =
                        got.values().all(|tensor| tensor.values.iter().all(|value| value.is_finite()));
                    if is_finite && !planting.failing(&got).is_empty() {
                        assert!(!said(&planting, &got).is_empty(), "{method} {weights}: {edit:?}");
                    }
                }
            };
            let plain = proposed::plain(&graph, &program, problem);
            let plain: Vec<Edit> = plain.into_iter().skip(7).step_by(1103).collect();
            assert!(!plain.is_empty(), "{method} {weights}");
            planted(&program, plain, &mut graph);
            let nodes = graph.len();
            // One edit of each way of writing, or two.
            let turn = 2 * (method as usize) + usize::from(weights == Weights::Complex);
            let writing = WRITINGS[turn % WRITINGS.len()];
            if let Some(written) = writing.program(method.into(), problem, &mut graph) {
                let edits = proposed::plain(&graph, &written, problem);
                let edits = proposed::of_writing(&graph, &written, edits, nodes);
                planted(&written, vec![edits[(7 + turn) % edits.len()]], &mut graph);
            }
        }
    });
}

/// A sample of edits that only matrices have, along a sequence and in packed ones. (An error of a few bounds, as of one high power, tells no edit.)
#[test]
fn an_edit_of_a_matrix_that_is_planted_is_found() {
    let is_of_matrices = |edit: &Edit| {
        matches!(
            edit.patch,
            Patch::Applied(Function::Mapped(_))
                | Patch::ByEntries
                | Patch::InEach(Each::ByEntries)
                | Patch::InPlace
                | Patch::Instead(Some(Function::Unexchanged(_)))
        )
    };
    each([Method::Zoh, Method::Foh, Method::Bilinear], |method| {
        let problem = with_start(problem(Weights::Complex, Operand::Variable));
        let problem = if method == Method::Zoh { by_indices(problem) } else { problem };
        let planting = Planting::new(method, with_matrices(problem));
        let (mut graph, program) = specified(method.into(), &planting.problem);
        let (nodes, mut count) = (graph.len(), 0);
        let edits = proposed::plain(&graph, &program, &planting.problem);
        for edit in edits.into_iter().filter(is_of_matrices).skip(1).step_by(7) {
            let edited = edit.apply(&mut graph, &program);
            let got = computed(&planting.problem, &graph, &edited);
            graph.truncate(nodes);
            if !planting.failing(&got).is_empty() {
                assert!(!said(&planting, &got).is_empty(), "{method}: {edit:?}");
                count += 1;
            }
        }
        assert!(count > 2, "{method}: {count}");
    });
}

/// A copy of the problem that a fault is planted in, by another way than that of programs.
fn with_inputs(planting: &Planting, change: impl Fn(&mut Problem)) -> Tensors<f64> {
    let mut other = planting.problem.clone();
    change(&mut other);
    let truth = truth::scan::solve(&other, &[planting.method]).expect("certified").remove(0).tensors;
    truth.map(|name, tensor| {
        let rounded = tensor.values.iter().map(|value| f64::from(*value as f32)).collect();
        planting.problem.judged_tensor(name, rounded)
    })
}

/// Of a run with another input in some channels: the first sentence, and a part of the program's lines.
#[test]
fn a_cause_is_said_with_its_place_and_as_a_program() {
    let planting = Planting::new(Method::Zoh, problem(Weights::Real, Operand::Variable));
    let len = planting.problem.shape.seqlen;
    let row = |item: usize, channel: usize| (item * 4 + channel) * len..(item * 4 + channel + 1) * len;
    let without_bias = with_inputs(&planting, |other| other.delta_bias = None);
    let late = with_inputs(&planting, |other| {
        other.u = other.u.chunks(len).flat_map(|row| [&[0.0], &row[..len - 1]].concat()).collect();
        other.d = None;
    });
    let mut in_part = planting.want.clone();
    for channel in [1, 3] {
        let (of, from) = (row(1, channel), (4 + channel) * 3);
        in_part[TensorName::Out].values[of.clone()]
            .copy_from_slice(&without_bias[TensorName::Out].values[of]);
        let of = from..from + 3;
        let states = &without_bias[TensorName::LastState].values[of.clone()];
        in_part[TensorName::LastState].values[of].copy_from_slice(states);
    }
    let of_everything = "delta_bias is missing (specified Δ_l = softplus(delta_l + delta_bias); computed Δ_l = softplus(delta_l))";
    assert_eq!(said(&planting, &without_bias)[0], of_everything);
    assert_eq!(said(&planting, &in_part)[0], format!("in item 1, odd channels alone: {of_everything}"));
    let work = Work::default();
    let found = by_two_edits(&planting.case(&late, &work), &[TensorName::Out]);
    let late = &found[TensorName::Out][0];
    let edits = late.edits.iter().map(|edit| (&*edit.specified, &*edit.computed)).collect::<Vec<_>>();
    assert!(edits.contains(&("u_l", "u_{l−1}")) && edits.contains(&("D u_l", "0")), "{edits:?}");
    assert!(
        late.what.contains("u_{l−1} stands in the place of u_l") && late.what.contains("D u_l is missing"),
        "{late:?}"
    );
}

/// Heads of two channels, four of two groups: those that read the group of their remainder, by the truth with both groups exchanged.
#[test]
fn a_head_that_reads_the_group_of_its_remainder_is_named() {
    let (dim, heads) = (8, Shared { delta: Some(2), delta_bias: Some(2), a: Some(2), d: Some(2) });
    let layout = Layout {
        shape: Shape { batch: 2, dim, dstate: 3, seqlen: 40, groups: 2 },
        b: Operand::Variable,
        c: Operand::Variable,
        ..Layout::plain(2, dim, 3, 40)
    };
    let mut problem = layout.random(&mut generator("heads"));
    let axes = Axes { shared: heads, ..Axes::default() };
    problem.conventions = Conventions { axes, ..Conventions::default() };
    let planting = Planting::new(Method::Zoh, problem);
    let exchanged = with_inputs(&planting, |other| {
        for values in [&mut other.b, &mut other.c] {
            let groups = values.len() / 4;
            values.chunks_mut(2 * groups).for_each(|item| item.rotate_left(groups));
        }
    });
    let mut got = planting.want.clone();
    for (row, &(_, channel)) in planting.problem.judged_channels.iter().enumerate() {
        // Heads 1 and 2.
        if !(2..6).contains(&channel) {
            continue;
        }
        for (name, tensor) in got.iter_mut() {
            let len = tensor.values.len() / planting.problem.judged_channels.len();
            let of = row * len..(row + 1) * len;
            tensor.values[of.clone()].copy_from_slice(&exchanged[name].values[of]);
        }
    }
    let found = &said(&planting, &got)[0];
    assert!(found.contains("B_l[channel or head mod 2]") && found.contains("likewise of C_l"), "{found}");
}

/// State that a chunk of zoh starts from: made of what it should start from, of all states before it, and of its own decays and inputs.
type Start<'a> = &'a dyn Fn(f64, &[f64], &[(f64, f64)]) -> f64;

/// zoh in chunks of 16, in f64, of a plain problem.
fn in_chunks(planting: &Planting, start: Start) -> Tensors<f64> {
    let (problem, mut got) = (&planting.problem, planting.want.clone());
    let Shape { dstate, seqlen, .. } = problem.shape;
    got[TensorName::Out].values.fill(0.0);
    for (row, &at) in problem.judged_channels.iter().enumerate() {
        for n in 0..dstate {
            let of = |values: &[f32], operand, l| f64::from(values[problem.operand_index(operand, at, n, l)]);
            let step = |l: usize| {
                let i = problem.sequence_index(at.0, at.1, l);
                let delta = f64::from(problem.delta[i]);
                let decay = (delta * f64::from(problem.a[problem.weight_index(at.1, n)])).exp();
                (decay, delta * of(&problem.b, problem.b_operand, l) * f64::from(problem.u[i]))
            };
            let steps: Vec<(f64, f64)> = (0..seqlen).map(step).collect();
            let (mut states, mut right) = (Vec::new(), 0.0);
            for own in steps.chunks(16) {
                let mut x = start(right, &states, own);
                for (decay, input) in own {
                    (x, right) = (decay * x + input, decay * right + input);
                    states.push(x);
                }
            }
            for (l, x) in states.iter().enumerate() {
                got[TensorName::Out].values[row * seqlen + l] += of(&problem.c, problem.c_operand, l) * x;
            }
            got[TensorName::LastState].values[row * dstate + n] = states[seqlen - 1];
        }
    }
    for (_, tensor) in got.iter_mut() {
        tensor.values.iter_mut().for_each(|value| *value = f64::from(*value as f32));
    }
    got
}

#[test]
fn what_chunks_start_from_is_named() {
    let own_end = |right: f64, _: &[f64], own: &[(f64, f64)]| {
        own.iter().fold(right, |x, (decay, input)| decay * x + input)
    };
    let one_early =
        |_: f64, states: &[f64], _: &[(f64, f64)]| states.len().checked_sub(2).map_or(0.0, |at| states[at]);
    let starts: [(Start, &str); 2] = [
        (&own_end, "a chunk starts from the state that it ends with itself"),
        (&one_early, "a chunk starts from the state that the one before has a position before its end"),
    ];
    let planting = Planting::new(Method::Zoh, Layout::plain(1, 3, 3, 60).random(&mut generator("chunks")));
    for (start, words) in starts {
        let found = said(&planting, &in_chunks(&planting, start));
        assert!(found.first().is_some_and(|one| one.contains(words)), "{words}: {found:?}");
    }
}

/// An input that is lost at the end alone, beside an output that no edit computes there: one that would change the rest of the output is not
/// said of the last state.
#[test]
fn a_cause_of_the_last_state_leaves_right_outputs_right() {
    let problem = Layout::plain(1, 3, 3, 40).random(&mut generator("last states"));
    let planting = Planting::new(Method::Zoh, problem);
    let mut got = with_inputs(&planting, |other| other.u.chunks_mut(40).for_each(|row| row[39] = 0.0));
    got[TensorName::Out].values.chunks_mut(40).enumerate().for_each(|(i, row)| row[39] = 0.3 + i as f64);
    let work = Work::default();
    let found = by_edits(&planting.case(&got, &work), &planting.failing(&got));
    let everywhere = |one: &&Diagnosis| one.edits.iter().all(|edit| edit.place.is_empty());
    let said = found.get(TensorName::LastState).and_then(|all| all.iter().find(everywhere));
    assert!(said.is_none(), "{said:?}");
}

/// A rule for the channels of each of two mistakes is known to be true only where all channels are judged.
#[test]
fn two_mistakes_in_different_channels_have_their_places() {
    let all = problem(Weights::Real, Operand::Variable);
    let mut some = all.clone();
    some.judged_channels.remove(0);
    for (problem, places) in [
        (all, ["in item 1 alone: ", "in channel 3 alone: "]),
        (some, ["in some of the channels that fail: "; 2]),
    ] {
        let planting = Planting::new(Method::Zoh, problem);
        let got = with_inputs(&planting, |other| {
            let half = other.b.len() / 2;
            other.b[half..].iter_mut().for_each(|b| *b = -*b);
            other.d.as_mut().expect("a skip")[3] = 0.0;
        });
        let (work, failing) = (Work::default(), planting.failing(&got));
        let found = by_edits_apart(&planting.case(&got, &work), &failing);
        let what = &found.get(TensorName::Out).expect("a cause")[0].what;
        assert!(places.iter().all(|place| what.contains(place)), "{what}");
        assert!(what.contains("D u_l is missing"), "{what}");
    }
}

/// Noise of both signs, NaN from some position on, and another run's outputs are no edit's.
#[test]
fn of_what_no_edit_computes_nothing_is_said() {
    // A small one, as all that is known is looked for.
    let seqlen = 24;
    let mut random = generator("no edit");
    let layout = Layout { b: Operand::Variable, c: Operand::Variable, ..Layout::plain(1, 2, 3, seqlen) };
    let planting = Planting::new(Method::Zoh, layout.random(&mut random));
    let mut noise = planting.want.clone();
    noise[TensorName::Out].values.iter_mut().for_each(|value| *value += random.random_range(-1e-3..1e-3));
    let mut lost = planting.want.clone();
    lost[TensorName::Out]
        .values
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| i % seqlen >= 18)
        .for_each(|(_, value)| *value = f64::NAN);
    let mut other = planting.want.clone();
    let values = other[TensorName::Out].values.clone();
    other[TensorName::Out]
        .values
        .iter_mut()
        .zip(values.iter().rev())
        .for_each(|(value, other)| *value = 0.37 * other + 0.1);
    for got in [noise, lost, other] {
        assert_eq!(said(&planting, &got), Vec::<String>::new());
    }
}

/// A number that somebody may have typed is said as it was typed.
#[test]
fn a_number_is_found_in_the_data() {
    let planting = Planting::new(Method::Foh, problem(Weights::Complex, Operand::Variable));
    let scaled = with_inputs(&planting, |other| other.c.iter_mut().for_each(|c| *c *= 1.37));
    let found = &said(&planting, &scaled)[0];
    assert!(found.contains("1.37"), "{found}");
}
