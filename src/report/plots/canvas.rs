//! A sheet to draw on, in CSS pixels: plotters' SVG backend, at a finer grid than its whole pixels.

use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle};

use super::compact::compact;
use super::palette::{self, Marker};
use crate::report::{ReportError, text};

/// Plotters rounds to whole units: four of them to a pixel keep curves smooth.
const FINE: f64 = 4.0;
/// Plotters divides font sizes by this on their way into the SVG.
const FONT: f64 = 1.24;

pub type Point = (f64, f64);
type DrawError = DrawingAreaErrorKind<std::io::Error>;
pub type Drawn = Result<(), DrawError>;

pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Where a text's own reference point is: left, middle or right; texts are always centred vertically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Draws a picture of the given size and names it `title` for those who hear it instead.
pub fn picture(
    name: &str,
    title: &str,
    (width, height): (f64, f64),
    draw: impl FnOnce(&Canvas) -> Drawn,
) -> Result<String, ReportError> {
    let mut svg = String::new();
    let size = ((width * FINE) as u32, (height * FINE) as u32);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let canvas = Canvas { area };
    let drawn = canvas
        .rectangle((0.0, 0.0), (width, height), palette::PAPER)
        .and_then(|()| draw(&canvas))
        .and_then(|()| canvas.area.present());
    drop(canvas);
    drawn.map_err(|e| ReportError::Plot { name: name.to_owned(), reason: e.to_string() })?;
    let fine = format!("<svg width=\"{}\" height=\"{}\"", size.0, size.1);
    let label = escape(title);
    let plain = format!("<svg role=\"img\" aria-label=\"{label}\" width=\"{width}\" height=\"{height}\"");
    let svg = compact(&svg.replacen(&fine, &plain, 1));
    let (open, close) = super::STYLE;
    let style = super::night::style([&*svg].into_iter());
    Ok(svg.replacen(">\n", &format!(">\n{open}{style}{close}\n"), 1))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn fine((x, y): Point) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn stroke(colour: RGBColor, width: f64) -> ShapeStyle {
    colour.stroke_width((width * FINE).round() as u32)
}

impl Canvas<'_> {
    pub fn rectangle(&self, from: Point, to: Point, colour: RGBColor) -> Drawn {
        self.area.draw(&Rectangle::new([fine(from), fine(to)], colour.filled()))
    }

    pub fn frame(&self, from: Point, to: Point, colour: RGBColor, width: f64) -> Drawn {
        // Not a `Rectangle`: the SVG backend ignores the stroke width of one.
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from, (to.0, from.1)];
        self.line(&corners, colour, width)
    }

    pub fn line(&self, points: &[Point], colour: RGBColor, width: f64) -> Drawn {
        let points: Vec<_> = points.iter().copied().map(fine).collect();
        self.area.draw(&PathElement::new(points, stroke(colour, width)))
    }

    /// A line of dashes: the lengths in `pattern` are those of a dash, a gap, a dash and so on.
    pub fn dashed(&self, points: &[Point], colour: RGBColor, width: f64, pattern: &[f64]) -> Drawn {
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
                    self.line(&dash, colour, width)?;
                }
                dash = vec![from];
                phase = (phase + 1) % (pattern.len() + pattern.len() % 2);
                left = pattern[phase % pattern.len()];
            }
        }
        if phase % 2 == 0 && dash.len() > 1 { self.line(&dash, colour, width) } else { Ok(()) }
    }

    /// A marker about `2 * radius` wide.
    pub fn marker(&self, marker: Marker, (x, y): Point, radius: f64, colour: RGBColor) -> Drawn {
        let r = radius;
        let corners: &[Point] = match marker {
            Marker::Circle => {
                let circle = Circle::new(fine((x, y)), (r * FINE).round() as i32, colour.filled());
                return self.area.draw(&circle);
            }
            Marker::Cross => {
                self.line(&[(x - r, y - r), (x + r, y + r)], colour, 1.75)?;
                return self.line(&[(x - r, y + r), (x + r, y - r)], colour, 1.75);
            }
            Marker::TriangleUp => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::TriangleDown => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
        };
        let corners: Vec<_> = corners.iter().map(|c| fine((x + c.0 * r, y + c.1 * r))).collect();
        self.area.draw(&Polygon::new(corners, colour.filled()))
    }

    /// A filled shape.
    pub fn polygon(&self, corners: &[Point], colour: RGBColor) -> Drawn {
        let corners: Vec<_> = corners.iter().copied().map(fine).collect();
        self.area.draw(&Polygon::new(corners, colour.filled()))
    }

    pub fn text(&self, text: &str, at: Point, size: f64, colour: RGBColor, anchor: Anchor) -> Drawn {
        self.write(text, at, size, colour, anchor, FontStyle::Normal, FontTransform::None)
    }

    pub fn bold(&self, text: &str, at: Point, size: f64, colour: RGBColor, anchor: Anchor) -> Drawn {
        self.write(text, at, size, colour, anchor, FontStyle::Bold, FontTransform::None)
    }

    /// Read from bottom to top, centred.
    pub fn upright(&self, text: &str, at: Point, size: f64, colour: RGBColor) -> Drawn {
        self.write(text, at, size, colour, Anchor::Middle, FontStyle::Normal, FontTransform::Rotate270)
    }

    #[allow(clippy::too_many_arguments)] // the three public ways in fix most of them
    fn write(
        &self,
        text: &str,
        at: Point,
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
        style: FontStyle,
        transform: FontTransform,
    ) -> Drawn {
        let h_pos = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let font = ("sans-serif", size * FINE * FONT, style).into_font().transform(transform);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(h_pos, VPos::Center));
        // XML cannot hold control characters, and a regime's name may come from a file.
        self.area.draw_text(&text::line(text), &style, fine(at))
    }
}
