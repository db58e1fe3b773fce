//! How the methods answer a sine and a step, beside the continuous system.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, Point, picture};
use super::palette::{FAINT, SHADOW};
use super::{Plot, legend, palette, series};
use crate::analysis::SYSTEMS;
use crate::method::Method;
use crate::report::{ReportError, text};
use crate::results::Results;
use crate::results::analysis::{CONTINUOUS, FrequencyResponse, StepResponse};

const TOP: f64 = 82.0;
const BOTTOM: f64 = 350.0;

/// Which of a response's values a panel shows.
type Values = fn(&FrequencyResponse) -> &[f64];

/// One picture per system: magnitude and phase.
pub fn frequency(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = Vec::new();
    for system in SYSTEMS {
        let of_system = |r: &&FrequencyResponse| r.system == system.name && !r.omega.is_empty();
        let responses: Vec<_> = results.analysis.frequency.iter().filter(of_system).collect();
        let Some(first) = responses.first() else { continue };
        let name = format!("frequency-{}", system.weights);
        let title =
            format!("Frequency response up to Nyquist's frequency, {}, Δ = {}", system.name, first.delta);
        let svg =
            picture(&name, &title, (800.0, 400.0), |canvas| draw_frequency(canvas, &title, &responses))?;
        let how_to_read = "The broad grey line is the continuous system, which a good method follows: left how much \
                           of a sine of angular frequency ω is passed on, right by how much it is delayed (a negative \
                           phase is a delay). All methods leave the grey line towards Nyquist's frequency π/Δ, at \
                           the right edge; poly, whose backward scan undoes the delay of the forward one, answers \
                           without any, which no causal system can."
            .to_owned();
        plots.push(Plot { name, title, how_to_read, svg });
    }
    Ok(plots)
}

fn draw_frequency(canvas: &Canvas, title: &str, responses: &[&FrequencyResponse]) -> Drawn {
    heading(canvas, title)?;
    let omega = || responses.iter().flat_map(|r| &r.omega).copied();
    let highest = omega().fold(0.0, f64::max);
    let magnitudes = responses.iter().flat_map(|r| &r.magnitude).copied();
    let magnitude = Axis::decades(magnitudes, (BOTTOM, TOP)).within(1e-6, 1e6);
    let phase = Axis::between(-180.0, 180.0, (BOTTOM, TOP));
    let panels: [(&str, f64, Axis, Values); 2] = [
        ("|H(ω)| (units of y per unit of u)", 66.0, magnitude, |r| &r.magnitude),
        ("phase of H(ω) / degrees", 470.0, phase, |r| &r.phase),
    ];
    for (i, (label, left, y, values)) in panels.into_iter().enumerate() {
        let panel = Panel { x: Axis::between(0.0, highest, (left, left + 314.0)), y };
        panel.draw(canvas, (7, if i == 0 { 6 } else { 8 }))?;
        for response in responses {
            let points: Vec<Point> =
                response.omega.iter().copied().zip(values(response).iter().copied()).collect();
            // A phase that passes 180° goes on at −180°: no line across.
            for part in points.chunk_by(|a, b| i == 0 || (a.1 - b.1).abs() < 180.0) {
                one(canvas, &panel, &response.form, part)?;
            }
        }
        let middle = (left + 157.0, BOTTOM + 30.0);
        canvas.text("ω (radians per unit of time)", middle, 12.0, palette::INK, Anchor::Middle)?;
        canvas.upright(label, (left - 48.0, (TOP + BOTTOM) / 2.0), 12.0, palette::INK)?;
    }
    Ok(())
}

/// One picture, a panel per system.
pub fn step(results: &Results) -> Result<Option<Plot>, ReportError> {
    let responses = &results.analysis.step;
    let Some(first) = responses.first() else { return Ok(None) };
    let (name, title) = ("step".to_owned(), format!("Step responses, Δ = {}", first.delta));
    let svg = picture(&name, &title, (800.0, 400.0), |canvas| draw_step(canvas, &title, responses))?;
    let how_to_read = "The output after the input has jumped from 0 to 1 at t = 0; the broad grey line is the \
                       continuous system. Methods that end at another height have a wrong gain for slow inputs (foh \
                       by more than half); poly's backward scan knows of inputs to come, so that it starts high and \
                       falls towards the end of the sequence."
        .to_owned();
    Ok(Some(Plot { name, title, how_to_read, svg }))
}

fn draw_step(canvas: &Canvas, title: &str, responses: &[StepResponse]) -> Drawn {
    heading(canvas, title)?;
    for (system, left) in SYSTEMS.iter().zip([66.0, 470.0]) {
        let of_system: Vec<_> = responses.iter().filter(|r| r.system == system.name).collect();
        let end = of_system.iter().flat_map(|r| &r.time).copied().fold(0.0, f64::max);
        let outputs = of_system.iter().flat_map(|r| &r.output).copied();
        let panel = Panel {
            x: Axis::between(0.0, end, (left, left + 314.0)),
            y: Axis::around(outputs.chain([0.0]), (BOTTOM, TOP + 20.0)),
        };
        panel.draw(canvas, (8, 7))?;
        for response in &of_system {
            let points: Vec<Point> =
                response.time.iter().copied().zip(response.output.iter().copied()).collect();
            one(canvas, &panel, &response.form, &points)?;
        }
        canvas.bold(system.name, (left + 2.0, TOP + 8.0), 12.0, palette::INK, Anchor::Start)?;
        let middle = (left + 157.0, BOTTOM + 30.0);
        canvas.text("t (units of time)", middle, 12.0, palette::INK, Anchor::Middle)?;
        canvas.upright("y (units of C·x)", (left - 48.0, (TOP + BOTTOM) / 2.0), 12.0, palette::INK)?;
    }
    Ok(())
}

fn heading(canvas: &Canvas, title: &str) -> Drawn {
    canvas.bold(&text::fit(title, 100), (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    legend::methods(canvas, &Method::ALL, (64.0, 42.0), true)?;
    canvas.line(&[(64.0, 62.0), (98.0, 62.0)], SHADOW, 7.0)?;
    canvas.line(&[(64.0, 62.0), (98.0, 62.0)], FAINT, 1.0)?;
    canvas.text("continuous system", (103.0, 62.0), 12.0, palette::INK, Anchor::Start)
}

/// The continuous system broad and grey, a method as everywhere.
fn one(canvas: &Canvas, panel: &Panel, form: &str, points: &[Point]) -> Drawn {
    if form == CONTINUOUS {
        let line: Vec<Point> = points.iter().filter(|p| !p.1.is_nan()).map(|p| panel.place(*p)).collect();
        if line.len() > 1 {
            canvas.line(&line, SHADOW, 7.0)?;
            canvas.line(&line, FAINT, 1.0)?;
        }
        return Ok(());
    }
    let Ok(method) = form.parse::<Method>() else { return Ok(()) };
    series::line(canvas, panel, points, palette::look(method), method as usize)
}
