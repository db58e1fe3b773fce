//! The share of the allowed error that each method used in each regime.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, picture};
use super::{Plot, legend, palette};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::grid::{self, Row};
use crate::report::{ReportError, text};
use crate::results::{Results, Verdict};

const WIDTH: f64 = 800.0;
const LEFT: f64 = 178.0;
const RIGHT: f64 = 785.0;
const TOP: f64 = 64.0;
const ROW: f64 = 19.0;

/// One picture per weight type that was measured.
pub fn plots(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = Vec::new();
    for weights in Weights::ALL {
        let rows: Vec<_> = grid::rows(results)
            .into_iter()
            .filter(|row| row.weights == weights)
            .filter(|row| row.cells.iter().any(|cell| cell.worst().and_then(grid::share).is_some()))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let name = format!("shares-{weights}");
        let title = format!("Share of the allowed error used, {weights} weights");
        let height = TOP + rows.len() as f64 * ROW + 52.0;
        let svg = picture(&name, &title, (WIDTH, height), |canvas| draw(canvas, &title, &rows))?;
        let how_to_read = "Each mark is the worst error of one method in one regime, divided by the bound \
                           derived for that element: left of the dashed line the method keeps its promise, \
                           in the shaded part it fails (on the right frame: by more than the axis shows; \
                           on the left one: its errors are smaller than the axis shows, or none). A mark \
                           far to the left has headroom; one that creeps towards the line from run to run \
                           deserves a look before it crosses."
            .to_owned();
        plots.push(Plot { name, title, how_to_read, svg });
    }
    Ok(plots)
}

fn draw(canvas: &Canvas, title: &str, rows: &[Row]) -> Drawn {
    let bottom = TOP + rows.len() as f64 * ROW;
    let ratios = || rows.iter().flat_map(|r| &r.cells).filter_map(|c| c.worst().and_then(grid::share));
    let x = Axis::decades(ratios().chain([0.1, 9.9]), (LEFT, RIGHT)).within(1e-4, 1e4);
    let panel = Panel { x, y: Axis::linear(rows.len() as f64, (bottom, TOP)) };
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    let used = |m: &Method| rows.iter().any(|row| !row.cells[*m as usize].cases.is_empty());
    let methods: Vec<_> = Method::ALL.into_iter().filter(used).collect();
    legend::methods(canvas, &methods, (LEFT - 12.0, 42.0), false)?;
    canvas.rectangle((x.place(1.0), TOP), (RIGHT, bottom), palette::OVER)?;
    panel.draw(canvas, (9, 0))?;
    canvas.dashed(&[(x.place(1.0), TOP), (x.place(1.0), bottom)], palette::LIMIT, 1.75, &[7.0, 4.0])?;
    canvas.text(
        "share of the allowance used (no unit; 1 is the bound)",
        ((LEFT + RIGHT) / 2.0, bottom + 32.0),
        12.0,
        palette::INK,
        Anchor::Middle,
    )?;
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + i as f64 * ROW;
        canvas.line(&[(LEFT, top), (RIGHT, top)], palette::GRID, 0.75)?;
        let middle = top + ROW / 2.0;
        canvas.text(&text::fit(row.regime, 26), (LEFT - 10.0, middle), 11.5, palette::INK, Anchor::End)?;
        for method in &methods {
            let Some(case) = row.cells[*method as usize].worst() else { continue };
            let Some(ratio) = grid::share(case).filter(|_| case.verdict != Verdict::Unmeasured) else {
                continue;
            };
            let look = palette::look(*method);
            // Spread within the row, so that equal shares do not cover each other.
            let y = top + ROW * (0.2 + 0.72 * *method as usize as f64 / Method::ALL.len() as f64);
            canvas.marker(look.marker, (x.place(ratio), y), 3.6, look.colour)?;
        }
    }
    canvas.frame((LEFT, TOP), (RIGHT, bottom), palette::FAINT, 1.0)
}
