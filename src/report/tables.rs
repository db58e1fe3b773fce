//! The run's tables as texts: the same rows on a terminal and in Markdown.

use serde::Serialize;

use super::sweeps::{self, Coefficient};
use super::{grid, invariants};
use crate::results::Results;

/// One line of a table: a cell for each of the table's methods.
#[derive(Serialize)]
pub struct TableRow {
    pub name: String,
    /// The weight type, or what must hold.
    pub about: String,
    pub cells: Vec<String>,
}

impl TableRow {
    pub fn fails(&self) -> bool {
        self.cells.iter().any(|cell| cell.starts_with("FAIL"))
    }
}

/// The verdict matrix and, below it, the gradients over all regimes and the coefficient sweeps: all are read by method
/// ([`grid::methods`]).
pub fn verdicts(results: &Results) -> Vec<TableRow> {
    let methods = grid::methods(results);
    let mut rows = Vec::new();
    for row in grid::rows(results).into_iter().chain(grid::gradients(results)) {
        let cells = methods.iter().map(|m| row.cells[m.index()].text()).collect();
        rows.push(TableRow { name: row.name.to_owned(), about: row.weights.to_string(), cells });
    }
    for row in sweeps::rows(results) {
        for coefficient in Coefficient::ALL {
            let cells = methods.iter().map(|m| coefficient.text(row.cells[m.index()])).collect();
            let name = format!("{} {}", coefficient.name(), row.sweep);
            rows.push(TableRow { name, about: row.weights.to_string(), cells });
        }
    }
    rows
}

/// The invariants, for the methods that any was probed with ([`invariants::methods`]).
pub fn invariants(results: &Results) -> Vec<TableRow> {
    let methods = invariants::methods(results);
    let rows = invariants::rows(results);
    // Where one weight type alone ran, it is said of the run.
    let both = rows.iter().any(|row| row.weights != rows[0].weights);
    let row = |row: &invariants::InvariantRow| TableRow {
        name: if both { format!("{}, {}", row.name, row.weights) } else { row.name.to_owned() },
        about: row.what.to_owned(),
        cells: methods.iter().map(|m| row.text(*m)).collect(),
    };
    rows.iter().map(row).collect()
}
