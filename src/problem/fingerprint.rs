//! Tells problems apart by their inputs: the same name may stand for different ones.

use sha2::{Digest, Sha256};

use super::{Conventions, Operand, Problem};
use crate::hexfloat;

/// Of SHA-256: enough that no two problems of a lifetime share them by chance.
const BYTES: usize = 8;

impl Problem {
    /// The beginning of the SHA-256, in hex, of everything that a kernel is told: sizes, types, flags and every input, bit
    /// for bit. Which channels are judged is no part of it.
    pub fn fingerprint(&self) -> String {
        let shape = self.shape;
        let mut hash = Sha256::new();
        for size in [shape.batch, shape.dim, shape.dstate, shape.seqlen, shape.groups] {
            hash.update((size as u64).to_le_bytes());
        }
        let variable = |operand: Operand| u8::from(operand == Operand::Variable);
        let (b, c) = (variable(self.b_operand), variable(self.c_operand));
        hash.update([self.weights.width() as u8, b, c, u8::from(self.delta_softplus)]);
        hash.update(self.input.to_string());
        // What has no statement and no initial state has the hash that it had before there were any.
        if self.conventions != Conventions::default() {
            self.conventions
                .statements()
                .iter()
                .for_each(|(key, text)| hash.update(format!("{key}={text};")));
        }
        for (name, tensor, _) in self.inputs() {
            if name == "initial_state" && tensor.is_none() {
                continue;
            }
            // A tensor that is left out differs from one that is empty.
            hash.update(tensor.map_or(u64::MAX, |values| values.len() as u64).to_le_bytes());
            for values in tensor.map_or(&[][..], |values| values).chunks(1024) {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                hash.update(bytes);
            }
        }
        hexfloat::bytes(&hash.finalize()[..BYTES])
    }
}
