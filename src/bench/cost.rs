//! What a scan or an operation asks for at least, by its formula: the numerator of every rate, and of the share of the roofline.
//!
//! What a kernel does beyond it, for accuracy or for want of registers, is not counted: half of the roofline may be the other half
//! spent on digits. An addition, a multiplication or a quotient is one flop, of complex
//! numbers 2, 6 and 6; a product of a complex number with a real one is 2, and Re(C x), added to y, 4. Divisors that are known
//! before the sequence begins (powers of A) are none.

use crate::kernel::launch::ElementType;
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::dense::DenseProblem;
use crate::problem::{Operand, Problem, Weights};
use crate::results::bench::{Cost, Work};

/// Multiplications, additions, products with a real number (of Δ or u), and real parts of products that are added up.
#[derive(Clone, Copy)]
struct Count {
    mul: f64,
    add: f64,
    scale: f64,
    readout: f64,
}

const fn count(mul: u32, add: u32) -> Count {
    Count { mul: mul as f64, add: add as f64, scale: 0.0, readout: 0.0 }
}

const fn scales(scale: u32) -> Count {
    Count { scale: scale as f64, ..count(0, 0) }
}

/// y + C x
const READOUT: Count = Count { readout: 1.0, ..count(0, 0) };

impl std::ops::Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count {
            mul: self.mul + other.mul,
            add: self.add + other.add,
            scale: self.scale + other.scale,
            readout: self.readout + other.readout,
        }
    }
}

impl Count {
    fn flops(self, weights: Weights) -> f64 {
        match weights {
            Weights::Real => self.mul + self.add + self.scale + 2.0 * self.readout,
            Weights::Complex => 6.0 * self.mul + 2.0 * self.add + 2.0 * self.scale + 4.0 * self.readout,
        }
    }
}

/// Ā and h = B̄/B of one state at one position (spec.md §2), beside the exponential.
fn coefficients(method: Method) -> Count {
    // z = ΔA.
    let z = scales(1);
    z + match method {
        Method::Zoh => count(0, 0),
        // (eᶻ − 1 − z)/A².
        Method::Foh => count(1, 2),
        // 1 ± z/2, a reciprocal, the quotient by it and Δ times it.
        Method::Bilinear => count(4, 2),
        // (eᶻ − 1)/A + ½(eᶻ − 1 − z)/A².
        Method::Poly => count(2, 3),
        // The same and ½(eᶻ − 1 − z − z²/2)/A³, with its own factors.
        Method::HighOrder => count(5, 5),
        // Δ(1 + z/2 + z²/6 + z³/24) by Horner's scheme.
        Method::Rk4 => count(4, 3),
    }
}

/// hB, (hB)u, x → Āx + (hB)u and y + C x; poly takes the last two in both directions. zoh's h is Δ.
fn recurrence(method: Method) -> Count {
    let step = count(1, 1) + READOUT;
    let inputs = scales(1) + if method == Method::Zoh { scales(1) } else { count(1, 0) };
    if method.is_bidirectional() { step + step + inputs } else { step + inputs }
}

/// What the gradients of one state at one position add: p = C e + Ā p; of u, Δ, A, B and C their terms and sums; and the derivatives of Ā
/// and h, which take about as much as the coefficients themselves, twice. The last is a choice.
fn adjoint(method: Method) -> Count {
    let terms = count(15, 8);
    let terms = if method.is_bidirectional() { terms + count(5, 4) } else { terms };
    terms + coefficients(method) + coefficients(method)
}

/// Exponentials of one state: a complex eᶻ is one with a sine and a cosine.
fn specials(method: Method, weights: Weights) -> f64 {
    match weights {
        _ if method == Method::Bilinear => 0.0,
        Weights::Real => 1.0,
        Weights::Complex => 3.0,
    }
}

/// The bytes of a scan's inputs and outputs: what moves at least. Gradients are as large as what they are of.
fn bytes(work: Work, problem: &Problem) -> usize {
    let (stored, single) = (ElementType::from(problem.input).size(), ElementType::F32.size());
    let operand = |which| if which == Operand::Variable { stored } else { single };
    let size = |name: &str| match name {
        "u" | "delta" | "z" => stored,
        "B" => operand(problem.b_operand),
        "C" => operand(problem.c_operand),
        _ => single,
    };
    let there = problem.inputs().into_iter().filter(|(_, values, _)| values.is_some());
    let inputs: usize = there.map(|(name, _, len)| len * size(name)).sum();
    let states = problem.shape.batch * problem.shape.operand_len(Operand::Constant, problem.weights);
    // Outputs, or their gradients.
    let outputs = problem.shape.sequence_len() * stored + states * single;
    if work.is_backward() { 2 * inputs + outputs } else { inputs + outputs }
}

