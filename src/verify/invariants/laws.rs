//! Each invariant, said with problems and runs.

use super::{Subject, gradients};
use crate::judge::budget;
use crate::judge::invariants::comparison::{Budgeted, largest_difference};
use crate::judge::invariants::{Comparison, Invariant, ProbeRun, carry, steps};
use crate::kernel::{Coefficients, KernelError};
use crate::method::Method;
use crate::problem::probe::{Probe, stable_steps};
use crate::problem::transform::{
    ValueIndex, conjugated, grafted, prepended, scaled, select, sum, time_scaled, times_i,
};
use crate::problem::{CoefficientProblem, Problem, Shape, Weights};
use crate::promise::Contract;
use crate::tensor::TensorName::{self, LastState, Out};
use Budgeted::{Derived, Exactly};

/// One method of one backend on one probe.
pub struct Bench<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) method: Method,
    pub(super) probe: Probe,
    pub(super) problem: Problem,
    /// Of the same shape.
    pub(super) other: Problem,
    run: ProbeRun,
    /// Nothing comes out of the states.
    silent: bool,
}

pub(super) type LawResult<T> = Result<T, KernelError>;

impl<'a> Bench<'a> {
    pub fn new(subject: Subject<'a>, method: Method, weights: Weights, probe: Probe) -> LawResult<Self> {
        let problem = probe.draw(weights, subject.seed);
        let other = probe.draw_other(weights, subject.seed);
        let run = scan(&subject, method, &problem)?;
        let silent = scan(&subject, method, &Problem { d: None, ..problem.clone() })?.is_zero();
        Ok(Bench { subject, method, probe, problem, other, run, silent })
    }

    /// The problem in words.
    pub fn describe(&self, invariant: Invariant) -> String {
        match invariant {
            Invariant::TimeScaleStep | Invariant::SmallStep | Invariant::Stability => "steps".to_owned(),
            Invariant::StoredRounding => "stored numbers".to_owned(),
            _ => format!("{} {}", self.probe.name(), self.problem.shape),
        }
    }

    pub(super) fn scan(&self, problem: &Problem) -> LawResult<ProbeRun> {
        scan(&self.subject, self.method, problem)
    }

    fn coefficients(&self, problem: &CoefficientProblem) -> LawResult<Coefficients> {
        self.subject.backend.coefficients(self.method, problem)
    }

    /// What the coefficients are held to.
    fn promise(&self) -> (Method, &Contract) {
        (self.method, &self.subject.contract)
    }

    pub(super) fn states(&self) -> Vec<usize> {
        (0..self.problem.shape.dstate).collect()
    }

    pub(super) fn positions(&self) -> Vec<usize> {
        (0..self.problem.shape.seqlen).collect()
    }

    /// Without the skip, which neither B, C nor a state enters.
    fn without_skip(&self) -> Problem {
        Problem { d: None, ..self.problem.clone() }
    }
}

/// The one place where a kernel runs a scan for an invariant, and where its bounds come from.
fn scan(subject: &Subject, method: Method, problem: &Problem) -> LawResult<ProbeRun> {
    let output = subject.backend.scan(method, problem)?;
    let budget = budget::scan(method, problem, &subject.contract);
    Ok(ProbeRun::new(&output, &budget))
}

