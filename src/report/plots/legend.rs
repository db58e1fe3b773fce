//! Which marker, colour and dash is which method.

use super::canvas::{Canvas, Point};
use super::palette;
use crate::method::Method;
use crate::truth::Form;

/// Width of one entry: all methods share a picture's width.
const STEP: f64 = 648.0 / Method::ALL.len() as f64;

/// One row of methods from `at` to the right, each with its marker, on its line when `lines`.
pub fn methods(canvas: &Canvas, methods: &[Method], at: Point, lines: bool) {
    let forms: Vec<Form> = methods.iter().map(|&m| m.into()).collect();
    row(canvas, &forms, at, STEP, lines);
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
