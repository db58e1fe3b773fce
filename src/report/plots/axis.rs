//! Axes: where a value is on the sheet, and the ticks and labels around a panel.

use super::canvas::{Anchor, Canvas, Point};
use super::palette;
use crate::notation;

/// How values spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear,
    /// Only for positive limits.
    Log,
}

/// One axis of a panel: `low` is drawn at `start`, `high` at `end`.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    pub start: f64,
    pub end: f64,
}

impl Axis {
    /// A logarithmic axis over whole decades that hold every positive finite value, at least one decade.
    pub fn decades(values: impl Iterator<Item = f64>, (start, end): (f64, f64)) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|v| v.is_finite() && *v > 0.0) {
            low = low.min(value.log10());
            high = high.max(value.log10());
        }
        if low > high {
            (low, high) = (-1.0, 0.0);
        }
        // Limits whose powers of ten are still numbers of f64.
        let (low, high) = (low.floor().clamp(-300.0, 299.0), high.ceil().clamp(-299.0, 300.0));
        let high = high.max(low + 1.0);
        Axis { scale: Scale::Log, low: 10f64.powf(low), high: 10f64.powf(high), start, end }
    }

    /// The same axis, its limits brought within `low` and `high`.
    pub fn within(mut self, low: f64, high: f64) -> Axis {
        self.low = self.low.clamp(low, high / 10.0);
        self.high = self.high.clamp(self.low * 10.0, high);
        self
    }

    pub fn linear(high: f64, place: (f64, f64)) -> Axis {
        Axis::between(0.0, high, place)
    }

    /// A linear axis; one without usable limits reaches from 0 to 1.
    pub fn between(low: f64, high: f64, (start, end): (f64, f64)) -> Axis {
        let usable = low < high && (high - low).is_finite();
        let (low, high) = if usable { (low, high) } else { (0.0, 1.0) };
        Axis { scale: Scale::Linear, low, high, start, end }
    }

    /// A linear axis that holds every finite value, with a little room.
    pub fn around(values: impl Iterator<Item = f64>, place: (f64, f64)) -> Axis {
        // Beyond these limits nothing can be compared.
        let values = values.filter(|v| v.abs() <= 1e6);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = 0.04 * (high - low);
        Axis::between(low - room, high + room, place)
    }

    /// Where a value is drawn; one beyond the limits (zero on a logarithmic axis, an infinity) is drawn at
    /// the limit, a NaN at the upper one, so that it does not look like a small error.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            _ if value.is_nan() => 1.0,
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value <= 0.0 => 0.0,
            Scale::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Values and texts of the labelled ticks, about `most` at the most.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Log => {
                let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                let step = ((high - low) as usize).div_ceil(most.max(1)).max(1);
                let label = |e: i32| (10f64.powi(e), power_of_ten(e));
                (low..=high).filter(|e| e.rem_euclid(step as i32) == 0).map(label).collect()
            }
            Scale::Linear => {
                let rough = (self.high - self.low) / most.max(1) as f64;
                let unit = 10f64.powf(rough.log10().floor());
                let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * unit);
                let step = steps.into_iter().find(|s| *s >= rough * 0.999).unwrap_or(steps[3]);
                let first = (self.low / step - 1e-9).ceil();
                let count = (self.high / step - first + 1e-9) as usize;
                let decimals = (-step.log10()).ceil().clamp(0.0, 12.0) as usize;
                // Adding zero turns −0 into 0.
                let value = |i: usize| (first + i as f64) * step + 0.0;
                (0..=count).map(|i| (value(i), format!("{:.decimals$}", value(i)))).collect()
            }
        }
    }
}

/// `0.01`, `1`, `100`, and `10⁻⁵` further out.
fn power_of_ten(exponent: i32) -> String {
    if (-2..=2).contains(&exponent) {
        return format!("{}", 10f64.powi(exponent));
    }
    format!("10{}", notation::superscript(exponent))
}

/// A rectangle with an axis along its bottom and one along its left side.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    pub x: Axis,
    pub y: Axis,
}

impl Panel {
    pub fn place(&self, (x, y): Point) -> Point {
        (self.x.place(x), self.y.place(y))
    }

    /// Grid, frame and tick labels; at most so many labels along x and along y (none for 0).
    pub fn draw(&self, canvas: &Canvas, (most_x, most_y): (usize, usize)) {
        let (upper, lower) = ((self.x.start, self.y.end), (self.x.end, self.y.start));
        for (value, label) in self.x.ticks(most_x) {
            let x = self.x.place(value);
            canvas.line(&[(x, upper.1), (x, lower.1)], palette::GRID, 0.75);
            self.label_x(canvas, vec![(value, label)]);
        }
        let rows = if most_y == 0 { Vec::new() } else { self.y.ticks(most_y) };
        for (value, label) in rows {
            let y = self.y.place(value);
            canvas.line(&[(upper.0, y), (lower.0, y)], palette::GRID, 0.75);
            canvas.text(&label, (upper.0 - 5.0, y), 11.0, palette::INK, Anchor::End);
        }
        canvas.frame(upper, lower, palette::FAINT, 1.0);
    }

    /// The labels of ticks along x.
    pub fn label_x(&self, canvas: &Canvas, ticks: Vec<(f64, String)>) {
        for (value, label) in ticks {
            let at = (self.x.place(value), self.y.start + 11.0);
            canvas.text(&label, at, 11.0, palette::INK, Anchor::Middle);
        }
    }

    /// What the axes show: of x so many pixels below the panel, of y so many to its left.
    pub fn name_axes(&self, canvas: &Canvas, (x, below): (&str, f64), (y, left): (&str, f64)) {
        let middle = |axis: &Axis| (axis.start + axis.end) / 2.0;
        canvas.label(x, (middle(&self.x), self.y.start + below));
        canvas.upright(y, (self.x.start - left, middle(&self.y)));
    }
}
