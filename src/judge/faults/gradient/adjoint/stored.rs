//! What is made of all channels' shares: the sums over batch and positions, and the tensors as they are stored.

use super::super::variant::{Accumulator, Complex, Over, Scale, Store, Variant};
use super::{Sums, complex, put};
use crate::problem::{Operand, Problem, Shape};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::Tensor;

/// What is summed over the batch and the positions.
pub fn is_summed(problem: &Problem, name: GradientName) -> bool {
    match name {
        B => problem.b_operand == Operand::Constant,
        C => problem.c_operand == Operand::Constant,
        A | D | DeltaBias => true,
        U | Delta | Z | InitialState => false,
    }
}

/// Adds what each position adds to a sum.
pub(super) fn accumulate(of: Accumulator, sum: &mut [f64], added: &[f64]) {
    let with_batch = of.over == Over::BatchAndPositions;
    let mut kept = if with_batch { sum.to_vec() } else { vec![0.0; sum.len()] };
    let mut add = |values: &[f64]| {
        kept.iter_mut().zip(values).for_each(|(kept, value)| *kept = of.add(*kept, *value));
    };
    let positions = added.chunks(sum.len());
    if of.backwards {
        positions.rev().for_each(&mut add)
    } else {
        positions.for_each(&mut add)
    }
    for (sum, kept) in sum.iter_mut().zip(kept) {
        *sum = if with_batch { kept } else { *sum + kept };
    }
}

/// What is wrong with whole tensors.
pub(super) fn store(variant: &Variant, problem: &Problem, sums: &mut Sums) {
    let Shape { batch, dim, seqlen, groups, .. } = problem.shape;
    let is_exchanged = variant.store == Store::Exchanged && problem.b_operand == problem.c_operand;
    if let (true, Some(b), Some(c)) = (is_exchanged, sums.get(B).cloned(), sums.get(C).cloned()) {
        (sums[B], sums[C]) = (c, b);
    }
    for (name, values) in sums.iter_mut() {
        let Tensor { width, .. } = problem.gradient::<f64>(name, Vec::new());
        let is_summed = is_summed(problem, name);
        let factor = match variant.scale {
            Scale::By(factor) => factor,
            Scale::PerBatch if is_summed => 1.0 / batch as f64,
            Scale::PerPosition if is_summed => 1.0 / seqlen as f64,
            Scale::PerChannel if matches!(name, B | C) && !is_summed => groups as f64 / dim as f64,
            _ => 1.0,
        };
        let largest = f64::from(half::f16::MAX.to_f32());
        for value in values.iter_mut() {
            *value *= factor;
            match variant.store {
                Store::Overflows if value.abs() > largest => *value *= f64::INFINITY,
                Store::Saturates => *value = value.clamp(-largest, largest),
                _ => {}
            }
        }
        if variant.store == Store::Reversed && !is_summed && name != InitialState {
            for row in values.chunks_mut(seqlen * width) {
                row.reverse();
                row.chunks_mut(width).for_each(<[f64]>::reverse);
            }
        }
        if variant.store == Store::OfLogA && name == A {
            // Those of a head are the same.
            let every = problem.a.len() / values.len().max(1);
            for (value, a) in values.chunks_mut(width).zip(problem.a.chunks(width).step_by(every)) {
                put(value, complex(value) * complex(a).conj());
            }
        }
        if width == 2 {
            for value in values.chunks_mut(2) {
                match variant.complex {
                    Complex::Right => {}
                    Complex::Conjugated => value[1] = -value[1],
                    Complex::RealPart => value[1] = 0.0,
                    Complex::PartsExchanged => value.swap(0, 1),
                }
            }
        }
    }
}
