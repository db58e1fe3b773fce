//! Steps of dense systems, whose A is a matrix, and the named regimes that make them hard (spec.md §4).

use std::f64::consts::PI;

use nalgebra::DMatrix;
use num_complex::Complex64;

use super::conventions::Coupling;
use super::fingerprint;
use super::inputs::Draw;
use super::output_gradients::Loss;
use super::{Conventions, InputType, Operand, OutputGradients, Problem, Shape, Weights};

/// Systems x' = A x + B u of one size, each with its step. Row-major; `w` is 1 for real weights, 2 for complex. Kernels take f32, and
/// recorded runs have f64, too.
#[derive(Clone, Debug)]
pub struct DenseProblem<T = f32> {
    pub weights: Weights,
    /// States.
    pub n: usize,
    /// Inputs.
    pub m: usize,
    /// (count)
    pub delta: Vec<T>,
    /// (count, n, n)·w
    pub a: Vec<T>,
    /// (count, n, m)·w
    pub b: Vec<T>,
}

impl DenseProblem {
    /// Kernels have no more.
    pub const MOST_STATES: usize = 64;

    /// Without systems.
    pub fn new(weights: Weights, n: usize, m: usize) -> Self {
        DenseProblem { weights, n, m, delta: Vec::new(), a: Vec::new(), b: Vec::new() }
    }

    /// One more system, rounded to f32; of real weights the real parts.
    pub fn push(&mut self, delta: f64, a: &DMatrix<Complex64>, b: &DMatrix<Complex64>) {
        self.delta.push(delta as f32);
        let width = self.weights.width();
        let stored = |of: &DMatrix<Complex64>| -> Vec<f32> {
            let rows = of.transpose();
            rows.iter().flat_map(|x| [x.re as f32, x.im as f32].into_iter().take(width)).collect()
        };
        self.a.extend(stored(a));
        self.b.extend(stored(b));
    }
}

impl<T: Copy + Into<f64>> DenseProblem<T> {
    /// Δ, A and B of a system.
    pub fn system(&self, i: usize) -> (f64, DMatrix<Complex64>, DMatrix<Complex64>) {
        let (n, m) = (self.n, self.m);
        (self.delta[i].into(), self.matrix(&self.a, i, n), self.matrix(&self.b, i, m))
    }

    /// Matrix of system `i` in an array (count, n, columns)·w.
    pub fn matrix<V: Copy + Into<f64>>(&self, of: &[V], i: usize, columns: usize) -> DMatrix<Complex64> {
        let width = self.weights.width();
        let first = i * self.n * columns;
        DMatrix::from_fn(self.n, columns, |r, c| {
            let at = (first + r * columns + c) * width;
            Complex64::new(of[at].into(), if width == 2 { of[at + 1].into() } else { 0.0 })
        })
    }

    /// A hash of every input.
    pub fn fingerprint(&self) -> String {
        fingerprint::of_dense(self)
    }
}

/// A family of hard systems of one size.
#[derive(Clone, Copy, Debug)]
pub struct DenseRegime {
    pub name: &'static str,
    /// Why it is hard, in one sentence.
    pub why: &'static str,
    pub weights: Weights,
    pub n: usize,
    pub m: usize,
    /// The step of each system, and what A is divided by: a longer step of a smaller A has the same z.
    steps: &'static [(f64, f64)],
    matrix: fn(&mut Draw, Weights, usize, f64) -> DMatrix<Complex64>,
}

impl DenseRegime {
    /// Where its results stand: beside the regimes of scans.
    pub fn title(&self) -> String {
        format!("dense {}", self.name)
    }

    /// The systems: the same for the same seed, whatever else a run holds.
    pub fn draw(&self, seed: u64) -> DenseProblem {
        let mut draw = Draw::new(seed, &format!("dense/{}/{}", self.name, self.weights));
        let mut problem = DenseProblem::new(self.weights, self.n, self.m);
        for &(delta, divisor) in self.steps {
            let a =
                (self.matrix)(&mut draw, self.weights, self.n, delta / divisor) / Complex64::from(divisor);
            let b = DMatrix::from_fn(self.n, self.m, |_, _| draw.weight(self.weights));
            problem.push(delta, &a, &b);
        }
        problem
    }
}

