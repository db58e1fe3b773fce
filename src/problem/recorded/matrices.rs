//! A dense A, a matrix for each channel or for several that follow one another: how it is known, and what goes with it.

use super::layout::{Layout, misshapen, size};
use super::metadata::stated;
use crate::problem::conventions::{Conventions, Coupling, STATE_MATRIX, StateHolds};
use crate::problem::dense::DenseProblem;
use crate::problem::recorded::{RecordError, Result};
use crate::problem::{Shape, Stages, Weights};
use crate::tensor_file::{Stored, TensorFile, TensorInfo};

/// How A couples states: as it is stated, or as its shape alone can say. Two real states are as large as the parts of complex numbers.
pub(super) fn coupling<R>(file: &TensorFile<R>, a: &TensorInfo) -> Result<Coupling> {
    let is_square = match (&a.shape[..], a.stored) {
        ([_, n, other], Stored::C64) => n == other,
        ([_, n, other], _) => n == other && *n != 2,
        ([_, n, other, 2], _) => n == other,
        _ => false,
    };
    let said: Coupling = stated(file, STATE_MATRIX)?;
    let is_denied = is_square && said == Coupling::Diagonal && file.metadata().contains_key(STATE_MATRIX);
    match is_denied {
        true => {
            let needs = "an A (dim, dstate), or (dim, dstate, 2) of complex numbers";
            Err(RecordError::Contradiction { key: STATE_MATRIX, found: said.name(), needs })
        }
        false => Ok(if is_square { Coupling::Dense } else { said }),
    }
}

/// Weights, matrices and states of an A that is stated to be dense.
pub(super) fn sizes(a: &TensorInfo) -> Result<(Weights, usize, usize)> {
    match (&a.shape[..], a.stored) {
        (&[rows, n, other], Stored::C64) if n == other => Ok((Weights::Complex, rows, n)),
        (&[rows, n, other], _) if n == other => Ok((Weights::Real, rows, n)),
        (&[rows, n, other, 2], stored) if n == other && stored != Stored::C64 => {
            Ok((Weights::Complex, rows, n))
        }
        _ => {
            let hint = "state_matrix = dense says that A is a matrix for each channel, or for each k of them that follow one another";
            Err(misshapen("A", a, "(dim, dstate, dstate) or (k, dstate, dstate)", hint))
        }
    }
}

/// Checks that so many matrices of so many states serve these channels.
pub(super) fn check_sizes(a: &TensorInfo, (rows, dstate): (usize, usize), dim: usize) -> Result<()> {
    if rows == 0 || !dim.is_multiple_of(rows) {
        let expected =
            format!("({dim}, {dstate}, {dstate}), or fewer matrices whose number divides dim = {dim}");
        return Err(misshapen("A", a, expected, "each serves as many channels that follow one another"));
    }
    if dstate > DenseProblem::MOST_STATES {
        let expected = format!("at most {} of a dense A", DenseProblem::MOST_STATES);
        return Err(size("A", "dstate", dstate, expected, "spec.md §8 limits the state size"));
    }
    Ok(())
}

impl Layout {
    /// Checks that what is stated goes with a dense A, if it is one.
    pub(super) fn check_coupling(&self) -> Result<()> {
        let Conventions { state, chunk, coupling, .. } = self.conventions;
        let needs = match () {
            () if coupling == Coupling::Diagonal => return Ok(()),
            () if chunk.is_some() => "no tensors of chunks",
            () if state == StateHolds::InputAlone => "states with B",
            () => return self.check_stages(self.stages),
        };
        Err(RecordError::Contradiction { key: STATE_MATRIX, found: coupling.name(), needs })
    }

    /// Checks that this arithmetic goes with a dense A, if it is one.
    pub fn check_stages(&self, stages: Stages) -> Result<()> {
        let coupling = self.conventions.coupling;
        if coupling == Coupling::Diagonal || stages == Stages::NONE {
            return Ok(());
        }
        let needs = "f32 throughout, without arithmetic, scan or state_type";
        Err(RecordError::Contradiction { key: STATE_MATRIX, found: coupling.name(), needs })
    }

    /// Checks that a gradient by a dense A, of this shape of elements where it has A's, has a matrix for each channel.
    pub(super) fn check_matrices(
        &self,
        name: &str,
        info: &TensorInfo,
        elements: Option<&Vec<usize>>,
    ) -> Result<()> {
        let Shape { dim, dstate, .. } = self.shape;
        if elements.is_some_and(|shape| shape[0] == dim) {
            return Ok(());
        }
        let expected = format!("({dim}, {dstate}, {dstate}), and A likewise");
        let hint = "sums over channels that share a matrix are not judged: record one for each channel";
        Err(misshapen(name, info, expected, hint))
    }
}
