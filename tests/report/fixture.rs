//! Synthetic results for the report's tests: what a run could have found, without a run.
#![allow(dead_code)] // each test file uses its part

use holdfast::judge::invariants::Invariant;
use holdfast::judge::model;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::*;
use holdfast::tensor::{ComputedName, DenseName, ElementType, GradientName, TensorName};
use num_complex::Complex64;

/// Forty regimes, the size of a full run.
pub const REGIMES: [&str; 40] = [
    "s4d-real",
    "s4d-lin",
    "s4d-inv",
    "vim-tiny",
    "tiny-z",
    "stiff",
    "imaginary",
    "a-zero",
    "bilinear-pole",
    "delta-zero",
    "u-zero",
    "b-zero",
    "n-1",
    "l-1",
    "l-dim",
    "groups",
    "seqlen-127",
    "seqlen-128",
    "seqlen-129",
    "seqlen-255",
    "seqlen-256",
    "seqlen-257",
    "seqlen-511",
    "seqlen-512",
    "seqlen-513",
    "seqlen-1023",
    "seqlen-1024",
    "seqlen-1025",
    "seqlen-2047",
    "seqlen-2048",
    "seqlen-2049",
    "everything-on",
    "skip",
    "gate",
    "delta-bias",
    "softplus",
    "constant-b",
    "constant-c",
    "repeated",
    "long-memory",
];

/// A number in 0…1 that depends on its arguments alone.
fn noise(a: usize, b: usize, c: usize) -> f64 {
    let mix = (a * 7919 + b * 104_729 + c * 1_299_709 + 12_345) as u64;
    let mix = mix.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mix ^ (mix >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1u64 << 53) as f64
}

pub fn empty() -> Results {
    let device = "x86_64 CPU, kernels built by g++ 12.2".to_owned();
    Results {
        version: "0.1.0".to_owned(),
        kernel_source: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
        ..Results::empty(20_260_101, "cpu", device, "holdfast verify --seed 20260101".to_owned())
    }
}

pub fn worst(tensor: &str, ratio: f64) -> Worst {
    let bound = 2.5e-7;
    Worst {
        tensor: tensor.to_owned(),
        index: vec![0, 3, 17],
        place: String::new(),
        got: 0.731_058_6 + ratio * bound,
        got_hex: "0x1.764d4ap-1".to_owned(),
        want: 0.731_058_578_630_004_9,
        want_hex: "0x1.764d49c2bd7f4p-1".to_owned(),
        got_parts: Vec::new(),
        want_parts: Vec::new(),
        error: ratio * bound,
        bound,
        ratio,
        share: ratio,
        ulp: ratio * 4.2,
        inputs: vec!["delta = 0.0123".to_owned(), "A[3, 0] = -1".to_owned(), "u = 0.5".to_owned()],
    }
}

/// A tensor with the given share of its bound.
pub fn tensor(name: &str, ratio: f64) -> TensorResult {
    TensorResult {
        verdict: if ratio <= 1.0 { Verdict::Pass } else { Verdict::Fail },
        reason: String::new(),
        beyond: if ratio <= 1.0 { Beyond::None } else { Beyond::WorstCase },
        worst_case_ratio: ratio,
        judged: 852,
        quick: 0,
        worst: Some(worst(name, ratio)),
        max_ulp: ratio * 4.2,
        rel_l2: ratio * 1e-7,
        wrong: Vec::new(),
        diagnosis: Vec::new(),
    }
}

