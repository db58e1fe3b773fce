//! What stands at a place: what is read there, from where, and how it is kept.

use num_complex::Complex64;

use super::super::variant::{Clip, Edge, Factor, Misread, Narrow};
use super::{Channel, Source, complex, rounded};
use crate::problem::{Operand, Shape};
use crate::tensor::GradientName::{self, U, Z};

impl Channel<'_> {
    /// What is given, as the backward pass reads it, from its first position on.
    pub(super) fn inputs(&self, of: Source, len: usize) -> Vec<f64> {
        let name = match of {
            Source::U => Some(U),
            Source::Z => Some(Z),
            _ => None,
        };
        let at = name.map_or(self.at, |name| self.read_at(name));
        (0..len).map(|l| self.given_at(of, at, 0, l).re).collect()
    }

    /// Nothing stands beyond the end.
    pub(super) fn given_at(&self, of: Source, at: (usize, usize), n: usize, l: usize) -> Complex64 {
        let Channel { problem, given, .. } = *self;
        let width = problem.weights.width();
        if l >= problem.shape.seqlen {
            return Complex64::ZERO;
        }
        let along = |values: &[f32]| f64::from(values[problem.sequence_index(at.0, at.1, l)]).into();
        let operand = |values: &[f32], operand: Operand| {
            complex(&values[problem.operand_index(operand, at, n, l)..][..width])
        };
        let state = |values: &Option<Vec<f32>>| {
            let start = problem.state_index(at, n);
            values.as_ref().map_or(Complex64::ZERO, |values| complex(&values[start..][..width]))
        };
        match of {
            Source::U => along(&problem.u),
            Source::Dout => self.clipped(Clip::Dout, along(&given.dout)),
            Source::Z => problem.z.as_ref().map_or(Complex64::ONE, |z| along(z)),
            Source::B => operand(&problem.b, problem.b_operand),
            Source::C => operand(&problem.c, problem.c_operand),
            Source::LastState => state(&given.dlast_state),
            Source::InitialState => state(&problem.initial_state),
        }
    }

    pub(super) fn directions(&self) -> [f64; 2] {
        if self.variant.bidirectional { self.variant.directions } else { [1.0; 2] }
    }

    /// What stands for a factor: its conjugate where the backward pass has forgotten to conjugate it.
    pub(super) fn as_conjugated(&self, factor: Factor, value: Complex64) -> Complex64 {
        if self.variant.unconjugated == Some(factor) { value.conj() } else { value }
    }

    /// A number within its limits.
    pub(super) fn clipped(&self, of: fn(f64) -> Clip, value: Complex64) -> Complex64 {
        match self.variant.clip {
            Some(clip @ (Clip::Adjoint(limit) | Clip::Dout(limit))) if clip == of(limit) => {
                Complex64::new(value.re.clamp(-limit, limit), value.im.clamp(-limit, limit))
            }
            _ => value,
        }
    }

    /// A number as it is kept.
    pub(super) fn narrowed(&self, what: Narrow, value: Complex64) -> Complex64 {
        match self.variant.narrow {
            Some((of, to)) if of == what => rounded(to, value),
            // Beyond the range of f32 it is infinite from here on.
            _ if value.re.abs().max(value.im.abs()) > f64::from(f32::MAX) => value * f64::INFINITY,
            _ => value,
        }
    }

    /// What goes wrong between a position and the one before it in the scan, where a chunk begins.
    pub(super) fn edge(&self, len: usize, l: usize, reversed: bool) -> Option<Edge> {
        let (length, edge) = self.variant.edge.filter(|_| self.variant.edge_in[usize::from(reversed)])?;
        let later = if reversed { l + 1 } else { l };
        (later > 0 && later < len && later.is_multiple_of(length)).then_some(edge)
    }

    /// The item of the batch and the channel that an input is read at.
    pub(super) fn read_at(&self, name: GradientName) -> (usize, usize) {
        match self.variant.misread {
            Some((of, Misread::FirstBatch)) if of == name => (0, self.at.1),
            _ => self.place(name, Misread::ModuloGroup),
        }
    }

    /// The same, or a channel of group d % groups.
    pub(super) fn place(&self, name: GradientName, modulo: Misread) -> (usize, usize) {
        let (batch, d) = self.at;
        let Shape { dim, groups, .. } = self.problem.shape;
        let is_elsewhere = self.variant.misread == Some((name, modulo));
        (batch, if is_elsewhere { d % groups * (dim / groups) } else { d })
    }
}
