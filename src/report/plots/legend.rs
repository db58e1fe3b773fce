//! Which marker, colour and dash is which method.

use super::canvas::{Anchor, Canvas, Drawn, Point};
use super::palette;
use crate::method::Method;
use crate::truth::Form;

/// Width of one entry: all methods share a picture's width.
const STEP: f64 = 648.0 / Method::ALL.len() as f64;

/// One row of methods from `at` to the right, each with its marker, on its line when `lines`.
pub fn methods(canvas: &Canvas, methods: &[Method], (x, y): Point, lines: bool) -> Drawn {
    let forms: Vec<Form> = methods.iter().map(|&m| m.into()).collect();
    row(canvas, &forms, (x, y), STEP, lines)
}

/// One row of forms, so many pixels apart.
pub fn row(canvas: &Canvas, forms: &[Form], (x, y): Point, step: f64, lines: bool) -> Drawn {
    for (i, form) in forms.iter().enumerate() {
        let (x, look) = (x + i as f64 * step, palette::form_look(*form));
        if lines {
            canvas.dashed(&[(x, y), (x + 34.0, y)], look.colour, 2.0, look.dashes)?;
        }
        canvas.marker(look.marker, (x + 17.0, y), 4.0, look.colour)?;
        let text_x = if lines { x + 39.0 } else { x + 26.0 };
        canvas.text(form.name(), (text_x, y), 12.0, palette::INK, Anchor::Start)?;
    }
    Ok(())
}