/// What `invariant` comes to on this bench.
pub fn compare(bench: &Bench, invariant: Invariant) -> LawResult<Comparison> {
    let mut comparison = Comparison::default();
    if bench.silent {
        comparison.broken("every output or every state is zero: every law holds, and says nothing");
    }
    let c = &mut comparison;
    let Shape { batch, dim, dstate, groups, .. } = bench.problem.shape;
    match invariant {
        Invariant::ZeroInput => zero_input(bench, c),
        Invariant::UHomogeneous => homogeneous(bench, c, Factor::U),
        Invariant::BHomogeneous => homogeneous(bench, c, Factor::B),
        Invariant::CHomogeneous => homogeneous(bench, c, Factor::C),
        Invariant::UAdditive => additive(bench, c, Factor::U),
        Invariant::BAdditive => additive(bench, c, Factor::B),
        Invariant::CAdditive => additive(bench, c, Factor::C),
        Invariant::ComplexLinear => complex_linear(bench, c),
        Invariant::Causality => causality(bench, c),
        Invariant::TimeReversal => time_reversal(bench, c),
        Invariant::TimeScale => time_scale(bench, c),
        Invariant::Conjugation => conjugation(bench, c),
        Invariant::ChannelIndependence => independence(
            (bench, c),
            ("inputs in channel", dim),
            |i| i.channel,
            &TensorName::SCANNED,
            |_, d, _| d,
        ),
        Invariant::BatchIndependence => independence(
            (bench, c),
            ("inputs in batch entry", batch),
            |i| i.batch,
            &TensorName::SCANNED,
            |b, _, _| b,
        ),
        Invariant::GroupIndependence => {
            let group = |_: usize, d: usize, _: usize| d / (dim / groups);
            independence((bench, c), ("B and C in group", groups), |i| i.group, &TensorName::SCANNED, group)
        }
        Invariant::StateIndependence => {
            independence((bench, c), ("A, B and C of state", dstate), |i| i.state, &[LastState], |_, _, n| n)
        }
        Invariant::StatePermutation => state_permutation(bench, c),
        Invariant::Splitting => splitting(bench, c),
        Invariant::ZeroStep => zero_step(bench, c),
        Invariant::SingleStates => single_states(bench, c),
        Invariant::RepeatedStates => repeated_states(bench, c),
        Invariant::NanInput => super::nan::nan_input(bench, c),
        Invariant::StoredRounding => super::stored::stored_rounding(bench, c),
        Invariant::TimeScaleStep => time_scale_step(bench, c),
        Invariant::SmallStep => small_step(bench, c),
        Invariant::Stability => stability(bench, c),
        Invariant::GradientZero => gradients::zero(bench, c),
        Invariant::GradientHomogeneous => gradients::homogeneous(bench, c),
        Invariant::GradientAdditive => gradients::additive(bench, c),
        Invariant::DotProduct => gradients::dot_product(bench, c),
        Invariant::GradientIndependence => gradients::independence(bench, c),
        Invariant::GradientCausality => gradients::causality(bench, c),
        Invariant::GradientConjugation => gradients::conjugation(bench, c),
        Invariant::GradientReversal => gradients::reversal(bench, c),
        Invariant::GradientPermutation => gradients::permutation(bench, c),
        Invariant::GradientNan => super::nan::gradient_nan(bench, c),
    }?;
    Ok(comparison)
}

/// What the outputs are linear in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Factor {
    U,
    B,
    C,
}

impl Factor {
    pub fn name(self) -> &'static str {
        match self {
            Factor::U => "u",
            Factor::B => "B",
            Factor::C => "C",
        }
    }

    /// The problem in which this is the only factor of the outputs: without a skip, except for u.
    pub fn problem(self, bench: &Bench) -> Problem {
        if self == Factor::U { bench.problem.clone() } else { bench.without_skip() }
    }

    pub fn replaced(self, problem: &Problem, change: impl FnOnce(&[f32]) -> Vec<f32>) -> Problem {
        let mut changed = problem.clone();
        match self {
            Factor::U => changed.u = change(&problem.u),
            Factor::B => changed.b = change(&problem.b),
            Factor::C => changed.c = change(&problem.c),
        }
        changed
    }

    pub fn of(self, problem: &Problem) -> &[f32] {
        match self {
            Factor::U => &problem.u,
            Factor::B => &problem.b,
            Factor::C => &problem.c,
        }
    }
}

fn zero_input(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let zero = bench.scan(&Factor::U.replaced(&bench.problem, |u| vec![0.0; u.len()]))?;
    c.all("with u = 0", &zero, &[], Exactly);
    Ok(())
}

