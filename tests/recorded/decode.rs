//! Promise: a state that is stored in fewer bits after each step, as models decode, is judged as such where it is stated.

use holdfast::problem::{InputType, Problem};
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::TensorName;

use crate::support::problems::{Layout, generator, uniform};
use crate::written::{File, stepped};

const STEPS: usize = 60;

fn drawn() -> Problem {
    let mut rng = generator("decode");
    let mut problem = Layout::plain(2, 3, 8, STEPS).random(&mut rng);
    problem.initial_state = Some(uniform(2 * 3 * 8, InputType::Bf16, &mut rng));
    problem
}

/// zoh step by step in f32, with a state that is stored so; outputs read what was stored, or what was not yet.
fn decoded(problem: &Problem, stored: InputType, reads_stored: bool) -> [Vec<f32>; 2] {
    stepped(problem, |x, (at, n, l)| {
        let (i, w) = (problem.sequence_index(at.0, at.1, l), problem.weight_index(at.1, n));
        let new =
            (problem.delta[i] * problem.a[w]).exp() * *x + problem.delta[i] * problem.b[w] * problem.u[i];
        *x = stored.round(new);
        problem.c[w] * if reads_stored { *x } else { new }
    })
}

fn judged(problem: &Problem, [out, last]: &[Vec<f32>; 2], metadata: &[(&str, &str)]) -> CaseResult {
    File::of_output(problem, "zoh", out, Some(last)).stating(metadata).judged()
}

#[test]
fn a_cache_is_judged_by_its_own_type() {
    let problem = drawn();
    let [stored, unrounded] =
        [true, false].map(|reads_stored| decoded(&problem, InputType::Bf16, reads_stored));
    let [of_type, reads_unrounded] = [("state_type", "bf16"), ("state_read", "unrounded")];
    for got in [&stored, &unrounded] {
        assert_eq!(judged(&problem, got, &[]).verdict, Verdict::Fail);
        let case = judged(&problem, got, &[of_type]);
        assert_eq!(case.verdict, Verdict::Pass);
        // It passes at half of its bound, and uses some of it.
        let shares: Vec<f64> =
            case.tensors.values().map(|tensor| tensor.worst.as_ref().expect("judged").share).collect();
        assert!(shares.iter().all(|share| (0.01..0.5).contains(share)), "{shares:?}");
        let f16 = judged(&problem, got, &[("state_type", "f16")]);
        assert_eq!(f16.verdict, Verdict::Fail);
    }
    assert_eq!(judged(&problem, &unrounded, &[of_type, reads_unrounded]).verdict, Verdict::Pass);
    // What reads the stored state shows it in the first outputs.
    let case = judged(&problem, &stored, &[of_type, reads_unrounded]);
    assert_eq!(case.verdict, Verdict::Fail);
    let text = "state_type=bf16, state_read=unrounded";
    assert_eq!(judged(&problem, &unrounded, &[("arithmetic", text)]).verdict, Verdict::Pass);
}

/// A small state that decays slowly stays where it is: roundings then go one way, step after step.
#[test]
fn a_state_that_stands_still_is_allowed_where_it_is_stated() {
    let mut problem = drawn();
    problem.a.fill(-0.001);
    problem.u.fill(0.0);
    let got = decoded(&problem, InputType::Bf16, true);
    assert_eq!(got[1], *problem.initial_state.as_ref().expect("given"));
    assert_eq!(judged(&problem, &got, &[("state_type", "bf16")]).verdict, Verdict::Pass);
    // One that is lost is none of them.
    let mut lost = got.clone();
    lost[1].fill(0.0);
    let case = judged(&problem, &lost, &[("state_type", "bf16")]);
    assert_eq!(case.tensors[TensorName::LastState].verdict, Verdict::Fail);
}

#[test]
fn what_is_read_of_no_cache_is_refused() {
    let file = File::of_output(&drawn(), "zoh", &[0.0; 2 * 3 * STEPS], None);
    for (key, text, says) in [
        ("state_read", "stored", "metadata `state_read` is `stored`, expected none where no `state_type`"),
        ("state_type", "int8", "metadata `state_type` is `int8`, expected f32, f16 or bf16"),
        ("state_typ", "bf16", "did you mean `state_type`?"),
        ("arithmetic", "state_read=unrounded", "expected f32, f16, bf16 or tf32"),
    ] {
        file.stating(&[(key, text)]).is_refused(says);
    }
}
