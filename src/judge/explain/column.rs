//! Values of one node of a program in one channel.

use num_complex::Complex64;

use super::functions::INFINITE;
use crate::program::Extent;

/// A value, and its bound.
pub type Cell = (Complex64, f64);

/// Values of a node at some positions and states of a channel.
#[derive(Clone, Debug)]
pub struct Column {
    cells: Vec<Cell>,
    strides: [usize; 2],
}

impl Column {
    /// Zeros, in memory that was another column's.
    pub(super) fn new(extent: Extent, positions: usize, states: usize, mut memory: Vec<Cell>) -> Self {
        let along = |is: bool, len: usize| if is { len } else { 1 };
        let width = along(extent.state, states);
        memory.clear();
        memory.resize(along(extent.position, positions) * width, Cell::default());
        let strides = [if extent.position { width } else { 0 }, usize::from(extent.state)];
        Column { cells: memory, strides }
    }

    /// Memory for another column of all positions; none of one that has a number or a row of states alone.
    pub(super) fn into_memory(self) -> Option<Vec<Cell>> {
        (self.strides[0] > 0).then_some(self.cells)
    }

    /// All values, those of a position's states side by side.
    pub fn values(&self) -> impl Iterator<Item = Complex64> {
        self.cells.iter().map(|(value, _)| *value)
    }

    /// The value in state n at the k-th position that is computed, and its bound.
    #[inline]
    pub fn at(&self, k: usize, n: usize) -> Cell {
        self.cells[k * self.strides[0] + n * self.strides[1]]
    }

    #[inline]
    pub(super) fn set(&mut self, k: usize, n: usize, cell: Cell) {
        self.cells[k * self.strides[0] + n * self.strides[1]] = cell;
    }

    /// Sets all to one value without a bound.
    pub(super) fn fill(&mut self, value: Complex64) {
        self.cells.fill((value, 0.0));
    }

    /// Joins each cell with that of an operand, which varies along no other axes.
    #[inline]
    pub(super) fn join(&mut self, of: &Column, mut into: impl FnMut(&mut Cell, Cell)) {
        if self.strides == of.strides {
            self.cells.iter_mut().zip(&of.cells).for_each(|(cell, other)| into(cell, *other));
            return;
        }
        // Without positions all cells are a row of states.
        let width = if self.strides[0] == 0 { self.cells.len() } else { self.strides[0] };
        for (k, row) in self.cells.chunks_exact_mut(width).enumerate() {
            for (n, cell) in row.iter_mut().enumerate() {
                into(cell, of.at(k, n));
            }
        }
    }

    /// Leaves a value in f32's range as it is, and makes any other an infinity.
    pub(super) fn keep_range(&mut self) {
        let part = |x: &mut f64| {
            if x.abs() >= INFINITE {
                *x = x.signum() * f64::INFINITY;
            }
        };
        self.cells
            .iter_mut()
            .for_each(|(value, _)| [&mut value.re, &mut value.im].into_iter().for_each(part));
    }
}
