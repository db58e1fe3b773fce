//! A sheet to draw on, in CSS pixels: plotters' SVG backend, at a finer grid than its whole pixels.

use std::cell::RefCell;

use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle};

use super::compact::compact;
use super::palette::{self, Marker};
use crate::report::{ReportError, text};

/// Plotters rounds to whole units: four of them to a pixel keep curves smooth.
const FINE: f64 = 4.0;
/// Half the side of a place to point at, in pixels.
const HOVER: f64 = 4.0;
/// Plotters divides font sizes by this on their way into the SVG.
const FONT: f64 = 1.24;

pub type Point = (f64, f64);
type DrawError = DrawingAreaErrorKind<std::io::Error>;

pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    /// The first thing that went wrong: nobody gets to see such a picture.
    failed: RefCell<Option<DrawError>>,
    /// What is said of a place to those who point at it.
    notes: RefCell<Vec<(Point, String)>>,
}

/// Where a text's own reference point is: left, middle or right; texts are always centred vertically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Draws a picture of the given size; `title` is what a screen reader says of it.
pub fn picture(
    name: &str,
    title: &str,
    (width, height): (f64, f64),
    draw: impl FnOnce(&Canvas),
) -> Result<String, ReportError> {
    let mut svg = String::new();
    let size = ((width * FINE) as u32, (height * FINE) as u32);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let canvas = Canvas { area, failed: RefCell::new(None), notes: RefCell::default() };
    canvas.rectangle((0.0, 0.0), (width, height), palette::PAPER);
    draw(&canvas);
    canvas.keep(canvas.area.present());
    let (failed, notes) = (canvas.failed.take(), canvas.notes.take());
    drop(canvas);
    if let Some(error) = failed {
        return Err(ReportError::Plot { name: name.to_owned(), reason: error.to_string() });
    }
    let fine = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    let label = escape(title);
    let plain = format!("<svg role=\"img\" aria-label=\"{label}\" width=\"{width}\" height=\"{height}\"");
    let svg = compact(&svg.replacen(&fine, &plain, 1)).replacen("</svg>", &hovers(&notes), 1);
    let (open, close) = super::STYLE;
    let style = super::night::style([&*svg].into_iter());
    Ok(svg.replacen(">\n", &format!(">\n{open}{style}{close}\n"), 1))
}

/// Places that nobody sees, each with its words: plotters knows of no titles. Last, above all that is drawn.
fn hovers(notes: &[(Point, String)]) -> String {
    let one = |((x, y), said): &(Point, String)| {
        let ((x, y), side) = (fine((x - HOVER, y - HOVER)), 2.0 * HOVER * FINE);
        let said = escape(&text::line(said));
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\"><title>{said}</title></rect>\n")
    };
    let all: String = notes.iter().map(one).collect();
    if all.is_empty() {
        return "</svg>".to_owned();
    }
    format!("<g fill=\"none\" pointer-events=\"all\">\n{all}</g>\n</svg>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn fine((x, y): Point) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn scaled(font: f64) -> f64 {
    font * FINE * FONT
}

fn stroke(colour: RGBColor, width: f64) -> ShapeStyle {
    colour.stroke_width((width * FINE).round() as u32)
}