/// A case with the given share of its bound: above 1, or not a number, it fails.
pub fn case(
    regime: &str,
    weights: Weights,
    input: InputType,
    b: Operand,
    method: Method,
    ratio: f64,
) -> CaseResult {
    let id = format!("{regime}/{weights}/{input}/b-{b}/c-variable/{method}");
    CaseResult {
        inputs: String::new(),
        method: method.into(),
        weights,
        input: input.into(),
        b,
        c: Operand::Variable,
        regime: regime.to_owned(),
        shape: Shape { batch: 2, dim: 4, dstate: 16, seqlen: 197, groups: 1 },
        backend: "cpu".to_owned(),
        verdict: if ratio <= 1.0 { Verdict::Pass } else { Verdict::Fail },
        reason: String::new(),
        beyond: if ratio <= 1.0 { Beyond::None } else { Beyond::WorstCase },
        worst_case_ratio: ratio,
        relative: None,
        lifted: None,
        judged: 1704,
        worst: Some(worst("out", ratio)),
        max_ulp: ratio * 4.2,
        rel_l2: ratio * 1e-7,
        diagnosis: Vec::new(),
        search: None,
        tensors: [
            (TensorName::Out.into(), tensor("out", ratio)),
            (TensorName::LastState.into(), tensor("last_state", ratio / 2.0)),
        ]
        .into_iter()
        .collect(),
        seeds: None,
        rerun: format!(
            "holdfast verify --regime {regime} --weights {weights} --input {input} --method {method} --seed 20260101"
        ),
        id,
    }
}

pub fn unmeasured(mut case: CaseResult, reason: &str) -> CaseResult {
    case.verdict = Verdict::Unmeasured;
    case.reason = reason.to_owned();
    case.worst = None;
    case.judged = 0;
    case.tensors = Default::default();
    (case.max_ulp, case.rel_l2) = (f64::NAN, f64::NAN);
    case
}

/// A full run's worth of results in which everything passes.
pub fn passing() -> Results {
    sized(&REGIMES, 2)
}

/// Three regimes only: small enough to read as a snapshot.
pub fn small() -> Results {
    sized(&["s4d-real", "stiff", "seqlen-1025"], 1)
}

fn sized(regimes: &[&str], variants: usize) -> Results {
    let mut results = empty();
    let kinds = [(InputType::F32, Operand::Variable), (InputType::F16, Operand::Constant)];
    for (r, regime) in regimes.iter().enumerate() {
        for weights in Weights::ALL {
            for (k, (input, b)) in kinds.into_iter().take(variants).enumerate() {
                for method in Method::ALL {
                    let n = noise(r * 4 + k * 2 + weights as usize, method as usize, 1);
                    let ratio = 10f64.powf(-2.6 + 2.5 * n);
                    results.cases.push(case(regime, weights, input, b, method, ratio));
                }
            }
        }
    }
    for weights in Weights::ALL {
        for method in Method::ALL {
            results.coefficients.push(sweep(weights, method));
            results.curves.push(curve(weights, method));
            results.invariants.extend(invariants(weights, method));
        }
        for regime in regimes.iter().take(8) {
            for source in ["truth", "cpu"] {
                results.pairwise.push(matrix(source, regime, weights));
            }
        }
    }
    [results.pairs, results.gradient_pairs] = PairTotals::of_passes(&results.pairwise);
    results.errors = errors(regimes[0]);
    results.analysis = holdfast::analysis::methods().clone();
    let note = |name: &&str| RegimeNote {
        name: (*name).to_owned(),
        why: format!("{name} is hard"),
        ordinary: false,
    };
    results.regimes = regimes.iter().map(note).collect();
    results
}

/// With the backward passes of a problem of each weight type, their errors along the sequence, and how far apart they are.
pub fn with_gradients(mut results: Results) -> Results {
    use GradientName::{A, B, Delta, U};
    let regime = results.cases[0].regime.clone();
    for weights in Weights::ALL {
        for method in Method::ALL {
            let ratio = 0.05 + 0.1 * noise(method as usize, weights as usize, 8);
            let forward = case(&regime, weights, InputType::F32, Operand::Variable, method, ratio);
            let id = format!("{}{BACKWARD}", forward.id);
            let tensors = [U, Delta, A, B].map(|name| (name.into(), tensor(name.name(), ratio)));
            for (name, _) in tensors.iter().filter(|(name, _)| *name != A.into()) {
                let like = |s: &&ErrorSequence| (s.method, s.weights) == (method, weights);
                let out = results.errors.sequences.iter().find(like).expect("one of the outputs").clone();
                results.errors.sequences.push(ErrorSequence { case: id.clone(), tensor: *name, ..out });
            }
            results.cases.push(CaseResult {
                tensors: tensors.into_iter().collect(),
                worst: Some(worst("grad.u", ratio)),
                rerun: format!("{} --pass backward", forward.rerun),
                id,
                ..forward
            });
        }
        for tensor in [U, A].map(ComputedName::from) {
            for source in ["truth", "cpu"] {
                results.pairwise.push(PairwiseMatrix { tensor, ..matrix(source, &regime, weights) });
            }
        }
    }
    [results.pairs, results.gradient_pairs] = PairTotals::of_passes(&results.pairwise);
    results
}

