//! A backward pass that is written anew from spec.md. It carries gradients and not cotangents: conjugates stand
//! where a kernel has them.

use holdfast::method::Method::{self, Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};
use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::output_gradients::Loss;
use holdfast::problem::regime::{self, Recipe, StateMatrix};
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::{GradientName, Gradients};
use num_complex::Complex64;

use self::Function::{Phi, Power, Resolvent};

type C = Complex64;

pub const SHAPE: Shape = Shape { batch: 2, dim: 6, dstate: 3, seqlen: 28, groups: 2 };

/// What h is made of.
#[derive(Clone, Copy, PartialEq)]
pub enum Function {
    Phi(usize),
    Power(i32),
    /// (1 − z/2)⁻¹
    Resolvent,
}

/// h as a sum of c Δᵖ f(z).
fn terms(method: Method) -> &'static [(f64, i32, Function)] {
    match method {
        Zoh => &[(1.0, 1, Power(0))],
        Foh => &[(1.0, 2, Phi(2))],
        Bilinear => &[(1.0, 1, Resolvent)],
        Poly => &[(1.0, 1, Phi(1)), (0.5, 2, Phi(2))],
        HighOrder => &[(1.0, 1, Phi(1)), (1.0, 2, Phi(2)), (0.5, 3, Phi(3))],
        Rk4 => &[(1.0, 1, Power(0)), (0.5, 1, Power(1)), (1.0 / 6.0, 1, Power(2)), (1.0 / 24.0, 1, Power(3))],
    }
}

fn phi(k: usize, z: C) -> C {
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    if z.norm() < 1.0 {
        return (0..20).map(|j| z.powu(j as u32) / factorial(j + k)).sum();
    }
    (0..k).fold(z.exp(), |phi, k| (phi - 1.0 / factorial(k)) / z)
}

fn value(f: Function, z: C) -> C {
    match f {
        Phi(k) => phi(k, z),
        Power(k) => z.powi(k),
        Resolvent => (1.0 - z / 2.0).inv(),
    }
}

pub fn slope(f: Function, z: C) -> C {
    match f {
        Phi(k) => phi(k, z) - k as f64 * phi(k + 1, z),
        Power(0) => 0.0.into(),
        Power(k) => f64::from(k) * z.powi(k - 1),
        Resolvent => value(f, z).powi(2) / 2.0,
    }
}

/// φₖ alone with another derivative, made of k and φₖ₋₁, φₖ and φₖ₊₁.
pub fn of_phi(f: Function, z: C, wrong: fn(f64, [C; 3]) -> C) -> C {
    let Phi(k) = f else { return slope(f, z) };
    wrong(k as f64, [k - 1, k, k + 1].map(|k| phi(k, z)))
}

/// zᵏ alone, made of k and z.
pub fn of_power(f: Function, z: C, wrong: fn(i32, C) -> C) -> C {
    if let Power(k @ 1..) = f { wrong(k, z) } else { slope(f, z) }
}

fn a_bar(method: Method, z: C) -> C {
    if method == Bilinear { (1.0 + z / 2.0) / (1.0 - z / 2.0) } else { z.exp() }
}

pub fn softplus(x: f64) -> f64 {
    x.exp().ln_1p()
}

pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub fn silu(x: f64) -> f64 {
    x * sigmoid(x)
}

pub fn silu_slope(x: f64) -> f64 {
    sigmoid(x) * (1.0 + x * sigmoid(-x))
}

/// What is conjugated on the way back.
#[derive(PartialEq)]
pub enum Of {
    /// In the recurrence.
    ABar,
    /// Where dout enters.
    C,
    /// In Ā's share.
    State,
    /// In the gradients of u and h.
    B,
    /// In those of u and B.
    H,
    /// ∂Ā/∂z
    ABarSlope,
    /// ∂z/∂Δ in Ā's share.
    A,
    /// ∂h/∂Δ and ∂h/∂A
    HSlope,
}

/// An adjoint on its way to the next position.
pub struct Carried {
    pub adjoint: C,
    pub a_bar: C,
    /// The later one of the two positions.
    pub edge: usize,
    pub reversed: bool,
}

/// The states around position l.
pub struct Around {
    pub before: C,
    pub reversed_before: C,
    pub reversed_after: C,
    pub l: usize,
}

/// What grad.u and grad.B of a state are made of: the state's gradient, h and B, conjugated.
pub struct Product {
    pub g: C,
    pub h: C,
    pub b: C,
    pub b_before: C,
    pub b_after: C,
    pub u: f64,
    pub delta: f64,
}