impl DenseRegime {
    /// A scan with its systems: each is a channel's, whose steps are its own and half of that, two positions each, from a state that is not 0, with a
    /// skip, and if real with a gate, and if complex with a constant B and C. Of large systems the step is constant, too, since their truth
    /// takes long.
    pub fn scan(&self, seed: u64) -> Problem {
        self.scan_of(POSITIONS, seed)
    }

    /// Scan of a backward pass, and what that starts from. Of large systems it has two positions.
    pub fn backward(&self, seed: u64) -> (Problem, OutputGradients) {
        let scan = self.scan_of(if self.n > MOST_OF_VARIED { 2 } else { POSITIONS }, seed);
        let mut draw = Draw::new(seed, &format!("dense/{}/{}/dout", self.name, self.weights));
        let (kind, sees_state) = Loss::any(&mut draw);
        let given = kind.draw(&scan, sees_state, &mut draw);
        (scan, given)
    }

    fn scan_of(&self, positions: usize, seed: u64) -> Problem {
        let DenseProblem { weights, n, delta, a, .. } = self.draw(seed);
        let mut draw = Draw::new(seed, &format!("dense/{}/{}/scan", self.name, self.weights));
        let is_constant = n > MOST_OF_VARIED;
        let is_varied = !is_constant && weights == Weights::Real;
        let operand = if is_varied { Operand::Variable } else { Operand::Constant };
        let shape = Shape { batch: 1, dim: delta.len(), dstate: n, seqlen: positions, groups: 1 };
        let mut numbers = |count: usize| -> Vec<f32> { (0..count).map(|_| draw.normal() as f32).collect() };
        let half = |l: usize| if l / 2 % 2 == 1 && !is_constant { 0.5 } else { 1.0 };
        Problem {
            shape,
            weights,
            input: InputType::F32,
            b_operand: operand,
            c_operand: operand,
            u: numbers(shape.sequence_len()),
            delta: delta.iter().flat_map(|delta| (0..positions).map(move |l| delta * half(l))).collect(),
            a,
            b: numbers(shape.operand_len(operand, weights)),
            c: numbers(shape.operand_len(operand, weights)),
            d: Some(numbers(shape.dim)),
            z: (weights == Weights::Real).then(|| numbers(shape.sequence_len())),
            delta_bias: None,
            delta_softplus: false,
            initial_state: Some(numbers(shape.dim * n * weights.width())),
            conventions: Conventions { coupling: Coupling::Dense, ..Conventions::default() },
            judged_channels: (0..shape.dim).map(|channel| (0, channel)).collect(),
            held: None,
            packed: None,
        }
    }

    /// Random stable systems, which are timed.
    pub fn timed(weights: Weights, n: usize) -> DenseRegime {
        let steps = &[
            (0.05, 1.0),
            (0.1, 1.0),
            (0.2, 1.0),
            (0.3, 1.0),
            (0.4, 1.0),
            (0.5, 1.0),
            (0.6, 1.0),
            (0.7, 1.0),
            (0.75, 1.0),
            (0.8, 1.0),
            (0.85, 1.0),
            (0.9, 1.0),
            (0.93, 1.0),
            (0.96, 1.0),
            (0.98, 1.0),
            (1.0, 1.0),
        ];
        DenseRegime { name: "timed", why: "for benchmarks", weights, n, m: 1, steps, matrix: stable }
    }
}

/// Positions of a scan.
const POSITIONS: usize = 6;

/// States up to which its steps vary.
const MOST_OF_VARIED: usize = 20;

const USUAL: &[(f64, f64)] = &[(1e-3, 1.0), (0.03, 1.0), (1.0, 1.0)];
const ONCE: &[(f64, f64)] = &[(0.1, 1.0)];

