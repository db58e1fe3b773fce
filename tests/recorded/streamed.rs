//! Promise: a recording is judged a stretch at a time, with the results that it has whole, and a file that changes meanwhile is
//! an error.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast::check::{self, Options};
use holdfast::judge::budget::{self, Bounds, Budget, ChannelBudget};
use holdfast::judge::quick::{self, QuickTally};
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::packed::Sequence;
use holdfast::problem::recorded::{OutputName, Recording};
use holdfast::problem::regime;
use holdfast::problem::stretch::{Inputs, Outline, Stretch};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::Verdict;
use holdfast::tensor::{Named, TensorName, Tensors};

use crate::searched::asking;
use crate::written::{ComplexAs, File, VARIABLE, drawn, named};

const ALL: Options = Options::EVERYTHING;

fn problem(shape: Shape, weights: Weights, b: Operand, c: Operand) -> Problem {
    drawn(regime::EVERYTHING, shape, (weights, InputType::F32), (b, c), (1, "recorded/streamed"))
}

/// Δ and u that are the same at many positions, so that z and b are.
fn repeat(problem: &mut Problem) {
    problem.delta.fill(0.0625);
    problem.u.chunks_mut(3).for_each(|u| u.fill(1.5));
}

/// The quick values, each off by so much of the bound that is judged by.
fn off(problem: &Problem, method: Method, by: impl Fn(usize) -> f64) -> Tensors<f32> {
    off_by(problem, &budget::scan(method, problem, &Contract::FRAMEWORK), by)
}

fn off_by(problem: &Problem, budget: &Budget, by: impl Fn(usize) -> f64) -> Tensors<f32> {
    let tensor = |(name, bounds): (TensorName, &Bounds)| {
        let width = bounds.value.len() / bounds.bound.len();
        let value = |(i, value): (usize, &f64)| (value + by(i) * bounds.bound[i / width]) as f32;
        (name, problem.tensor(name, bounds.value.iter().enumerate().map(value).collect()))
    };
    budget.tensors.iter().map(tensor).collect()
}

fn recorded(problem: &Problem, outputs: &[(&str, &Tensors<f32>)]) -> File {
    let mut file = File::of(problem, ComplexAs::Interleaved);
    for (name, output) in outputs {
        let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &output[name].values[..]);
        file.add_output(problem, name, out, Some(last), ComplexAs::Interleaved);
    }
    file
}

/// Every tally of every channel.
fn tallies<R: std::io::Read + std::io::Seek + Send>(
    recording: &Recording<R>,
    (name, tensors): (&OutputName, &Named<String>),
) -> Vec<Named<QuickTally>> {
    let Shape { batch, dim, .. } = recording.layout().shape;
    let of = |row| {
        let at = (row / dim, row % dim);
        let got = |tensor, elements| recording.outputs(tensors, tensor, at, elements);
        let tallies =
            quick::judge_stretches((name.form, &Contract::FRAMEWORK), recording, at, &got, quick::LONG);
        tallies.expect("readable")
    };
    (0..batch * dim).map(of).collect()
}

/// To the last bit: what passes, what fails, and by how much, where and in which units.
#[test]
fn tallies_do_not_depend_on_the_length_of_stretches() {
    use Operand::{Constant, Variable};
    let shape = Shape { batch: 2, dim: 4, dstate: 11, seqlen: 67, groups: 2 };
    for weights in Weights::ALL {
        for (b, c, repeats) in [(Variable, Variable, false), (Constant, Variable, true)] {
            let mut problem = problem(shape, weights, b, c);
            if repeats {
                repeat(&mut problem);
            }
            for method in Method::ALL {
                let mut got = off(&problem, method, |i| [0.0, 0.9, -0.2, 1.1][i / 67 % 4]);
                got[TensorName::Out].values[71] = f32::NAN;
                let file = recorded(&problem, &[(method.name(), &got)]);
                let whole: Vec<_> = problem
                    .judged_channels
                    .iter()
                    .map(|at| quick::judge((method, &Contract::FRAMEWORK), &problem, *at, &got))
                    .collect();
                let failed = whole.iter().flat_map(Named::values).map(|tally| tally.failed).sum::<usize>();
                assert!(failed > 60, "{failed}");
                for count in [1, 2, 13, 66, 67, 1000] {
                    let recording = file.recording().by_positions(count);
                    let output = recording.layout().outputs.iter().next().expect("one");
                    let streamed = tallies(&recording, output);
                    let place = format!("{weights} {method} {count} {repeats}");
                    assert_eq!(format!("{streamed:?}"), format!("{whole:?}"), "{place}");
                }
            }
        }
    }
}