/// A gradient, and what becomes of its values, which may have rows of so many positions.
pub type Spoilt = (GradientName, fn(&mut [f32], usize));

/// A backward pass, and what may be wrong with it.
#[derive(Clone, Copy)]
pub struct Pass {
    /// What it takes for its inputs.
    pub reads: fn(&mut Problem, &mut OutputGradients),
    /// The channel whose B (or C) a channel reads.
    pub operand_of: fn(char, usize) -> usize,
    /// A state as it is kept.
    pub kept: fn(C) -> C,
    /// The state from which position l starts, of the one that was carried there and the right one.
    pub start: fn(C, C, usize) -> C,
    /// Of dout and z: what goes into the scan and into the skip.
    pub gated: fn(f64, f64) -> [f64; 2],
    /// grad.z for dout = 1, of y, D·u and z.
    pub z: fn(f64, f64, f64) -> f64,
    /// The factors of both scans, of the one that they have.
    pub factors: fn(f64) -> [f64; 2],
    /// C·dout as it is added to the adjoint.
    pub entering: fn(C) -> C,
    /// What dlast_state adds to the adjoint of the forward scan, or to the reversed one's, where it begins or elsewhere.
    pub dlast: fn(C, bool, bool) -> C,
    pub carried: fn(Carried) -> C,
    pub adjoint: fn(C) -> C,
    pub conj: fn(Of, C) -> C,
    /// The states by which adjoints are multiplied for Ā, of both scans.
    pub states: fn(Around) -> [C; 2],
    pub a_bar_slope: fn(Method, C) -> C,
    pub slope: fn(Function, C) -> C,
    /// ∂z/∂Δ and ∂z/∂A, of Δ and A.
    pub inner: fn(f64, C) -> [C; 2],
    /// A state's share of ∂L/∂Δ, of those of Ā and h.
    pub delta: fn(f64, f64) -> f64,
    /// The same of ∂L/∂A, with A.
    pub a: fn(C, C, C) -> C,
    /// Whether a position with this u and delta is left out of ∂L/∂Δ and ∂L/∂A.
    pub skipped: fn(f64, f64) -> bool,
    /// The derivative of softplus, of delta and bias.
    pub step_slope: fn(f64, f64) -> f64,
    pub u_product: fn(&Product) -> C,
    pub b_product: fn(&Product) -> C,
    /// Of the scan's share and the skip's.
    pub u: fn(f64, f64) -> f64,
    /// Over the states, in the gradients of u and delta.
    pub over_states: fn(&[f64]) -> f64,
    /// Over the positions of each item of the batch.
    pub sum: fn(&[&[C]]) -> C,
    /// Over the channels of a group.
    pub group: fn(&[C]) -> C,
    /// In the end.
    pub spoilt: Option<Spoilt>,
}

pub const RIGHT: Pass = Pass {
    reads: |_, _| (),
    operand_of: |_, channel| channel,
    kept: |x| x,
    start: |x, _, _| x,
    gated: |dout, z| [dout * silu(z); 2],
    z: |y, skip, z| (y + skip) * silu_slope(z),
    factors: |factor| [factor; 2],
    entering: |x| x,
    dlast: |x, reversed, begins| if begins && !reversed { x } else { 0.0.into() },
    carried: |c| c.a_bar * c.adjoint,
    adjoint: |g| g,
    conj: |_, x| x.conj(),
    states: |x| [x.before, x.reversed_after],
    a_bar_slope: |method, z| if method == Bilinear { (1.0 - z / 2.0).powi(-2) } else { z.exp() },
    slope,
    inner: |delta, a| [a, delta.into()],
    delta: |of_a_bar, of_h| of_a_bar + of_h,
    a: |of_a_bar, of_h, _| of_a_bar + of_h,
    skipped: |_, _| false,
    step_slope: |delta, bias| sigmoid(delta + bias),
    u_product: |p| p.g * p.h * p.b,
    b_product: |p| p.g * p.h * p.u,
    u: |scan, skip| scan + skip,
    over_states: |shares| shares.iter().sum(),
    sum: |rows| rows.iter().copied().flatten().sum(),
    group: |shares| shares.iter().sum(),
    spoilt: None,
};

pub type Given = (Problem, OutputGradients);