/// Every regime, in the order of reports.
#[rustfmt::skip]
pub fn all() -> Vec<DenseRegime> {
    use Weights::{Complex, Real};
    let regime = |name, weights, (n, m), steps, matrix, why| DenseRegime { name, why, weights, n, m, steps, matrix };
    let of_size = |name, weights, (n, m)| {
        regime(name, weights, (n, m), ONCE, stable, "no multiple of what a thread, a warp or a block holds")
    };
    let of_both = |weights| [
        regime("stable", weights, (16, 1), &[(1e-3, 1e-3), (1.0, 1.0), (1e3, 1e3)], stable,
            "random, stable, with A and the step at scales from 1e-3 to 1e3"),
        regime("pole", weights, (8, 2), &[(1.0, 1.0), (0.5, 1.0)], near_pole,
            "an eigenvalue of z within 0.1 % of bilinear's pole at 2"),
        regime("pivots", weights, (12, 1), &[(1.0, 1.0), (0.25, 1.0)], small_pivots,
            "the diagonal of I − z/2 is 0 or nearly 0: elimination needs pivots, and the largest"),
        regime("defective", weights, (9, 3), &[(0.1, 1.0), (2.0, 1.0)], defective,
            "Jordan blocks in other coordinates: no basis of eigenvectors"),
        regime("singular", weights, (6, 1), &[(1.0, 1.0), (0.0, 1.0)], nilpotent,
            "A is nilpotent: A⁻¹ is not there, and the formulas are; and a step of 0"),
    ];
    let mut all = vec![
        regime("legs", Real, (16, 1), USUAL, legs, "HiPPO-LegS: not normal, entries that grow with the state"),
        regime("legs of 64", Real, (64, 1), ONCE, legs, "the same with as many states as a kernel has"),
        regime("legt", Real, (16, 1), USUAL, legt, "HiPPO-LegT: full, with alternating signs"),
        regime("fourier", Real, (16, 1), USUAL, fourier, "HiPPO-Fourier: pairs that turn, coupled by a matrix of rank 1"),
        regime("grcar", Real, (20, 1), &[(0.5, 1.0), (2.0, 1.0), (8.0, 1.0)], grcar,
            "eigenvalues that say little: e^z grows on the way, and decays in the end"),
        regime("frank", Real, (12, 1), &[(0.05, 1.0), (0.5, 1.0)], frank, "ill-conditioned eigenvalues, a determinant of 1"),
        regime("forsythe", Real, (16, 1), &[(1.0, 1.0), (10.0, 1.0)], forsythe, "a Jordan block with a corner of 1e-6"),
        regime("pairs", Real, (16, 1), USUAL, pairs, "2 × 2 blocks with complex eigenvalues: as many diagonal systems"),
    ];
    all.extend(of_both(Real));
    let sizes = [("1 state", (1, 1)), ("3 states", (3, 2)), ("5 states", (5, 5)), ("17 states", (17, 4)), ("33 states", (33, 9)), ("63 states", (63, 1))];
    all.extend(sizes.map(|(name, size)| of_size(name, Real, size)));
    all.extend(of_both(Complex));
    all.push(regime("turning", Complex, (16, 1), USUAL, turning, "i times a Hermitian matrix: e^z turns and does not decay"));
    all.extend([sizes[0], sizes[2], sizes[4]].map(|(name, size)| of_size(name, Complex, size)));
    all
}

fn real(n: usize, entry: impl Fn(f64, f64) -> f64) -> DMatrix<Complex64> {
    DMatrix::from_fn(n, n, |i, k| entry(i as f64, k as f64).into())
}

fn random(draw: &mut Draw, weights: Weights, n: usize) -> DMatrix<Complex64> {
    DMatrix::from_fn(n, n, |_, _| draw.weight(weights))
}

/// Entries of about 1/√n, and the diagonal lower by 1.5.
fn stable(draw: &mut Draw, weights: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    random(draw, weights, n) / Complex64::from((n as f64).sqrt())
        - DMatrix::identity(n, n) * Complex64::from(1.5)
}

/// Gu, Dao, Ermon, Rudra and Ré (2020).
fn legs(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let root = |n: f64| (2.0 * n + 1.0).sqrt();
    real(n, |i, k| {
        if i > k {
            -root(i) * root(k)
        } else if i == k {
            -(i + 1.0)
        } else {
            0.0
        }
    })
}

fn legt(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let root = |n: f64| (2.0 * n + 1.0).sqrt();
    let sign = |i: f64, k: f64| if k <= i || (k - i) % 2.0 == 0.0 { 1.0 } else { -1.0 };
    real(n, |i, k| -root(i) * root(k) * sign(i, k))
}

