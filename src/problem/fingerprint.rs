//! Tells problems apart by their inputs: the same name may stand for different ones.

use sha2::{Digest, Sha256};

use super::conventions::{Coupling, DT_LIMIT, INITIAL_STATE, STATE_MATRIX};
use super::dense::DenseProblem;
use super::stretch::{Inputs, Outline};
use super::trapezoidal::Trapezoidal;
use super::{Axes, Conventions, Operand, Packed, Problem};
use crate::hexfloat;

/// Of SHA-256: enough that no two problems of a lifetime share them by chance.
const BYTES: usize = 8;

/// The hash of a problem, to which its inputs are given one after the other.
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Of everything but the inputs' values.
    pub fn new(
        Outline { shape, weights, input, .. }: Outline,
        [b, c]: [Operand; 2],
        delta_softplus: bool,
        conventions: Conventions,
    ) -> Fingerprint {
        let mut hash = Sha256::new();
        for size in [shape.batch, shape.dim, shape.dstate, shape.seqlen, shape.groups] {
            hash.update((size as u64).to_le_bytes());
        }
        let variable = |operand: Operand| u8::from(operand == Operand::Variable);
        hash.update([weights.width() as u8, variable(b), variable(c), u8::from(delta_softplus)]);
        hash.update(input.to_string());
        // What has no statement and no initial state has the hash that it had before there were any.
        let types = conventions.types.of_inputs();
        if (Conventions { axes: Axes::default(), chunk: None, types, ..conventions })
            != Conventions::default()
        {
            // Nor has a diagonal A, which is older than its statement.
            let is_later =
                |(key, text): &(&str, &str)| *key == STATE_MATRIX && *text != Coupling::Dense.name();
            let statements = conventions.statements().into_iter().filter(|statement| !is_later(statement));
            statements.for_each(|(key, text)| hash.update(format!("{key}={text};")));
            if !conventions.limit.is_none() {
                hash.update(format!("{DT_LIMIT}={};", conventions.limit));
            }
            types.stated().for_each(|(name, stored)| hash.update(format!("{name}={stored};")));
        }
        Fingerprint(hash)
    }

    /// Sequences that are packed.
    pub fn packed(&mut self, packed: Option<&Packed>) {
        for number in packed.into_iter().flat_map(Packed::described) {
            self.0.update((number as u64).to_le_bytes());
        }
    }

    /// The next input has so many values, or is left out, which differs from having none.
    pub fn tensor(&mut self, name: &str, len: Option<usize>) {
        if name == INITIAL_STATE && len.is_none() {
            return;
        }
        self.0.update(len.map_or(u64::MAX, |len| len as u64).to_le_bytes());
    }

    /// Its values, or some of them.
    pub fn values(&mut self, values: &[f32]) {
        for values in values.chunks(1024) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.0.update(bytes);
        }
    }

    pub fn finish(self) -> String {
        hexfloat::bytes(&self.0.finalize()[..BYTES])
    }
}

impl Problem {
    /// The beginning of the SHA-256, in hex, of everything that a kernel is told: sizes, types, flags and every input, bit
    /// for bit. Which channels are judged is no part of it.
    pub fn fingerprint(&self) -> String {
        let operands = [self.b_operand, self.c_operand];
        let mut hash = Fingerprint::new(self.outline(), operands, self.delta_softplus, self.conventions);
        hash.packed(self.packed.as_deref());
        for (name, tensor, _) in self.inputs() {
            hash.tensor(name, tensor.map(Vec::len));
            hash.values(tensor.map_or(&[][..], |values| values));
        }
        hash.finish()
    }
}

/// Hash of dense systems.
pub fn of_dense<T: Copy + Into<f64>>(problem: &DenseProblem<T>) -> String {
    let DenseProblem { weights, n, m, delta, a, b } = problem;
    let mut hash = Fingerprint(Sha256::new());
    hash.0.update(format!("dense {weights} {n} {m} {};", delta.len()));
    let all = [delta, a, b];
    let wide = all.map(|values| values.iter().map(|&value| value.into()).collect::<Vec<f64>>());
    // Numbers of f32 count as such, however they are held.
    let is_narrow = wide.iter().flatten().all(|&value| f64::from(value as f32) == value);
    for values in wide {
        match is_narrow {
            true => hash.values(&values.iter().map(|&value| value as f32).collect::<Vec<f32>>()),
            false => hash.0.update(values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()),
        }
    }
    hash.finish()
}

/// The same of a run of Mamba-3's rule.
pub fn of_inputs(problem: &Trapezoidal) -> String {
    let mut hash = Fingerprint(Sha256::new());
    hash.0.update(format!("{:?} {:?} {};", problem.sizes, problem.sequences, problem.delta_softplus));
    for (name, tensor) in problem.inputs.iter() {
        hash.0.update(format!("{name} {};", tensor.stored));
        hash.values(&tensor.values);
    }
    hash.finish()
}