fn homogeneous(bench: &Bench, c: &mut Comparison, factor: Factor) -> LawResult<()> {
    let problem = factor.problem(bench);
    let plain = bench.scan(&problem)?;
    let twice = bench.scan(&factor.replaced(&problem, |values| scaled(values, -2.0)))?;
    let how = format!("with −2{}, against −2 times what {0} gives", factor.name());
    c.each(Out, &how, &twice, &[(-2.0, &plain)], Exactly);
    let of_state = if factor == Factor::C { 1.0 } else { -2.0 };
    c.each(LastState, &how, &twice, &[(of_state, &plain)], Exactly);
    Ok(())
}

fn additive(bench: &Bench, c: &mut Comparison, factor: Factor) -> LawResult<()> {
    let problem = factor.problem(bench);
    let other = factor.replaced(&problem, |_| factor.of(&bench.other).to_vec());
    let both = factor.replaced(&problem, |values| sum(values, factor.of(&bench.other)));
    let (one, two, both) = (bench.scan(&problem)?, bench.scan(&other)?, bench.scan(&both)?);
    let how = format!("with {0} + {0}', against the sum of what {0} and {0}' give", factor.name());
    c.each(Out, &how, &both, &[(1.0, &one), (1.0, &two)], Derived);
    match factor {
        Factor::C => c.each(LastState, &how, &both, &[(1.0, &one)], Exactly),
        _ => c.each(LastState, &how, &both, &[(1.0, &one), (1.0, &two)], Derived),
    }
    Ok(())
}

fn complex_linear(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let turned = Problem {
        b: times_i(&bench.problem.b, 1.0),
        c: times_i(&bench.problem.c, -1.0),
        ..bench.problem.clone()
    };
    let turned = bench.scan(&turned)?;
    let want = bench.run.with_states(|x| x * num_complex::Complex64::I);
    c.all("with iB and −iC", &turned, &[(1.0, &want)], Derived);
    Ok(())
}

fn causality(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    for &from in bench.probe.splits() {
        let later = |place: ValueIndex| place.l.is_some_and(|l| l >= from);
        let changed = bench.scan(&grafted(&bench.problem, &bench.other, &later))?;
        let how = format!("with other inputs from l = {from} on");
        c.tensor(Out, &how, &changed, &[(1.0, &bench.run)], Exactly, |_, _, l| l < from);
    }
    Ok(())
}

fn time_reversal(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let (states, mut positions) = (bench.states(), bench.positions());
    positions.reverse();
    let reversed = bench.scan(&select(&bench.problem, &states, &positions))?;
    let want = bench.run.select(&states, &positions);
    c.each(Out, "reversed", &reversed, &[(1.0, &want)], Derived);
    Ok(())
}

/// With E: y(s) → y(2s), a term of y that grows like sᵖ satisfies (E − 2ᵖ)y = 0, and their sum the product of these. The
/// factors f with Eⁿy = Σ fₖEᵏy: none of zoh's, bilinear's and rk4's outputs changes, so that (E−1)y = 0; foh's satisfy
/// (E−2)y = 0, poly's (E−1)(E−2)y = 0, highorder's (E−1)(E−2)(E−4)y = 0.
fn annihilator(method: Method) -> Vec<f64> {
    let mut product = vec![1.0];
    for power in method.formula().powers_of_time() {
        // Times E, less 2ᵖ times it.
        let shifted: Vec<f64> = std::iter::once(0.0).chain(product.iter().copied()).collect();
        product.push(0.0);
        product = shifted.iter().zip(&product).map(|(e, x)| e - 2f64.powi(power) * x).collect();
    }
    product.pop();
    product.iter().map(|factor| -factor).collect()
}

/// The outputs that are compared, in words.
fn relation(factors: &[f64]) -> String {
    let y = |k: usize| if k == 0 { "y(s)".to_owned() } else { format!("y({}s)", 1 << k) };
    let mut sum = String::new();
    for (k, &factor) in factors.iter().enumerate().rev() {
        let sign = match (sum.is_empty(), factor < 0.0) {
            (true, _) => "",
            (false, false) => " + ",
            (false, true) => " − ",
        };
        let times = if factor == 1.0 { String::new() } else { factor.abs().to_string() };
        sum += &format!("{sign}{times}{}", y(k));
    }
    format!("{sum} against {}", y(factors.len()))
}