/// Gu, Johnson, Timalsina, Rudra and Ré (2022).
fn fourier(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let weight = |i: f64| {
        if i == 0.0 {
            2f64.sqrt()
        } else if i % 2.0 == 1.0 {
            2.0
        } else {
            0.0
        }
    };
    real(n, |i, k| {
        let turns = match () {
            () if i - k == 1.0 && k % 2.0 == 1.0 => 2.0 * PI * k,
            () if k - i == 1.0 && i % 2.0 == 1.0 => -2.0 * PI * i,
            () => 0.0,
        };
        turns - weight(i) * weight(k)
    })
}

fn grcar(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    real(n, |i, k| {
        if i == k + 1.0 {
            1.0
        } else if (0.0..=3.0).contains(&(k - i)) {
            -1.0
        } else {
            0.0
        }
    })
}

fn frank(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    real(n, |i, k| if k + 1.0 >= i { i.max(k) - n as f64 } else { 0.0 })
}

fn forsythe(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let last = n as f64 - 1.0;
    real(n, |i, k| {
        if i == k {
            -0.5
        } else if k == i + 1.0 {
            1.0
        } else if (i, k) == (last, 0.0) {
            1e-6
        } else {
            0.0
        }
    })
}

/// −½ ± iω with ω = 1, 2, …, as [`DenseRegime`] `pairs` has them: neighbouring states are a pair.
fn pairs(_: &mut Draw, _: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    real(n, |i, k| {
        let turns = (i / 2.0).floor() + 1.0;
        match () {
            () if i == k => -0.5,
            () if i % 2.0 == 0.0 && k == i + 1.0 => turns,
            () if i % 2.0 == 1.0 && k == i - 1.0 => -turns,
            () => 0.0,
        }
    })
}

/// D in coordinates that make it full: P D P⁻¹ with a P of condition about 10.
fn elsewhere(draw: &mut Draw, weights: Weights, diagonal: &DMatrix<Complex64>) -> DMatrix<Complex64> {
    let n = diagonal.nrows();
    let p = random(draw, weights, n) / Complex64::from(2.0 * (n as f64).sqrt()) + DMatrix::identity(n, n);
    let inverse = p.clone().try_inverse().unwrap_or_else(|| DMatrix::identity(n, n));
    &p * diagonal * inverse
}

fn near_pole(draw: &mut Draw, weights: Weights, n: usize, step: f64) -> DMatrix<Complex64> {
    let near = if draw.unit() < 0.5 { 1.999 } else { 2.001 };
    let eigenvalues = DMatrix::from_fn(n, n, |i, k| match (i, i == k) {
        (0, true) => Complex64::from(near / step),
        (_, true) => Complex64::from(-(i as f64)),
        _ => Complex64::ZERO,
    });
    elsewhere(draw, weights, &eigenvalues)
}

fn small_pivots(draw: &mut Draw, weights: Weights, n: usize, step: f64) -> DMatrix<Complex64> {
    let full = random(draw, weights, n);
    DMatrix::from_fn(n, n, |i, k| match () {
        () if i != k => full[(i, k)],
        () if i % 2 == 0 => Complex64::from(2.0 / step),
        () => Complex64::from(2.0 / step * (1.0 - 1e-6 * i as f64)),
    })
}

/// Blocks of 4, 3 and 2 states with the eigenvalue −1.
fn defective(draw: &mut Draw, weights: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let ends = [3, 6];
    let jordan = DMatrix::from_fn(n, n, |i, k| {
        let above = k == i + 1 && !ends.contains(&i);
        Complex64::from(if i == k { -1.0 } else { f64::from(u8::from(above)) })
    });
    elsewhere(draw, weights, &jordan)
}

/// Strictly upper triangular, in the given order of states.
fn nilpotent(draw: &mut Draw, weights: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let full = random(draw, weights, n);
    DMatrix::from_fn(n, n, |i, k| if k > i { full[(i, k)] } else { Complex64::ZERO })
}

fn turning(draw: &mut Draw, weights: Weights, n: usize, _: f64) -> DMatrix<Complex64> {
    let full = random(draw, weights, n);
    (&full + full.adjoint()) * Complex64::new(0.0, 1.0)
}