impl Canvas<'_> {
    fn keep(&self, drawn: Result<(), DrawError>) {
        if let Err(error) = drawn {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }

    /// What a reader is told who points at this place.
    pub fn note(&self, at: Point, said: String) {
        self.notes.borrow_mut().push((at, said));
    }

    pub fn rectangle(&self, from: Point, to: Point, colour: RGBColor) {
        self.keep(self.area.draw(&Rectangle::new([fine(from), fine(to)], colour.filled())));
    }

    pub fn frame(&self, from: Point, to: Point, colour: RGBColor, width: f64) {
        // Not a `Rectangle`: the SVG backend ignores the stroke width of one.
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from, (to.0, from.1)];
        self.line(&corners, colour, width);
    }

    pub fn line(&self, points: &[Point], colour: RGBColor, width: f64) {
        let points: Vec<_> = points.iter().copied().map(fine).collect();
        self.keep(self.area.draw(&PathElement::new(points, stroke(colour, width))));
    }

    /// A line of dashes: the lengths in `pattern` are those of a dash, a gap, a dash and so on.
    pub fn dashed(&self, points: &[Point], colour: RGBColor, width: f64, pattern: &[f64]) {
        if pattern.is_empty() {
            return self.line(points, colour, width);
        }
        let (mut phase, mut left) = (0, pattern[0]);
        let mut dash: Vec<Point> = points.first().copied().into_iter().collect();
        for pair in points.windows(2) {
            let (mut from, to) = (pair[0], pair[1]);
            loop {
                let length = (to.0 - from.0).hypot(to.1 - from.1);
                if length <= left {
                    left -= length;
                    dash.push(to);
                    break;
                }
                let part = left / length;
                from = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
                dash.push(from);
                if phase % 2 == 0 {
                    self.line(&dash, colour, width);
                }
                dash = vec![from];
                phase = (phase + 1) % (pattern.len() + pattern.len() % 2);
                left = pattern[phase % pattern.len()];
            }
        }
        if phase % 2 == 0 && dash.len() > 1 {
            self.line(&dash, colour, width);
        }
    }

    /// A marker about `2 * radius` wide.
    pub fn marker(&self, marker: Marker, (x, y): Point, radius: f64, colour: RGBColor) {
        let r = radius;
        let corners: &[Point] = match marker {
            Marker::Circle => {
                let circle = Circle::new(fine((x, y)), (r * FINE).round() as i32, colour.filled());
                return self.keep(self.area.draw(&circle));
            }
            Marker::Cross => {
                self.line(&[(x - r, y - r), (x + r, y + r)], colour, 1.75);
                return self.line(&[(x - r, y + r), (x + r, y - r)], colour, 1.75);
            }
            Marker::TriangleUp => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::TriangleDown => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Marker::TriangleLeft => &[(-1.2, 0.0), (0.8, 1.1), (0.8, -1.1)],
            Marker::TriangleRight => &[(1.2, 0.0), (-0.8, 1.1), (-0.8, -1.1)],
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        };
        let corners: Vec<Point> = corners.iter().map(|c| (x + c.0 * r, y + c.1 * r)).collect();
        self.polygon(&corners, colour);
    }

    pub fn polygon(&self, corners: &[Point], colour: RGBColor) {
        let corners: Vec<_> = corners.iter().copied().map(fine).collect();
        self.keep(self.area.draw(&Polygon::new(corners, colour.filled())));
    }

    pub fn text(&self, text: &str, at: Point, size: f64, colour: RGBColor, anchor: Anchor) {
        self.write(text, at, anchor, colour, ("sans-serif", scaled(size)).into_font());
    }

    pub fn bold(&self, text: &str, at: Point, size: f64, colour: RGBColor, anchor: Anchor) {
        self.write(text, at, anchor, colour, ("sans-serif", scaled(size), FontStyle::Bold).into_font());
    }

    /// What an axis shows, read from bottom to top.
    pub fn upright(&self, text: &str, at: Point) {
        let font = ("sans-serif", scaled(12.0)).into_font().transform(FontTransform::Rotate270);
        self.write(text, at, Anchor::Middle, palette::INK, font);
    }

    /// What an axis shows.
    pub fn label(&self, text: &str, at: Point) {
        self.text(text, at, 12.0, palette::INK, Anchor::Middle);
    }

    /// An entry of a legend or a table.
    pub fn entry(&self, text: &str, at: Point) {
        self.text(text, at, 12.0, palette::INK, Anchor::Start);
    }

    /// What a panel is about.
    pub fn heading(&self, text: &str, at: Point) {
        self.bold(text, at, 12.0, palette::INK, Anchor::Start);
    }

    fn write(&self, text: &str, at: Point, anchor: Anchor, colour: RGBColor, font: FontDesc) {
        let h_pos = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(h_pos, VPos::Center));
        // XML cannot hold control characters, and a regime's name may come from a file.
        self.keep(self.area.draw_text(&text::line(text), &style, fine(at)));
    }
}