/// Of a run that is too large for a truth of every channel: indices, numbers, texts and diagnoses are the same.
#[test]
fn results_do_not_depend_on_the_length_of_stretches() {
    let shape = Shape { batch: 1, dim: 6, dstate: 16, seqlen: 2500, groups: 3 };
    let problem = problem(shape, Weights::Complex, Operand::Variable, Operand::Constant);
    let method = Method::Foh;
    let mut broken = off(&problem, method, |_| 0.3);
    broken[TensorName::LastState].values[100] = f32::NAN;
    let faulty = CpuBackend::with_faults("skip-missing", None).expect("in the list");
    let skipped = faulty.scan(method, &problem).expect("runs");
    let file = recorded(&problem, &[(method.name(), &broken), (&format!("{method}.mine"), &skipped)]);
    let options = asking("skip-missing");
    let checked = |recording: Recording<_>| {
        let checked = check::check("run", "run", &recording, &options, &|| ()).expect("a run");
        assert!(checked.note.why.contains("by the quick route"), "{}", checked.note.why);
        let judged: Vec<_> = checked.cases.iter().map(|case| case.judged).collect();
        assert_eq!(judged, vec![shape.sequence_len() + shape.dim * shape.dstate * 2; 2]);
        (checked.note.why, format!("{:?}", (checked.cases, checked.pairwise)))
    };
    let whole = checked(file.recording());
    assert!(whole.1.contains(&problem.fingerprint()), "{}", whole.1);
    assert!(whole.1.contains("skip-missing"), "{}", whole.1);
    assert!(whole.1.contains("last_state[0, 3, 2]"), "{}", whole.1);
    assert_eq!(checked(file.recording().by_positions(211)), whole);
}

/// A problem, and how often a part of it was read.
struct Walked<'a> {
    problem: &'a Problem,
    read: AtomicUsize,
}

impl Inputs for Walked<'_> {
    type Error = Infallible;

    fn outline(&self) -> Outline {
        self.problem.outline()
    }

    fn sequences(&self, item: usize) -> Cow<'_, [Sequence]> {
        self.problem.sequences(item)
    }

    fn stretch(&self, at: (usize, usize), positions: Range<usize>) -> Result<Stretch<'_>, Infallible> {
        self.read.fetch_add(1, Ordering::Relaxed);
        self.problem.stretch(at, positions)
    }

    /// Positions of the whole, so that each walk reads once.
    fn positions_at_once(&self) -> Option<usize> {
        Some(self.problem.shape.seqlen)
    }
}

#[test]
fn repeats_are_counted_exactly_in_however_little_memory() {
    let shape = Shape { batch: 1, dim: 1, dstate: 5, seqlen: 200, groups: 1 };
    for weights in Weights::ALL {
        for repeats in [false, true] {
            let mut problem = problem(shape, weights, Operand::Variable, Operand::Variable);
            if repeats {
                repeat(&mut problem);
                problem.delta[..50].fill(0.5);
            }
            let budget = ChannelBudget::new(Method::Zoh, &problem, (0, 0), &Contract::FRAMEWORK);
            let Ok::<f64, Infallible>(most) = budget.repeats();
            assert_eq!(most, if repeats { 150.0 } else { 1.0 });
            for capacity in [1, 2, 7, 100, 999] {
                let walked = Walked { problem: &problem, read: AtomicUsize::new(0) };
                let budget = ChannelBudget::new(Method::Zoh, &walked, (0, 0), &Contract::FRAMEWORK);
                let Ok(counted) = budget.repeats_within(capacity);
                assert_eq!(counted, most, "{capacity}");
                // Numbers that a walk holds are no more than that; all z and b are different here.
                let least = if repeats { 1 } else { 2 * shape.seqlen * shape.dstate };
                let walks = walked.read.into_inner();
                assert!(walks * capacity >= least, "{walks} walks, {capacity}");
            }
        }
    }
}

