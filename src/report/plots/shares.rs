//! The share of the allowed error that each method used in each regime.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas};
use super::{Sheet, legend, palette};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::grid::{self, RegimeRow};
use crate::report::text;
use crate::results::{Results, Verdict};

const LEFT: f64 = 178.0;
const RIGHT: f64 = 785.0;
const TOP: f64 = 64.0;
const ROW: f64 = 19.0;

/// Of the regimes that were measured.
pub fn sheet(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let mut rows = grid::rows(results);
    rows.retain(|row| {
        row.weights == weights && row.cells.iter().any(|cell| cell.worst().and_then(grid::share).is_some())
    });
    rows.first()?;
    let title = format!("Share of the allowed error used, {weights} weights");
    let height = TOP + rows.len() as f64 * ROW + 52.0;
    let draw = move |canvas: &Canvas| draw(canvas, &rows);
    Some(Sheet::new("shares", weights, title, height, draw))
}

fn draw(canvas: &Canvas, rows: &[RegimeRow]) {
    let bottom = TOP + rows.len() as f64 * ROW;
    let ratios = rows.iter().flat_map(|r| &r.cells).filter_map(|c| c.worst().and_then(grid::share));
    let x = Axis::decades(ratios.chain([0.1, 9.9]), (LEFT, RIGHT)).within(1e-4, 1e4);
    let panel = Panel { x, y: Axis::linear(rows.len() as f64, (bottom, TOP)) };
    let used = |m: &Method| rows.iter().any(|row| !row.cells[*m as usize].cases.is_empty());
    let methods: Vec<_> = Method::ALL.into_iter().filter(used).collect();
    legend::methods(canvas, &methods, (LEFT - 12.0, 42.0), false);
    canvas.rectangle((x.place(1.0), TOP), (RIGHT, bottom), palette::OVER);
    panel.draw(canvas, (9, 0));
    canvas.dashed(&[(x.place(1.0), TOP), (x.place(1.0), bottom)], palette::LIMIT, 1.75, palette::DASHES);
    let unit = "share of the allowance used (no unit; 1 is the bound)";
    canvas.label(unit, ((LEFT + RIGHT) / 2.0, bottom + 32.0));
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + i as f64 * ROW;
        canvas.line(&[(LEFT, top), (RIGHT, top)], palette::GRID, 0.75);
        let middle = top + ROW / 2.0;
        // In a wide font as well: what is longer would leave the sheet.
        canvas.text(&text::fit(row.regime, 22), (LEFT - 10.0, middle), 11.5, palette::INK, Anchor::End);
        for method in &methods {
            let measured = row.cells[*method as usize].worst().filter(|c| c.verdict != Verdict::Unmeasured);
            let Some(share) = measured.and_then(grid::share) else { continue };
            let look = palette::look(*method);
            // Spread within the row, so that equal shares do not cover each other.
            let y = top + ROW * (0.2 + 0.72 * *method as usize as f64 / Method::ALL.len() as f64);
            canvas.marker(look.marker, (x.place(share), y), 3.6, look.colour);
        }
    }
    canvas.frame((LEFT, TOP), (RIGHT, bottom), palette::FAINT, 1.0);
}