/// Besides it, systems whose A is a matrix.
pub fn with_dense(mut results: Results) -> Results {
    let regime = "dense legs";
    results.regimes.push(RegimeNote {
        name: regime.to_owned(),
        why: "not normal".to_owned(),
        ordinary: false,
    });
    for method in Method::ALL {
        let of = case(regime, Weights::Real, InputType::F32, Operand::Variable, method, 0.2);
        let tensors =
            DenseName::ALL.map(|name| (name.into(), tensor(name.name(), 0.2))).into_iter().collect();
        results.cases.push(CaseResult { tensors, ..of });
    }
    for name in DenseName::ALL {
        let of = |source| PairwiseMatrix { tensor: name.into(), ..matrix(source, regime, Weights::Real) };
        results.pairwise.extend(["truth", "cpu"].map(of));
    }
    [results.pairs, results.gradient_pairs] = PairTotals::of_passes(&results.pairwise);
    results
}

/// The first two methods' grad.A of the first problem that has it differs by something else than the truth says.
pub fn spoil_gradients(mut results: Results) -> Results {
    let is_of_a = |m: &&mut PairwiseMatrix| m.source != "truth" && m.tensor == GradientName::A.into();
    let matrix = results.pairwise.iter_mut().find(is_of_a).expect("one of grad.A");
    (matrix.pairs[0].status, matrix.pairs[0].ratio) = (PairStatus::Off, 4.4e4);
    let broken = |s: &&mut ErrorSequence| s.tensor == GradientName::B.into() && s.method == Method::Foh;
    let sequence = results.errors.sequences.iter_mut().find(broken).expect("one of grad.B");
    sequence.error[5] = 3.0 * sequence.bound[5];
    [results.pairs, results.gradient_pairs] = PairTotals::of_passes(&results.pairwise);
    results
}

fn errors(regime: &str) -> ErrorProfile {
    let mut errors = ErrorProfile::default();
    for weights in Weights::ALL {
        for method in Method::ALL {
            let mut histogram = ErrorHistogram::new(method, weights);
            for i in 0..4000 {
                let share = 10f64.powf(-6.0 * noise(i, method as usize, 4) * noise(i, weights as usize, 5));
                histogram.count(if i % 10 == 0 { 0.0 } else { 0.5 * share });
            }
            errors.histograms.push(histogram);
            let bound = |l: usize| 1e-7 * (1.0 + l as f64 / 100.0);
            let position: Vec<usize> = (0..128).map(|i| i * 16).collect();
            errors.sequences.push(ErrorSequence {
                method,
                weights,
                case: format!("{regime}/{weights}/f32/b-variable/c-variable/{method}"),
                tensor: ComputedName::out(),
                error: position.iter().map(|&l| bound(l) * noise(l, method as usize, 6).powi(3)).collect(),
                bound: position.iter().map(|&l| bound(l)).collect(),
                position,
            });
        }
    }
    errors
}