/// A scan, or its gradients.
pub fn scan(method: Method, work: Work, problem: &Problem) -> Cost {
    let elements = problem.shape.sequence_len() as f64;
    let states = elements * problem.shape.dstate as f64;
    let forward = coefficients(method) + recurrence(method);
    let all = if work == Work::Backward { forward + adjoint(method) } else { forward };
    // softplus takes an exponential and a logarithm, its derivative and the gate an exponential and a quotient.
    let softplus = if problem.delta_softplus { 2.0 } else { 0.0 };
    let slope = if problem.delta_softplus && work == Work::Backward { 1.0 } else { 0.0 };
    let of_position = softplus + slope + if problem.z.is_some() { 1.0 } else { 0.0 };
    Cost {
        elements,
        bytes: bytes(work, problem) as f64,
        flops: states * all.flops(problem.weights),
        specials: states * specials(method, problem.weights) + elements * of_position,
    }
}

/// Dense systems. e^z by a series of degree 9, which four products make and an f32 needs, and no squares, which z decides; the quotient by
/// elimination. φ-functions times an input are products with a vector, as many as that series has terms.
pub fn dense(method: Method, problem: &DenseProblem) -> Cost {
    let (count, n, m) = (problem.delta.len() as f64, problem.n as f64, problem.m as f64);
    let width = problem.weights.width() as f64;
    let single = ElementType::F32.size() as f64;
    Cost {
        elements: count,
        bytes: count * single * (1.0 + 2.0 * width * n * (n + m)),
        flops: count * of_system(method, problem.weights, (n, m)),
        specials: 0.0,
    }
}

/// Flops of a product of numbers that is added up.
fn product(weights: Weights) -> f64 {
    if weights == Weights::Complex { 8.0 } else { 2.0 }
}

/// Flops of a system.
fn of_system(method: Method, weights: Weights, (n, m): (f64, f64)) -> f64 {
    let of_vectors = match method {
        Method::Zoh => 0.0,
        Method::Rk4 => 3.0,
        Method::Bilinear => n / 2.0,
        Method::Foh | Method::Poly | Method::HighOrder => 9.0,
    };
    let of_matrices = if method == Method::Bilinear { 4.0 / 3.0 } else { 4.0 };
    product(weights) * (of_matrices * n.powi(3) + of_vectors * n * n * m)
}

/// A scan with a dense A, or its gradients: a system for each channel of a constant one, else for each position, and Ā x, B̄ u and C x. Gradients
/// take two products in the place of each beside the scan itself. That is a choice.
pub fn dense_scan(method: Method, work: Work, problem: &Problem) -> Cost {
    let (elements, n) = (problem.shape.sequence_len() as f64, problem.shape.dstate as f64);
    let is_constant = problem.b_operand == Operand::Constant;
    let steps = if is_constant { problem.shape.dim as f64 } else { elements };
    let of_steps = steps * of_system(method, problem.weights, (n, 1.0));
    let forward = of_steps + elements * product(problem.weights) * (n * n + 2.0 * n);
    let flops = if work.is_backward() { 3.0 * forward } else { forward };
    Cost { elements, bytes: bytes(work, problem) as f64, flops, specials: 0.0 }
}

/// An operation on so many values.
pub fn operation(operation: Operation, n: usize) -> Cost {
    let matrix = operation.per_thread() as f64;
    let (flops, specials) = match operation {
        Operation::Exp | Operation::ExpLibrary | Operation::Special => (0.0, 1.0),
        // (eᶻ − 1)/z.
        Operation::Phi1 => (2.0, 1.0),
        Operation::Inverse => (3.0, 0.0),
        // Elimination in an N × 2N matrix: 4N³ for N values.
        Operation::InverseMatrix => (4.0 * matrix * matrix, 0.0),
        Operation::Phi1Solve => (4.0 * matrix * matrix, 1.0),
        Operation::Copy | Operation::Read => (0.0, 0.0),
        Operation::Fused => (2.0, 0.0),
    };
    let n = n as f64;
    Cost { elements: n, bytes: 8.0 * n, flops: n * flops, specials: n * specials }
}