/// A tensor of a long channel passes where all of it is within the bound that is judged by, whether repeats had to be counted or
/// not.
#[test]
fn what_a_long_channel_is_not_counted_for_is_decided_all_the_same() {
    let shape = Shape { batch: 1, dim: 1, dstate: 64, seqlen: 300, groups: 1 };
    let mut uncounted = 0;
    for weights in Weights::ALL {
        let mut problem = problem(shape, weights, Operand::Variable, Operand::Variable);
        // A bound that is far from the worst case needs few repeats.
        problem.delta[1] = problem.delta[0];
        let (method, contract) = (Method::Zoh, Contract::FRAMEWORK);
        let budget = budget::scan(method, &problem, &contract);
        assert_eq!(budget.repeats, 2.0);
        let recorded = |by: &dyn Fn(usize) -> f64| {
            let got = off_by(&problem, &budget, by);
            recorded(&problem, &[("zoh", &got)]).recording()
        };
        let judge = |by: &dyn Fn(usize) -> f64, long| {
            let recording = recorded(by);
            let tensors = recording.layout().outputs.values().next().expect("one");
            let got = |tensor, elements| recording.outputs(tensors, tensor, (0, 0), elements);
            quick::judge_stretches((method, &contract), &recording, (0, 0), &got, long).expect("readable")
        };
        for share in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
            for sure in [f64::NAN, 1.0, 1.2, 1e6] {
                let by = |i: usize| if i == 150 && !sure.is_nan() { sure * share } else { share };
                let (counted, long) = (judge(&by, usize::MAX), judge(&by, 0));
                for (name, counted, long) in counted.zip(&long) {
                    let place = format!("{weights} {name} {share} {sure}: {counted:?} {long:?}");
                    assert_eq!(counted.failed > 0, long.failed > 0, "{place}");
                    assert_eq!(
                        counted.passed == counted.elements(),
                        long.passed == long.elements(),
                        "{place}"
                    );
                    assert!(long.passed <= counted.passed && long.failed <= counted.failed, "{place}");
                    assert_eq!((long.elements(), long.open), (counted.elements(), long.between), "{place}");
                    assert!(long.between == 0 || long.failed > 0, "{place}");
                    uncounted += long.between;
                }
            }
        }
    }
    assert!(uncounted > 0, "everything was counted");
}

/// A diagnosis needs what a misreading kernel reads: the group of another channel, the weights of all.
#[test]
fn a_misread_group_or_weight_is_named_where_few_channels_are_read() {
    use Operand::{Constant, Variable};
    for (fault, b) in [("group-modulo", Variable), ("b-transposed", Constant), ("b-transposed", Variable)] {
        let shape = Shape { batch: 2, dim: 6, dstate: 4, seqlen: 90, groups: 3 };
        let problem = problem(shape, Weights::Real, b, Variable);
        let kernel = CpuBackend::with_faults(fault, None).expect("in the list");
        let output = kernel.scan(Method::Zoh, &problem).expect("runs");
        let file = recorded(&problem, &[("zoh", &output)]);
        let options = Options { channels: Some(3), ..ALL };
        let found = file.judged_by(&options).diagnosis;
        assert!(named(&found).contains(&fault), "{fault}: {found:?}");
        let held = file.recording().read(&[3, 8]).expect("two channels").problem;
        assert_eq!((held.u.len(), held.a.len()), (2 * shape.seqlen, 24));
        for at in [(0, 3), (1, 2)] {
            let [some, all] = [&held, &problem].map(|p| p.u_at(at, 7));
            assert_eq!(some, all);
            let [some, all] = [&held, &problem].map(|p| p.c[p.operand_index(p.c_operand, at, 1, 5)]);
            assert_eq!(some, all);
        }
    }
}