fn time_scale(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let factors = annihilator(bench.method);
    let budgeted = if factors.len() == 1 { Exactly } else { Derived };
    // Around the time unit of training, and where every Δ lies around 1e-7.
    for first in [1.0, 2f32.powi(-20)] {
        let runs = (0..=factors.len()).map(|k| {
            let s = first * 2f32.powi(k as i32);
            bench.scan(&time_scaled(&bench.without_skip(), s))
        });
        let runs: Vec<ProbeRun> = runs.collect::<LawResult<_>>()?;
        let want: Vec<(f64, &ProbeRun)> = factors.iter().copied().zip(&runs).collect();
        c.all(&format!("{}, s = {first:e}", relation(&factors)), &runs[factors.len()], &want, budgeted);
        let changes = factors != [1.0];
        // At tiny s, the terms that change are tiny, too.
        if changes && first == 1.0 && largest_difference(&runs[0], &runs[1]) <= 1.0 {
            c.broken("(A/2, B/2, 2Δ) gives the same outputs: this method's must differ");
        }
    }
    Ok(())
}

fn conjugation(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let conjugate = bench.scan(&conjugated(&bench.problem))?;
    let want = bench.run.with_states(|x| x.conj());
    c.all("with A, B and C conjugated", &conjugate, &[(1.0, &want)], Exactly);
    Ok(())
}

/// Other inputs at one of `count` places of an axis change nothing elsewhere: `axis` is an input's place there, `place` that
/// of an element (batch, channel, state) of what is compared.
fn independence(
    (bench, c): (&Bench, &mut Comparison),
    (what, count): (&str, usize),
    axis: fn(ValueIndex) -> Option<usize>,
    compared: &[TensorName],
    place: impl Fn(usize, usize, usize) -> usize,
) -> LawResult<()> {
    for at in 0..count {
        let changed = grafted(&bench.problem, &bench.other, &|index| axis(index) == Some(at));
        let changed = bench.scan(&changed)?;
        let how = format!("with other {what} {at}");
        for &name in compared {
            c.tensor(name, &how, &changed, &[(1.0, &bench.run)], Exactly, |b, d, n| place(b, d, n) != at);
        }
    }
    Ok(())
}

fn state_permutation(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let mut states = bench.states();
    states.rotate_left(1);
    let permuted = bench.scan(&select(&bench.problem, &states, &bench.positions()))?;
    let want = bench.run.select(&states, &bench.positions());
    c.all(&format!("with the states in the order {states:?}"), &permuted, &[(1.0, &want)], Derived);
    Ok(())
}

fn splitting(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let (problem, states, whole) = (&bench.problem, bench.states(), &bench.run);
    let steps = carry::unit_steps(problem);
    let unit = bench.coefficients(&steps)?;
    let causal = !bench.method.is_bidirectional();
    for &at in bench.probe.splits() {
        let (before, after) = bench.positions().into_iter().partition::<Vec<usize>, _>(|&l| l < at);
        let first = bench.scan(&select(problem, &states, &before))?;
        let (b, errors) = carry::carry(bench.promise(), problem, &steps, &unit, &first);
        let rest = select(problem, &states, &after);
        let second = bench.scan(&prepended(&rest, carry::DELTA, 1.0, &b))?;
        let second = second.select(&states, &(1..=after.len()).collect::<Vec<_>>());
        let second = second.widened(&carry::in_outputs(&rest, &errors), &errors);
        let how = format!("split at l = {at}");
        // poly's outputs see both sides at once; its last state is the forward one.
        if causal {
            let want = whole.select(&states, &before);
            c.each(Out, &format!("{how}, before"), &first, &[(1.0, &want)], Derived);
            let want = whole.select(&states, &after);
            c.each(Out, &format!("{how}, l counted from there"), &second, &[(1.0, &want)], Derived);
        }
        c.each(LastState, &how, &second, &[(1.0, whole)], Derived);
    }
    Ok(())
}