pub fn drawn(weights: Weights, operands: Operand, input: InputType) -> Given {
    // Steps that are large enough for every term of h to count.
    let (a, bias) = (StateMatrix::Stable(0.3, 3.0), Some((0.1, 1.0)));
    let recipe = Recipe { shape: SHAPE, a, bias, ..regime::EVERYTHING };
    let mut draw = Draw::new(1, "backward identified");
    let mut problem = inputs::draw(&recipe, weights, input, (operands, operands), &mut draw);
    problem.judged_channels = problem.channels().collect();
    // Every 5th position is masked.
    for values in [&mut problem.u, &mut problem.delta] {
        values.iter_mut().skip(4).step_by(5).for_each(|x| *x = 0.0);
    }
    let states = SHAPE.batch * problem.a.len();
    problem.initial_state = Some((0..states).map(|_| draw.normal() as f32).collect());
    let given = Loss::Random.draw(&problem, true, &mut draw);
    (problem, given)
}

/// Rows of another length, zero where they are longer.
fn fitted<T: Copy + Default>(values: &[T], from: usize, to: usize) -> Vec<T> {
    let fitted = |row: &[T]| (0..to).map(|i| row.get(i).copied().unwrap_or_default()).collect::<Vec<T>>();
    values.chunks(from).flat_map(fitted).collect()
}

/// The same with another number of positions.
pub fn resized(problem: &mut Problem, given: &mut OutputGradients, to: usize) {
    let from = std::mem::replace(&mut problem.shape.seqlen, to);
    let width = problem.weights.width();
    for values in [&mut problem.u, &mut problem.delta, &mut given.dout].into_iter().chain(&mut problem.z) {
        *values = fitted(values, from, to);
    }
    for values in [&mut problem.b, &mut problem.c] {
        *values = fitted(values, from * width, to * width);
    }
}

/// What a problem may lack and these have.
fn of(values: &Option<Vec<f32>>) -> &[f32] {
    values.as_ref().expect("it is drawn")
}

fn weight(problem: &Problem, values: &[f32], at: usize) -> C {
    let im = if problem.weights == Weights::Complex { values[at + 1] } else { 0.0 };
    C::new(values[at].into(), im.into())
}

/// One state of a channel at every position.
struct Row {
    a: C,
    delta: Vec<f64>,
    a_bar: Vec<C>,
    h: Vec<C>,
    b: Vec<C>,
    c: Vec<C>,
    /// The state that each position starts from, the one that it makes of it, and the reversed scan's.
    starts: Vec<C>,
    states: Vec<C>,
    reversed: Vec<C>,
}

impl Row {
    fn new(pass: &Pass, method: Method, problem: &Problem, (batch, d): (usize, usize), n: usize) -> Row {
        let seqlen = problem.shape.seqlen;
        let bias = of(&problem.delta_bias)[d];
        let step = |l| softplus((problem.delta[problem.sequence_index(batch, d, l)] + bias).into());
        let operand = |name, values, operand| {
            let channel = (batch, (pass.operand_of)(name, d));
            let at = |l| weight(problem, values, problem.operand_index(operand, channel, n, l));
            (0..seqlen).map(at).collect::<Vec<_>>()
        };
        let a = weight(problem, &problem.a, problem.weight_index(d, n));
        let delta: Vec<f64> = (0..seqlen).map(step).collect();
        let h =
            |delta: f64| terms(method).iter().map(|&(c, p, f)| c * delta.powi(p) * value(f, delta * a)).sum();
        let mut row = Row {
            a,
            a_bar: delta.iter().map(|delta| a_bar(method, delta * a)).collect(),
            h: delta.iter().map(|&delta| h(delta)).collect(),
            delta,
            b: operand('B', &problem.b, problem.b_operand),
            c: operand('C', &problem.c, problem.c_operand),
            starts: Vec::new(),
            states: Vec::new(),
            reversed: vec![0.0.into(); seqlen],
        };
        let input =
            |l: usize| row.h[l] * row.b[l] * f64::from(problem.u[problem.sequence_index(batch, d, l)]);
        let mut x = weight(problem, of(&problem.initial_state), problem.state_index((batch, d), n));
        let mut exact = x;
        for l in 0..seqlen {
            row.starts.push((pass.start)(x, exact, l));
            x = (pass.kept)(row.a_bar[l] * row.starts[l] + input(l));
            exact = row.a_bar[l] * exact + input(l);
            row.states.push(x);
        }
        x = 0.0.into();
        for l in (0..seqlen).rev().filter(|_| method == Poly) {
            x = (pass.kept)(row.a_bar[l] * x + input(l));
            row.reversed[l] = x;
        }
        row
    }

