//! Lines of methods and forms in a panel, everywhere alike.

use super::axis::Panel;
use super::canvas::{Canvas, Point};
use super::palette::Look;

/// Pixels between the markers of one line.
const SPACING: f64 = 54.0;

/// The points of a curve that is given by its coordinates.
pub fn points(x: &[f64], y: &[f64]) -> Vec<Point> {
    x.iter().copied().zip(y.iter().copied()).collect()
}

/// One line; its markers are shifted along it by its place among the lines, so that lines that coincide still show
/// all their markers. It ends where it leaves the panel.
pub fn line(canvas: &Canvas, panel: &Panel, points: &[Point], look: Look, place: usize) {
    let seen = |value: f64| value >= panel.y.low && value <= panel.y.high;
    for part in points.chunk_by(|a, b| seen(a.1) || seen(b.1)) {
        let line: Vec<_> = part.iter().filter(|p| !p.1.is_nan()).map(|p| panel.place(*p)).collect();
        if line.len() > 1 {
            canvas.dashed(&line, look.colour, 2.0, look.dashes);
        }
    }
    let mut next = panel.x.start + 9.0 * place as f64;
    for point in points.iter().filter(|point| seen(point.1)) {
        let at = panel.place(*point);
        if at.0 >= next {
            canvas.marker(look.marker, at, 3.4, look.colour);
            next = at.0 + SPACING;
        }
    }
}

/// One line through few points, each with its marker; points beyond the panel are at its edge.
pub fn marked(canvas: &Canvas, panel: &Panel, points: &[Point], look: Look) {
    let places: Vec<_> = points.iter().map(|p| panel.place(*p)).collect();
    canvas.dashed(&places, look.colour, 1.75, look.dashes);
    places.iter().for_each(|at| canvas.marker(look.marker, *at, 3.4, look.colour));
}
