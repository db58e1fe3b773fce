//! Errors of Ā and B̄ against |z|, one panel per method.

use super::axis::{Axis, Panel, Scale};
use super::canvas::{Anchor, Canvas, Drawn, picture};
use super::palette::{self, Marker};
use super::{Plot, canvas};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::ReportError;
use crate::report::sweeps::Coefficient;
use crate::results::{CoefficientPoint, Results};

/// Points kept along |z|: the largest error of each of so many steps.
const BINS: usize = 110;
/// Above this the error axis is logarithmic.
const MOST_LINEAR: f64 = 24.0;
/// Half the length of the dash at what is allowed, in pixels.
const DASH: f64 = 2.5;

/// One picture per weight type that was swept.
pub fn plots(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = Vec::new();
    for weights in Weights::ALL {
        let sweeps = || results.coefficients.iter().filter(move |s| s.weights == weights);
        let methods: Vec<(Method, Vec<CoefficientPoint>)> = Method::ALL
            .into_iter()
            .map(|m| (m, sweeps().filter(|s| s.method == m).flat_map(|s| &s.points).copied().collect()))
            .filter(|(_, points): &(_, Vec<_>)| !points.is_empty())
            .collect();
        if methods.is_empty() {
            continue;
        }
        let name = format!("coefficients-{weights}");
        let title = format!("Error of Ā and B̄ against |z| = |ΔA|, {weights} weights");
        let height = 58.0 + methods.len().div_ceil(3) as f64 * 226.0;
        let sheet = Sheet { title: &title, weights, methods: &methods };
        let svg = picture(&name, &title, (800.0, height), |canvas| sheet.draw(canvas))?;
        let unit = match weights {
            Weights::Real => "units in the last place of an f32",
            Weights::Complex => "2⁻²⁴ of the coefficient's modulus (normwise)",
        };
        let how_to_read = format!(
            "Each mark is the largest error, in {unit}, that the kernel made near that |z| = |ΔA|, against \
             the exact coefficient of the same f32 inputs; the dash above it, of the same colour, is what the verdict \
             allows there: what the roundings of the method add up to. A hump tells where a formula loses digits: on the left \
             to cancellation or a series cut short, on the right to the conditioning of eᶻ."
        );
        plots.push(Plot { name, title, how_to_read, svg });
    }
    Ok(plots)
}

struct Sheet<'a> {
    title: &'a str,
    weights: Weights,
    methods: &'a [(Method, Vec<CoefficientPoint>)],
}

impl Sheet<'_> {
    fn draw(&self, canvas: &Canvas) -> Drawn {
        canvas.bold(self.title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
        let entries = [(Coefficient::ABar, 60.0), (Coefficient::BBar, 130.0)];
        for (coefficient, x) in entries {
            let (marker, colour) = mark(coefficient);
            canvas.marker(marker, (x, 38.0), 4.0, colour)?;
            canvas.text(coefficient.symbol(), (x + 10.0, 38.0), 12.0, palette::INK, Anchor::Start)?;
        }
        for (coefficient, x) in [(Coefficient::ABar, 200.0), (Coefficient::BBar, 210.0)] {
            dash(canvas, (x, 38.0), mark(coefficient).1)?;
        }
        canvas.text("allowed there", (220.0, 38.0), 12.0, palette::INK, Anchor::Start)?;
        for i in 0..self.methods.len() {
            let corner = (54.0 + (i % 3) as f64 * 258.0, 72.0 + (i / 3) as f64 * 226.0);
            self.panel(canvas, i, corner)?;
        }
        Ok(())
    }

    fn panel(&self, canvas: &Canvas, i: usize, (left, top): canvas::Point) -> Drawn {
        let (method, points) = &self.methods[i];
        let (right, bottom) = (left + 220.0, top + 162.0);
        let all = || self.methods.iter().flat_map(|(_, points)| points);
        let x = Axis::decades(all().map(|p| p.z_re.hypot(p.z_im)), (left, right)).within(1e-12, 1e6);
        let panel = Panel { x, y: self.errors((bottom, top)) };
        panel.draw(canvas, (5, 6))?;
        for coefficient in Coefficient::ALL {
            let (marker, colour) = mark(coefficient);
            for (z, error, allowed) in thinned(points, coefficient, &x) {
                canvas.marker(marker, panel.place((z, error)), 2.1, colour)?;
                if allowed <= panel.y.high {
                    dash(canvas, panel.place((z, allowed)), colour)?;
                }
            }
        }
        canvas.bold(method.name(), (left + 2.0, top - 9.0), 12.0, palette::INK, Anchor::Start)?;
        canvas.text("|z|", ((left + right) / 2.0, bottom + 26.0), 12.0, palette::INK, Anchor::Middle)?;
        if i.is_multiple_of(3) {
            let unit = match self.weights {
                Weights::Real => "error / f32 ulp",
                Weights::Complex => "error / (2⁻²⁴ · modulus)",
            };
            canvas.upright(unit, (left - 38.0, (top + bottom) / 2.0), 12.0, palette::INK)?;
        }
        Ok(())
    }

    /// One error axis for all panels, so that they compare: linear while all of it is a few units.
    fn errors(&self, place: (f64, f64)) -> Axis {
        let values = || {
            let points = self.methods.iter().flat_map(|(_, points)| points);
            let of = |p: &CoefficientPoint| [p.a_bar_ulp, p.b_bar_ulp, p.a_bar_allowed, p.b_bar_allowed];
            points.flat_map(of).filter(|value| value.is_finite())
        };
        let largest = values().fold(1.0, f64::max);
        if largest <= MOST_LINEAR {
            return Axis::linear(1.1 * largest, place);
        }
        let limits = Axis::decades(values().chain([0.1, 100.0]), place);
        Axis { scale: Scale::Log, ..limits.within(1e-2, 1e6) }
    }
}

fn dash(canvas: &Canvas, (x, y): canvas::Point, colour: plotters::style::RGBColor) -> Drawn {
    canvas.line(&[(x - DASH, y), (x + DASH, y)], colour, 1.0)
}

fn mark(coefficient: Coefficient) -> (Marker, plotters::style::RGBColor) {
    match coefficient {
        Coefficient::ABar => (Marker::Circle, palette::BLUE),
        Coefficient::BBar => (Marker::TriangleUp, palette::ORANGE),
    }
}

/// |z|, error and bound of the point with the largest error of each of [`BINS`] steps along the axis; a NaN is larger
/// than any.
fn thinned(points: &[CoefficientPoint], coefficient: Coefficient, x: &Axis) -> Vec<(f64, f64, f64)> {
    let mut bins = vec![None::<(f64, f64, f64)>; BINS + 1];
    for point in points {
        let z = point.z_re.hypot(point.z_im);
        let error = coefficient.error(point);
        let share = (x.place(z) - x.start) / (x.end - x.start);
        let bin = &mut bins[(share * BINS as f64) as usize];
        if bin.is_none_or(|(_, worst, _)| !worst.is_nan() && (error.is_nan() || error > worst)) {
            *bin = Some((z, error, coefficient.allowed(point)));
        }
    }
    bins.into_iter().flatten().collect()
}