fn sweep(weights: Weights, method: Method) -> CoefficientResult {
    let point = |i: usize| {
        let z = 10f64.powf(-9.0 + 10.9 * i as f64 / 299.0);
        let angle = if weights == Weights::Real { std::f64::consts::PI } else { 2.0 };
        let size = if weights == Weights::Real { 0.8 } else { 1.9 };
        CoefficientPoint {
            z_re: z * angle.cos(),
            z_im: z * angle.sin(),
            a_bar_ulp: size * noise(i, method as usize, 2) + 0.5,
            b_bar_ulp: size * noise(i, method as usize, 3) * (1.0 + z.min(3.0)),
            a_bar_allowed: 4.0,
            b_bar_allowed: 8.0,
        }
    };
    CoefficientResult {
        method,
        weights,
        sweep: if weights == Weights::Real { "real axis" } else { "complex plane" }.to_owned(),
        backend: "cpu".to_owned(),
        verdict: Verdict::Pass,
        reason: String::new(),
        worst_a_bar: Some(worst("a_bar", 0.31 + 0.05 * method as usize as f64)),
        worst_b_bar: Some(worst("b_bar", 0.42 + 0.04 * method as usize as f64)),
        points: (0..300).map(point).collect(),
        diagnosis: Vec::new(),
        lifted: None,
        seeds: None,
        rerun: format!("holdfast verify --method {method} --weights {weights} --seed 20260101"),
    }
}

/// Three invariants, two of them exact, and one of complex weights only.
fn invariants(weights: Weights, method: Method) -> Vec<InvariantResult> {
    let all = [Invariant::BHomogeneous, Invariant::UAdditive, Invariant::Conjugation];
    let applying = all.into_iter().filter(|i| i.applies(method, weights));
    let result = |invariant: Invariant| InvariantResult {
        name: invariant.name().to_owned(),
        what: invariant.what().to_owned(),
        method,
        weights,
        problem: "grouped b2 d4 n3 l33 g2".to_owned(),
        backend: "cpu".to_owned(),
        verdict: Verdict::Pass,
        reason: String::new(),
        judged: 2064,
        worst: Some(match invariant {
            Invariant::UAdditive => worst("out", 0.02 + 0.01 * method as usize as f64),
            _ => Worst { error: 0.0, bound: 0.0, ratio: 0.0, share: 0.0, ulp: 0.0, ..worst("out", 0.0) },
        }),
        seeds: None,
        rerun: format!(
            "holdfast verify --invariants-only --method {method} --weights {weights} --seed 20260101"
        ),
    };
    applying.map(result).collect()
}

/// What the methods look like for A = -1.
fn curve(weights: Weights, method: Method) -> MethodCurve {
    let z_abs: Vec<f64> = (0..90).map(|i| 10f64.powf(-4.0 + 6.0 * f64::from(i) / 89.0)).collect();
    let step = |z: f64| {
        let (minus, one) = (Complex64::from(-1.0), Complex64::ONE);
        model::step(method, weights, (z, 0.0), minus, one, &Contract::PRODUCTION)
    };
    MethodCurve {
        method,
        weights,
        a: if weights == Weights::Real { "-1" } else { "-0.5+3i" }.to_owned(),
        a_bar_abs: z_abs.iter().map(|z| step(*z).a_bar.norm()).collect(),
        b_bar_over_delta_abs: z_abs.iter().map(|z| step(*z).b_bar.norm() / z).collect(),
        z_abs,
    }
}

pub fn matrix(source: &str, regime: &str, weights: Weights) -> PairwiseMatrix {
    let mut pairs = Vec::new();
    for left in Method::ALL {
        for right in Method::ALL.into_iter().filter(|right| left < *right) {
            let rel_l2 = 10f64.powf(-4.5 * noise(left as usize, right as usize, regime.len()));
            pairs.push(Pair {
                left: left.into(),
                right: right.into(),
                mean: rel_l2 * 0.3,
                max: rel_l2 * 2.1,
                rel_l2,
                max_ulp: rel_l2 * 1e7,
                status: if source == "truth" { PairStatus::Oracle } else { PairStatus::Agrees },
                worst_index: vec![1, 2, 99],
                ratio: if source == "truth" { 0.0 } else { 0.2 },
            });
        }
    }
    PairwiseMatrix {
        source: source.to_owned(),
        regime: regime.to_owned(),
        weights,
        input: ElementType::F32,
        problem: format!("{regime}/{weights}/f32/b-variable/c-variable"),
        tensor: ComputedName::out(),
        pairs,
    }
}