/// A step may read u beside its own position, across the border of two stretches.
#[test]
fn a_stretch_has_the_numbers_of_the_whole_and_u_beside_them() {
    use Operand::{Constant, Variable};
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 20, groups: 2 };
    for (weights, b, c) in [(Weights::Real, Constant, Variable), (Weights::Complex, Variable, Constant)] {
        let problem = problem(shape, weights, b, c);
        let sound = off(&problem, Method::Zoh, |_| 0.0);
        let recording = recorded(&problem, &[("zoh", &sound)]).recording();
        for at in problem.channels() {
            for positions in [0..1, 0..20, 7..9, 19..20] {
                let stretch = recording.stretch(at, positions.clone()).expect("readable");
                let seen = |p: &Problem, at: (usize, usize), l: usize| {
                    let (b, c) = (p.operand_index(b, at, 2, l), p.operand_index(c, at, 2, l));
                    let (a, i) = (p.weight_index(at.1, 2), p.sequence_index(at.0, at.1, l));
                    let around = [-1, 0, 1].map(|offset| p.u_at(at, l as isize + offset));
                    let of_channel =
                        [&p.d, &p.delta_bias].map(|values| values.as_ref().expect("there")[at.1]);
                    let gate = p.z.as_ref().expect("there")[i];
                    (around, [p.a[a], p.b[b], p.c[c], p.delta[i], gate], of_channel)
                };
                for l in positions {
                    let part = seen(&stretch.problem, stretch.at, l - stretch.first);
                    assert_eq!(part, seen(&problem, at, l), "{weights} {at:?} {l}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_shrinks_meanwhile_is_an_error() {
    let shape = Shape { batch: 1, dim: 2, dstate: 2, seqlen: 40, groups: 1 };
    let problem = problem(shape, Weights::Real, Operand::Variable, Operand::Variable);
    let sound = off(&problem, Method::Zoh, |_| 0.0);
    let bytes = recorded(&problem, &[("zoh", &sound)]).bytes();
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &bytes).expect("written");
    let recording = Recording::open(file.path()).expect("a run");
    assert!(check::check("run", "run", &recording, &ALL, &|| ()).is_ok());
    file.as_file().set_len(bytes.len() as u64 - 1).expect("shorter");
    let error = check::check("run", "run", &recording, &ALL, &|| ()).expect_err("shorter").to_string();
    assert!(error.contains("cannot read the file"), "{error}");
    // Or it changes to what no run holds: z stands last.
    let nan = f32::NAN.to_le_bytes();
    let wrong: Vec<u8> = bytes[..bytes.len() - 40].iter().copied().chain(nan.repeat(10)).collect();
    std::fs::write(file.path(), wrong).expect("written");
    let error = check::check("run", "run", &recording, &ALL, &|| ()).expect_err("NaN").to_string();
    assert!(error.contains("expected a finite number"), "{error}");
}

/// Channels that the quick route leaves open are more than get a truth at first: a wrong element in the last of them fails all the same.
#[test]
fn a_wrong_element_in_the_last_open_channel_fails() {
    let (seqlen, dim) = (2048, 24);
    let shape = Shape { batch: 1, dim, dstate: 16, seqlen, groups: 1 };
    let kind = (Weights::Real, InputType::F16);
    let mut problem = drawn(regime::EVERYTHING, shape, kind, VARIABLE, (1, "recorded/open"));
    (problem.z, problem.d) = (None, Some(vec![1.0; dim]));
    // At the end of f16's range nothing is decided without a truth.
    for channel in 0..dim {
        (problem.u[channel * seqlen], problem.delta[channel * seqlen]) = (65504.0, -15.0);
    }
    let output = CpuBackend::new().scan(Method::Zoh, &problem).expect("runs");
    for wrong in [None, Some(dim - 1)] {
        let mut values = output[TensorName::Out].values.clone();
        wrong.into_iter().for_each(|channel| values[channel * seqlen] = 100.0);
        let case = File::of_output(&problem, "zoh", &values, None).judged();
        let verdict = if wrong.is_some() { Verdict::Fail } else { Verdict::Pass };
        assert_eq!((case.verdict, case.judged), (verdict, dim * seqlen), "{wrong:?}");
    }
}