    /// The gradients of the states of one scan, given what enters at each position.
    fn adjoints(&self, pass: &Pass, entering: &[C], dlast: C, reversed: bool) -> Vec<C> {
        let seqlen = entering.len();
        let mut adjoints = vec![C::ZERO; seqlen];
        let mut adjoint = C::ZERO;
        for i in 0..seqlen {
            let at = |i: usize| if reversed { i } else { seqlen - 1 - i };
            let l = at(i);
            if i > 0 {
                let a_bar = (pass.conj)(Of::ABar, self.a_bar[at(i - 1)]);
                adjoint = (pass.carried)(Carried { adjoint, a_bar, edge: l.max(at(i - 1)), reversed });
            }
            adjoint = (pass.adjoint)(adjoint + entering[l] + (pass.dlast)(dlast, reversed, i == 0));
            adjoints[l] = adjoint;
        }
        adjoints
    }

    /// What position l adds to the gradients of u, Δ, A and B, given those of its states.
    fn shares(&self, pass: &Pass, method: Method, l: usize, [forward, reversed]: [C; 2], u: f64) -> [C; 4] {
        let g = forward + reversed;
        let [x, reversed_x] = (pass.states)(Around {
            before: self.starts[l],
            reversed_before: if l == 0 { C::ZERO } else { self.reversed[l - 1] },
            reversed_after: self.reversed.get(l + 1).copied().unwrap_or_default(),
            l,
        });
        let of_a_bar = forward * (pass.conj)(Of::State, x) + reversed * (pass.conj)(Of::State, reversed_x);
        let b_at = |l: usize| self.b.get(l).map_or(C::ZERO, |&b| (pass.conj)(Of::B, b));
        let (b, b_before, b_after) = (b_at(l), b_at(l.wrapping_sub(1)), b_at(l + 1));
        let (delta, z) = (self.delta[l], self.delta[l] * self.a);
        let [z_by_delta, z_by_a] = (pass.inner)(delta, self.a);
        let a_bar_by_z = (pass.conj)(Of::ABarSlope, (pass.a_bar_slope)(method, z));
        let (mut h_by_delta, mut h_by_a) = (C::ZERO, C::ZERO);
        for &(c, p, f) in terms(method) {
            let slope = c * delta.powi(p) * (pass.slope)(f, z);
            h_by_delta += slope * z_by_delta + c * f64::from(p) * delta.powi(p - 1) * value(f, z);
            h_by_a += slope * z_by_a;
        }
        let of_h = |slope| g * b * u * (pass.conj)(Of::HSlope, slope);
        let by_delta = (of_a_bar * a_bar_by_z * (pass.conj)(Of::A, z_by_delta)).re;
        let product = Product { g, h: (pass.conj)(Of::H, self.h[l]), b, b_before, b_after, u, delta };
        [
            (pass.u_product)(&product),
            (pass.delta)(by_delta, of_h(h_by_delta).re).into(),
            (pass.a)(of_a_bar * a_bar_by_z * z_by_a, of_h(h_by_a), self.a),
            (pass.b_product)(&product),
        ]
    }
}

fn factor(method: Method, weights: Weights) -> f64 {
    (if weights == Weights::Complex { 2.0 } else { 1.0 }) * (if method == Poly { 0.5 } else { 1.0 })
}

/// y of every position, as a forward pass would have kept it.
fn outputs(method: Method, problem: &Problem) -> Vec<f64> {
    let mut y = vec![0.0; problem.u.len()];
    for ((item, d), n) in problem.channels().flat_map(|at| (0..SHAPE.dstate).map(move |n| (at, n))) {
        let row = Row::new(&RIGHT, method, problem, (item, d), n);
        for l in 0..problem.shape.seqlen {
            let read = row.c[l] * (row.states[l] + row.reversed[l]);
            y[problem.sequence_index(item, d, l)] += factor(method, problem.weights) * read.re;
        }
    }
    y
}