/// Failures of every kind in otherwise passing results: ratios beyond all bounds, NaN, infinity, a fault
/// without any element, a failing sweep, failing pairs, unmeasured cases; hostile names.
pub fn spoil(mut results: Results) -> Results {
    for case in &mut results.cases {
        if case.method == Method::Foh && case.weights == Weights::Complex {
            let share = case.worst.as_ref().map_or(1.0, |w| w.ratio) * 3e5;
            (case.worst, case.verdict) = (Some(worst("out", share)), Verdict::Fail);
            let fault = |name: &str, what: &str, residual| Diagnosis::new(name, what, residual);
            case.diagnosis = vec![
                fault("phi-taylor-4", "the series of every φ stops after 4 terms", 3.2e-8),
                fault("id 3 for 1", "", 0.4),
            ];
            for (name, tensor) in case.tensors.iter_mut() {
                *tensor =
                    TensorResult { diagnosis: case.diagnosis.clone(), ..self::tensor(name.name(), share) };
            }
        }
    }
    let real = |regime: &str, method, ratio| {
        case(regime, Weights::Real, InputType::Bf16, Operand::Constant, method, ratio)
    };
    results.cases.push(real("s4d-real", Method::Rk4, f64::NAN));
    results.cases.push(real("s4d-real", Method::Poly, f64::INFINITY));
    let mut fault = real("stiff", Method::HighOrder, f64::NAN);
    (fault.worst, fault.judged) = (None, 0);
    fault.tensors = Default::default();
    fault.reason = "kernel fault: barrier reached by 31 of 64 threads".to_owned();
    results.cases.push(fault);
    results.cases.push(unmeasured(real("stiff", Method::Zoh, 0.0), "no GPU on this machine"));
    results.cases.push(unmeasured(real("only-on-gpu", Method::Zoh, 0.0), "no GPU on this machine"));
    results.cases.push(real(HOSTILE, Method::Zoh, 0.25));
    results.cases.push(real(&"a-regime-with-a-very-long-name-".repeat(8), Method::Bilinear, 1e300));
    if let Some(sweep) = results.coefficients.iter_mut().find(|s| s.method == Method::Foh) {
        sweep.verdict = Verdict::Fail;
        sweep.worst_b_bar = Some(worst("b_bar", 8.1e4));
        for point in &mut sweep.points {
            let z = point.z_re.hypot(point.z_im);
            point.b_bar_ulp += 1e5 * z * z;
        }
        sweep.points[7].a_bar_ulp = f64::NAN;
        sweep.points[9].b_bar_ulp = f64::INFINITY;
    }
    let broken = |i: &&mut InvariantResult| i.method == Method::Bilinear && i.name == "u-additive";
    if let Some(invariant) = results.invariants.iter_mut().find(broken) {
        invariant.verdict = Verdict::Fail;
        invariant.worst = Some(worst("last_state", 7.3e3));
    }
    for matrix in results.pairwise.iter_mut().filter(|m| m.source != "truth").take(2) {
        for (pair, status) in [(0, PairStatus::Off), (6, PairStatus::Coincides), (8, PairStatus::Differs)] {
            (matrix.pairs[pair].status, matrix.pairs[pair].ratio) = (status, 4.4e4);
        }
        matrix.pairs[6].rel_l2 = 0.0;
        matrix.pairs[3].status = PairStatus::Unmeasured;
    }
    [results.pairs, results.gradient_pairs] = PairTotals::of_passes(&results.pairwise);
    let broken = |method, weights| method == Method::Foh && weights == Weights::Complex;
    for histogram in results.errors.histograms.iter_mut().filter(|h| broken(h.method, h.weights)) {
        [3e5, f64::INFINITY, f64::NAN].into_iter().for_each(|share| histogram.count(share));
    }
    for sequence in results.errors.sequences.iter_mut().filter(|s| broken(s.method, s.weights)) {
        sequence.error.iter_mut().enumerate().for_each(|(i, error)| *error *= (i * i) as f64);
        sequence.error[9] = f64::NAN;
    }
    results
}

/// A name that must never reach a page or a terminal as it is.
pub const HOSTILE: &str = "<script>alert('x')</script> | `a` \u{1b}[31m & \"b\"";