fn zero_step(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let plain = bench.without_skip();
    let still = bench.scan(&Problem { delta: vec![0.0; plain.delta.len()], ..plain.clone() })?;
    c.all("with Δ = 0", &still, &[], Exactly);
    let (states, seqlen) = (bench.states(), plain.shape.seqlen);
    for &at in bench.probe.splits() {
        let mut delta = plain.delta.clone();
        delta.chunks_mut(seqlen).for_each(|row| row[at..].fill(0.0));
        let frozen = bench.scan(&Problem { delta, ..plain.clone() })?;
        let how = format!("with Δ = 0 from l = {at} on");
        // C is constant, so the output stays, too. poly's reversed state vanishes from `at` on, not before.
        let kept = if bench.method.is_bidirectional() { at } else { at - 1 };
        let want = frozen.select(&states, &vec![kept; seqlen]);
        c.tensor(Out, &how, &frozen, &[(1.0, &want)], Derived, |_, _, l| l > kept);
        let before: Vec<usize> = (0..at).collect();
        let first = bench.scan(&select(&plain, &states, &before))?;
        c.each(LastState, &how, &frozen, &[(1.0, &first)], Derived);
    }
    Ok(())
}

fn single_states(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let (plain, positions) = (bench.without_skip(), bench.positions());
    let together = bench.scan(&plain)?;
    let alone = bench.states().into_iter().map(|n| bench.scan(&select(&plain, &[n], &positions)));
    let alone: Vec<ProbeRun> = alone.collect::<LawResult<_>>()?;
    let want: Vec<(f64, &ProbeRun)> = alone.iter().map(|run| (1.0, run)).collect();
    let how = "against the sum over states alone";
    c.each(Out, how, &together, &want, Derived);
    for (n, alone) in alone.iter().enumerate() {
        let state = together.select(&[n], &positions);
        let how = format!("state {n} alone");
        c.each(LastState, &how, alone, &[(1.0, &state)], Derived);
    }
    Ok(())
}

/// How often a state is repeated.
const REPEATS: usize = 5;

fn repeated_states(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let (plain, positions) = (bench.without_skip(), bench.positions());
    let one = bench.scan(&select(&plain, &[0], &positions))?;
    let many = bench.scan(&select(&plain, &[0; REPEATS], &positions))?;
    let want = one.select(&[0; REPEATS], &positions);
    let how = format!("{REPEATS} equal states against one");
    c.each(Out, &how, &many, &[(REPEATS as f64, &want)], Derived);
    c.each(LastState, &how, &many, &[(1.0, &want)], Derived);
    Ok(())
}

impl Bench<'_> {
    /// |z| and Δ around 1, so that every term of B̄ weighs something.
    fn steps(&self, delta: (f64, f64), z_abs: (f64, f64)) -> CoefficientProblem {
        stable_steps(self.problem.weights, delta, z_abs, self.subject.seed)
    }
}

fn time_scale_step(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let problem = bench.steps((0.25, 2.0), (0.5, 8.0));
    let plain = bench.coefficients(&problem)?;
    let rescaled = bench.coefficients(&steps::time_scaled(&problem, steps::SCALE))?;
    steps::time_scale(bench.promise(), &problem, (&plain, &rescaled), c);
    Ok(())
}

fn small_step(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    // Around the sizes at which a guard against small numbers would set in.
    let problem = bench.steps((1e-10, 1e-6), (1e-10, 1e-6));
    let at = |factor| bench.coefficients(&steps::shortened(&problem, factor));
    let (whole, half, none) = (at(1.0)?, at(0.5)?, at(0.0)?);
    steps::small_step(bench.promise(), &problem, [&whole, &half, &none], c);
    Ok(())
}

fn stability(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    for z_abs in [(1e-6, 1e2), (1e2, 1e4)] {
        let problem = bench.steps((1e-3, 1.0), z_abs);
        let got = bench.coefficients(&problem)?;
        steps::stability(bench.promise(), &problem, &got, c);
    }
    Ok(())
}
