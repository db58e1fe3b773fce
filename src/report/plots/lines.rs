//! How methods and forms are drawn, everywhere alike: which marker, colour and dash is which, and lines in a panel.

use super::axis::Panel;
use super::canvas::{Canvas, Point};
use super::palette::{self, Look};
use crate::formula::Form;
use crate::method::Method;

/// What the entries of a line share.
const WIDTH: f64 = 648.0;

/// One row of methods from `at` to the right, each with its marker, on its line when `lines`.
pub fn methods(canvas: &Canvas, methods: &[Method], at: Point, lines: bool) {
    let forms: Vec<Form> = methods.iter().map(|&m| m.into()).collect();
    row(canvas, &forms, at, WIDTH / Method::ALL.len() as f64, lines);
}

/// Lines of forms that fit side by side, each with a marker.
pub fn legend(forms: &[Form]) -> Vec<Vec<Form>> {
    let mut lines: Vec<Vec<Form>> = Vec::new();
    for &form in forms {
        let width = |forms: &[Form]| forms.iter().map(|form| entry_width(*form)).sum::<f64>();
        match lines.last_mut() {
            Some(line) if width(line) + entry_width(form) <= WIDTH => line.push(form),
            _ => lines.push(vec![form]),
        }
    }
    lines
}

/// Height of one line of a legend.
pub const LINE: f64 = 18.0;

/// In a wide font as well.
fn entry_width(form: Form) -> f64 {
    48.0 + 7.0 * form.name().len().max(8) as f64
}

/// The lines of a legend, from `at` downwards.
pub fn draw_legend(canvas: &Canvas, lines: &[Vec<Form>], (x, y): Point) {
    for (i, line) in lines.iter().enumerate() {
        let mut x = x;
        for &form in line {
            row(canvas, &[form], (x, y + i as f64 * LINE), 0.0, false);
            x += entry_width(form);
        }
    }
}

/// One row of forms, so many pixels apart.
pub fn row(canvas: &Canvas, forms: &[Form], (x, y): Point, step: f64, lines: bool) {
    for (i, form) in forms.iter().enumerate() {
        let (x, look) = (x + i as f64 * step, palette::form_look(*form));
        if lines {
            canvas.dashed(&[(x, y), (x + 34.0, y)], look.colour, 2.0, look.dashes);
        }
        canvas.marker(look.marker, (x + 17.0, y), 4.0, look.colour);
        canvas.entry(form.name(), (if lines { x + 39.0 } else { x + 26.0 }, y));
    }
}

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
