//! How the methods answer a sine and a step, beside the continuous system.

use super::axis::{Axis, Panel};
use super::canvas::{Canvas, Point};
use super::palette::{self, FAINT, SHADOW};
use super::{Sheet, legend, series};
use crate::analysis::SYSTEMS;
use crate::method::Method;
use crate::results::Results;
use crate::results::analysis::{CONTINUOUS, FrequencyResponse, StepResponse};

/// Where the panels end below and above.
const Y: (f64, f64) = (350.0, 82.0);

/// Which of a response's values a panel shows.
type ResponseValues = fn(&FrequencyResponse) -> &[f64];

/// One picture per system: magnitude and phase.
pub fn frequency(results: &Results) -> impl Iterator<Item = Sheet<'_>> {
    SYSTEMS.into_iter().filter_map(|system| {
        let of_system = |r: &&FrequencyResponse| r.system == system.name && !r.omega.is_empty();
        let responses: Vec<_> = results.analysis.frequency.iter().filter(of_system).collect();
        let delta = responses.first()?.delta;
        let title = format!("Frequency response up to Nyquist's frequency, {}, Δ = {delta}", system.name);
        let draw = move |canvas: &Canvas| draw_frequency(canvas, &responses);
        Some(Sheet::new("frequency", system.weights, title, 400.0, draw))
    })
}

fn draw_frequency(canvas: &Canvas, responses: &[&FrequencyResponse]) {
    heading(canvas);
    let highest = responses.iter().flat_map(|r| &r.omega).copied().fold(0.0, f64::max);
    let magnitudes = responses.iter().flat_map(|r| &r.magnitude).copied();
    let magnitude = Axis::decades(magnitudes, Y).within(1e-6, 1e6);
    let phase = Axis::between(-180.0, 180.0, Y);
    let panels: [(&str, f64, Axis, ResponseValues); 2] = [
        ("|H(ω)| (units of y per unit of u)", 66.0, magnitude, |r| &r.magnitude),
        ("phase of H(ω) / degrees", 470.0, phase, |r| &r.phase),
    ];
    for (i, (label, left, y, values)) in panels.into_iter().enumerate() {
        let panel = Panel { x: Axis::between(0.0, highest, (left, left + 314.0)), y };
        panel.draw(canvas, (7, if i == 0 { 6 } else { 8 }));
        for response in responses {
            let points = series::points(&response.omega, values(response));
            // A phase that passes 180° goes on at −180°: no line across.
            for part in points.chunk_by(|a, b| i == 0 || (a.1 - b.1).abs() < 180.0) {
                one(canvas, &panel, &response.form, part);
            }
        }
        panel.name_axes(canvas, ("ω (radians per unit of time)", 30.0), (label, 48.0));
    }
}

/// One picture, a panel per system.
pub fn step(results: &Results) -> Option<Sheet<'_>> {
    let responses = &results.analysis.step;
    let title = format!("Step responses, Δ = {}", responses.first()?.delta);
    Some(Sheet::new("step", "", title, 400.0, move |canvas| draw_step(canvas, responses)))
}

fn draw_step(canvas: &Canvas, responses: &[StepResponse]) {
    heading(canvas);
    let (bottom, top) = Y;
    for (system, left) in SYSTEMS.iter().zip([66.0, 470.0]) {
        let of_system: Vec<_> = responses.iter().filter(|r| r.system == system.name).collect();
        let end = of_system.iter().flat_map(|r| &r.time).copied().fold(0.0, f64::max);
        let outputs = of_system.iter().flat_map(|r| &r.output).copied();
        let panel = Panel {
            x: Axis::between(0.0, end, (left, left + 314.0)),
            y: Axis::around(outputs.chain([0.0]), (bottom, top + 20.0)),
        };
        panel.draw(canvas, (8, 7));
        for response in &of_system {
            one(canvas, &panel, &response.form, &series::points(&response.time, &response.output));
        }
        canvas.heading(system.name, (left + 2.0, top + 8.0));
        let whole = Panel { y: Axis::linear(1.0, Y), ..panel };
        whole.name_axes(canvas, ("t (units of time)", 30.0), ("y (units of C·x)", 48.0));
    }
}

fn heading(canvas: &Canvas) {
    legend::methods(canvas, &Method::ALL, (64.0, 42.0), true);
    continuous(canvas, &[(64.0, 62.0), (98.0, 62.0)]);
    canvas.entry("continuous system", (103.0, 62.0));
}

/// Broad and grey.
fn continuous(canvas: &Canvas, line: &[Point]) {
    canvas.line(line, SHADOW, 7.0);
    canvas.line(line, FAINT, 1.0);
}

/// The continuous system in its own way, a method as everywhere.
fn one(canvas: &Canvas, panel: &Panel, form: &str, points: &[Point]) {
    if form == CONTINUOUS {
        let line: Vec<Point> = points.iter().filter(|p| !p.1.is_nan()).map(|p| panel.place(*p)).collect();
        if line.len() > 1 {
            continuous(canvas, &line);
        }
    } else if let Ok(method) = form.parse::<Method>() {
        series::line(canvas, panel, points, palette::look(method), method as usize);
    }
}