pub fn run(pass: &Pass, method: Method, (given, given_out): &Given) -> Gradients<f32> {
    let Shape { batch, dim, dstate, seqlen, groups } = given.shape;
    let (mut problem, mut out) = (given.clone(), given_out.clone());
    (pass.reads)(&mut problem, &mut out);
    let len = problem.shape.seqlen;
    let kept_y = fitted(&outputs(method, given), seqlen, len);
    let kept_u = fitted(&given.u, seqlen, len);
    let factors = (pass.factors)(factor(method, problem.weights));
    // What each position of each channel, or of each of its states, has of every gradient.
    let [mut of_u, mut of_delta, mut of_z, mut of_d] = [(); 4].map(|()| Vec::new());
    let [mut of_a, mut of_b, mut of_c, mut of_initial] = [(); 4].map(|()| Vec::new());
    for (item, d) in problem.channels() {
        let at = |values: &[f32], l: usize| f64::from(values[problem.sequence_index(item, d, l)]);
        let dout: Vec<[f64; 2]> =
            (0..len).map(|l| (pass.gated)(at(&out.dout, l), at(of(&problem.z), l))).collect();
        let skipped: Vec<bool> =
            (0..len).map(|l| (pass.skipped)(at(&problem.u, l), at(&problem.delta, l))).collect();
        let mut over_states = vec![[vec![], vec![]]; len];
        for n in 0..dstate {
            let row = Row::new(pass, method, &problem, (item, d), n);
            let dlast = weight(&problem, of(&out.dlast_state), problem.state_index((item, d), n));
            let [forward, reversed] = [false, true].map(|reversed| {
                let factor = factors[usize::from(reversed)];
                let e = |l: usize| (pass.entering)((pass.conj)(Of::C, row.c[l]) * dout[l][0] * factor);
                let adjoints = || row.adjoints(pass, &(0..len).map(e).collect::<Vec<_>>(), dlast, reversed);
                if reversed && method != Poly { vec![C::ZERO; len] } else { adjoints() }
            });
            of_initial.push((pass.conj)(Of::ABar, row.a_bar[0]) * forward[0]);
            for l in 0..len {
                let g = [forward[l], reversed[l]];
                let [u, delta, a, b] = row.shares(pass, method, l, g, at(&problem.u, l));
                let kept = if skipped[l] { 0.0 } else { 1.0 };
                over_states[l][0].push(u.re);
                over_states[l][1].push(kept * delta.re);
                of_a.push(kept * a);
                of_b.push(b);
                of_c.push(dout[l][0] * (factors[0] * row.states[l] + factors[1] * row.reversed[l]).conj());
            }
        }
        let [bias, skip] = [&problem.delta_bias, &problem.d].map(|values| f64::from(of(values)[d]));
        for (l, shares) in over_states.iter().enumerate() {
            let [u, delta] = [0, 1].map(|i| (pass.over_states)(&shares[i]));
            let i = problem.sequence_index(item, d, l);
            let of_output = (pass.z)(kept_y[i], skip * f64::from(kept_u[i]), at(of(&problem.z), l));
            of_u.push(C::from((pass.u)(u, skip * dout[l][1])));
            of_delta.push(C::from(delta * (pass.step_slope)(at(&problem.delta, l), bias)));
            of_z.push(C::from(at(&out.dout, l) * of_output));
            of_d.push(C::from(at(&problem.u, l) * dout[l][1]));
        }
    }
    let summed = |values: &[C]| -> Vec<C> {
        let rows = values.len() / len / batch;
        let items = |row: usize| values.chunks(len).skip(row).step_by(rows).collect::<Vec<_>>();
        (0..rows).map(|row| (pass.sum)(&items(row))).collect()
    };
    let grouped = |values: &[C]| -> Vec<C> {
        let size = dstate * seqlen;
        let channels =
            |group: &[C], i: usize| group.iter().skip(i).step_by(size).copied().collect::<Vec<_>>();
        let of_group = |group: &[C]| (0..size).map(|i| (pass.group)(&channels(group, i))).collect::<Vec<_>>();
        fitted(values, len, seqlen).chunks(dim / groups * size).flat_map(of_group).collect()
    };
    let operand =
        |operand, values| if operand == Operand::Constant { summed(values) } else { grouped(values) };
    let gradients = [
        (GradientName::U, fitted(&of_u, len, seqlen)),
        (GradientName::Delta, fitted(&of_delta, len, seqlen)),
        (GradientName::A, summed(&of_a)),
        (GradientName::B, operand(given.b_operand, &of_b)),
        (GradientName::C, operand(given.c_operand, &of_c)),
        (GradientName::D, summed(&of_d)),
        (GradientName::Z, fitted(&of_z, len, seqlen)),
        (GradientName::DeltaBias, summed(&of_delta)),
        (GradientName::InitialState, of_initial),
    ];
    let stored = |(name, values): (GradientName, Vec<C>)| {
        let width = given.gradient::<f32>(name, Vec::new()).width;
        let mut values: Vec<f32> =
            values.iter().flat_map(|x| [x.re as f32, x.im as f32].into_iter().take(width)).collect();
        if let Some((_, how)) = pass.spoilt.filter(|(spoilt, _)| *spoilt == name) {
            how(&mut values, seqlen);
        }
        (name, given.gradient(name, values))
    };
    gradients.into_iter().map(stored).collect()
}
