//! What the methods themselves are, whoever computes them: pictures of the truth's data alone.

use plotters::style::RGBColor;

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, lines, palette};
use crate::analysis::{SYSTEMS, order};
use crate::method::Method;
use crate::report::{groups, methods, text};
use crate::results::analysis::{
    CONTINUOUS, ConsistencyCurve, FormProperties, FrequencyResponse, MethodAnalysis, StabilityRegion,
    StabilityRow, StepResponse,
};
use crate::results::{MethodCurve, Results};
use crate::truth::Form;

/// A row of the table: its label, its height, and a form's order as measured and as expected.
type OrderRow = (&'static str, f64, fn(&FormProperties) -> Option<f64>, fn(Form) -> Option<u8>);

const ORDERS: [OrderRow; 2] = [
    ("order, constant", 410.0, |found| found.order_constant, methods::order_constant),
    ("order, smooth", 434.0, |found| found.order_smooth, methods::order_smooth),
];

/// Discretization errors against Δ, with the order that was measured beside the expected one: of the methods, and of the
/// textbook forms.
pub fn convergence(results: &Results) -> Vec<Sheet<'_>> {
    let analysis = &results.analysis;
    if analysis.convergence.is_empty() {
        return Vec::new();
    }
    let (own, textbook): (Vec<Form>, Vec<Form>) =
        Form::all().partition(|form| matches!(form, Form::Method(_)));
    let sheet = |(kind, who, forms): (_, &str, Vec<Form>)| {
        let title = format!("Discretization error against Δ, {who}, {}", SYSTEMS[0].name);
        let height = 456.0 + BLOCK * (blocks(&forms).len() - 1) as f64;
        Sheet::new(kind, "", title, height, move |canvas| draw_convergence(canvas, &forms, analysis))
    };
    let kinds =
        [("convergence", "the methods", own), ("convergence-textbook", "the textbook forms", textbook)];
    kinds.into_iter().map(sheet).collect()
}

/// Height of one block of the table below the picture.
const BLOCK: f64 = 84.0;

/// The forms that fit side by side in the table: the methods have short names.
fn blocks(forms: &[Form]) -> Vec<&[Form]> {
    let has_long_names = forms.iter().any(|form| form.method().is_none());
    forms.chunks(if has_long_names { 4 } else { Method::ALL.len() }).collect()
}

fn draw_convergence(canvas: &Canvas, forms: &[Form], analysis: &MethodAnalysis) {
    let panels =
        [(order::CONSTANT, "constant input, u = 1", 70.0), (order::SMOOTH, "smooth input, u = t²", 470.0)];
    for (input, heading, left) in panels {
        let curves = analysis.convergence.iter().filter(|c| c.system == SYSTEMS[0].name && c.input == input);
        let curves: Vec<_> = curves.collect();
        let panel = Panel {
            x: Axis::decades(curves.iter().flat_map(|c| &c.delta).copied(), (left, left + 310.0)),
            y: error_axis(curves.iter().flat_map(|c| &c.error).copied()),
        };
        panel.draw(canvas, (4, 7));
        for form in forms {
            let Some(curve) = curves.iter().find(|c| c.form == form.name()) else { continue };
            let points = lines::points(&curve.delta, &curve.error);
            lines::marked(canvas, &panel, &points, palette::form_look(*form));
        }
        canvas.heading(heading, (left + 2.0, 50.0));
        panel.name_axes(canvas, ("Δ (units of time)", 28.0), ("relative error of x(1)", 52.0));
    }
    // The table stands right below the legend, in its columns.
    let blocks = blocks(forms);
    let widest = blocks.iter().map(|block| block.len()).max().unwrap_or(1);
    let (start, step) = (124.0, 660.0 / widest as f64);
    for (block, down) in blocks.into_iter().zip((0..).map(|i| BLOCK * f64::from(i))) {
        lines::row(canvas, block, (start, 384.0 + down), step, true);
        for (label, y, measured, expected) in ORDERS {
            canvas.entry(label, (12.0, y + down));
            for (i, &form) in block.iter().enumerate() {
                let found = analysis.forms.iter().find(|f| f.form == form.name());
                let found = found.map_or("–".to_owned(), |found| methods::measured_order(measured(found)));
                let both = format!("{found} ({})", methods::expected_order(expected(form)));
                canvas.entry(&both, (start + i as f64 * step, y + down));
            }
        }
        canvas.text("found (expected)", (12.0, 384.0 + down), 11.0, palette::FAINT, Anchor::Start);
    }
}

/// Down to the smallest error that is no mere rounding: what is exact is on the lower edge.
fn error_axis(all: impl Iterator<Item = f64>) -> Axis {
    Axis::decades(all.filter(|e| *e > 1e-14).chain([0.01, 1.0]), (330.0, 62.0)).within(1e-13, 1e3)
}

/// B̄/Δ → B: whether the methods take in their input as the steps get smaller.
pub fn consistency(results: &Results) -> Option<Sheet<'_>> {
    let curve = |m: Method| Some((m, results.analysis.consistency.iter().find(|c| c.form == m.name())?));
    let curves: Vec<_> = Method::ALL.into_iter().filter_map(curve).collect();
    let title = "Consistency: B̄/(ΔB) as Δ → 0, A = -1";
    let draw = move |canvas: &Canvas| draw_consistency(canvas, &curves);
    results.analysis.consistency.first().map(|_| Sheet::new("consistency", "", title, 380.0, draw))
}

fn draw_consistency(canvas: &Canvas, curves: &[(Method, &ConsistencyCurve)]) {
    let methods: Vec<Method> = curves.iter().map(|(method, _)| *method).collect();
    lines::methods(canvas, &methods, (64.0, 42.0), true);
    let deltas = || curves.iter().flat_map(|(_, c)| &c.delta).copied();
    let ratios = curves.iter().flat_map(|(_, c)| &c.b_bar_over_delta).copied();
    let y = (330.0, 82.0);
    let panels = [
        ("B̄/(ΔB) (no unit)", 66.0, Axis::around(ratios.chain([0.0, 1.1]), y)),
        ("|B̄/(ΔB) − 1| (no unit)", 470.0, Axis::decades([1e-6, 1.0].into_iter(), y)),
    ];
    for (i, (label, left, y)) in panels.into_iter().enumerate() {
        let panel = Panel { x: Axis::decades(deltas(), (left, left + 314.0)), y };
        panel.draw(canvas, (6, 7));
        if i == 0 {
            let limit = panel.y.place(1.0);
            canvas.dashed(&[(left, limit), (left + 314.0, limit)], palette::FAINT, 1.25, palette::DASHES);
        }
        for (method, curve) in curves {
            let value = |ratio: &f64| if i == 0 { *ratio } else { (ratio - 1.0).abs() };
            let values = curve.b_bar_over_delta.iter().map(value);
            let points: Vec<Point> = curve.delta.iter().copied().zip(values).collect();
            lines::marked(canvas, &panel, &points, palette::look(*method));
        }
        panel.name_axes(canvas, ("Δ (units of time)", 30.0), (label, 50.0));
    }
}

/// Which of a curve's values a panel shows.
type CurveValues = fn(&MethodCurve) -> &[f64];

const MAGNITUDES: [(&str, f64, CurveValues); 2] = [
    ("|Ā| (no unit)", 66.0, |c| &c.a_bar_abs),
    ("|B̄/Δ| (in units of B)", 468.0, |c| &c.b_bar_over_delta_abs),
];

/// |Ā| and |B̄/Δ| of the methods against |z|, from the truth: one picture per weight type and A.
pub fn magnitudes(results: &Results) -> Vec<Sheet<'_>> {
    let mut groups = groups::by_key(&results.curves, |curve| (curve.weights, &*curve.a));
    groups.sort_by_key(|((weights, _), _)| *weights);
    let mut sheets: Vec<Sheet> = Vec::new();
    for ((weights, a), curves) in groups {
        let of_weights = format!("magnitudes-{weights}");
        let taken = sheets.iter().filter(|sheet| sheet.name.starts_with(&of_weights)).count();
        let which = if taken == 0 { weights.to_string() } else { format!("{weights}-{}", taken + 1) };
        let title = format!("|Ā| and |B̄/Δ| of the methods against |z|, {weights} weights, A = {a}, B = 1");
        sheets.push(Sheet::new("magnitudes", which, title, 394.0, move |canvas| {
            draw_magnitudes(canvas, &curves)
        }));
    }
    sheets
}

fn draw_magnitudes(canvas: &Canvas, curves: &[&MethodCurve]) {
    let methods: Vec<_> = curves.iter().map(|c| c.method).collect();
    lines::methods(canvas, &methods, (64.0, 42.0), true);
    for (label, left, values) in MAGNITUDES {
        let all = curves.iter().flat_map(|c| values(c)).copied();
        let steps = curves.iter().flat_map(|c| &c.z_abs).copied();
        let panel = Panel {
            x: Axis::decades(steps, (left, left + 318.0)).within(1e-12, 1e6),
            // Beyond these limits nothing is left, or nothing can be compared.
            y: Axis::decades(all.chain([1.0]), (346.0, 66.0)).within(1e-6, 1e6),
        };
        panel.draw(canvas, (7, 8));
        for (i, curve) in curves.iter().enumerate() {
            let points = lines::points(&curve.z_abs, values(curve));
            lines::line(canvas, &panel, &points, palette::look(curve.method), i);
        }
        panel.name_axes(canvas, ("|z| = |ΔA| (no unit)", 30.0), (label, 48.0));
    }
}

/// Where |Ā(z)| ≤ 1: one panel for each different Ā.
pub fn stability(results: &Results) -> Option<Sheet<'_>> {
    let kinds = groups::by_key(&results.analysis.stability, |region| &region.forms);
    kinds.first()?;
    let title = "Stability regions: |Ā(z)| ≤ 1 in the plane of z = ΔA";
    Some(Sheet::new("stability", "", title, 360.0, move |canvas| draw_stability(canvas, &kinds)))
}

fn draw_stability(canvas: &Canvas, kinds: &[(&Vec<String>, Vec<&StabilityRegion>)]) {
    let (stable, halved) = (palette::heat(0.33).0, palette::heat(0.62).0);
    for (colour, label, x) in [(stable, "|Ā| ≤ 1", 60.0), (halved, "|Ā| ≤ ½", 150.0)] {
        canvas.rectangle((x, 33.0), (x + 20.0, 47.0), colour);
        canvas.entry(label, (x + 26.0, 40.0));
    }
    for (i, (forms, kind)) in kinds.iter().take(3).enumerate() {
        let (left, top) = (56.0 + i as f64 * 254.0, 84.0);
        let (right, bottom) = (left + 224.0, top + 224.0);
        let [re, im] = [kind[0].re, kind[0].im];
        let panel = Panel {
            x: Axis::between(re[0], re[1], (left, right)),
            y: Axis::between(im[0], im[1], (bottom, top)),
        };
        for region in kind {
            shade(canvas, &panel, region, if region.bound < 1.0 { halved } else { stable });
        }
        panel.draw(canvas, (8, 8));
        for line in [[(0.0, im[0]), (0.0, im[1])], [(re[0], 0.0), (re[1], 0.0)]] {
            canvas.line(&line.map(|p| panel.place(p)), palette::FAINT, 1.0);
        }
        let heading = text::fit(&forms.join(", "), 40);
        canvas.bold(&heading, (left + 2.0, top - 12.0), 11.0, palette::INK, Anchor::Start);
        canvas.label("Re z (no unit)", ((left + right) / 2.0, bottom + 28.0));
        if i == 0 {
            canvas.upright("Im z (no unit)", (left - 34.0, (top + bottom) / 2.0));
        }
    }
}

/// Fills the region: rows with as many intervals each make one shape for each interval, which ends in a point beyond
/// its last row where the next one has fewer.
fn shade(canvas: &Canvas, panel: &Panel, region: &StabilityRegion, colour: RGBColor) {
    let rows = &region.rows;
    let step = rows.windows(2).map(|pair| pair[1].im - pair[0].im).next().unwrap_or(0.0);
    let mut first = 0usize;
    for run in rows.chunk_by(|a, b| a.intervals.len() == b.intervals.len()) {
        let (before, after) = (first.checked_sub(1).map(|i| &rows[i]), rows.get(first + run.len()));
        first += run.len();
        for k in 0..run[0].intervals.len() {
            let apex = |neighbour: Option<&StabilityRow>, end: &StabilityRow, away: f64| -> Option<Point> {
                let [from, to] = end.intervals[k];
                neighbour.filter(|n| n.intervals.len() < end.intervals.len())?;
                Some(((from + to) / 2.0, end.im + away))
            };
            let mut corners: Vec<Point> = run.iter().map(|row| (row.intervals[k][0], row.im)).collect();
            corners.extend(apex(after, &run[run.len() - 1], step / 2.0));
            corners.extend(run.iter().rev().map(|row| (row.intervals[k][1], row.im)));
            corners.extend(apex(before, &run[0], -step / 2.0));
            let places: Vec<Point> = corners.into_iter().map(|p| panel.place(p)).collect();
            canvas.polygon(&places, colour);
        }
    }
}

/// Where the panels of responses end below and above.
const RESPONSES: (f64, f64) = (350.0, 82.0);

/// Which of a response's values a panel shows.
type ResponseValues = fn(&FrequencyResponse) -> &[f64];

/// How the methods answer a sine, beside the continuous system: one picture per system, magnitude and phase.
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
    let magnitude = Axis::decades(magnitudes, RESPONSES).within(1e-6, 1e6);
    // With room for lines at ±180°, which the frame would cover.
    let phase = Axis::between(-195.0, 195.0, RESPONSES);
    let panels: [(&str, f64, Axis, ResponseValues); 2] = [
        ("|H(ω)| (units of y per unit of u)", 66.0, magnitude, |r| &r.magnitude),
        ("phase of H(ω) / degrees", 470.0, phase, |r| &r.phase),
    ];
    for (i, (label, left, y, values)) in panels.into_iter().enumerate() {
        let panel = Panel { x: Axis::between(0.0, highest, (left, left + 314.0)), y };
        panel.draw(canvas, (7, if i == 0 { 6 } else { 8 }));
        for response in responses {
            let points = lines::points(&response.omega, values(response));
            // A phase that passes 180° goes on at −180°: no line across.
            for part in points.chunk_by(|a, b| i == 0 || (a.1 - b.1).abs() < 180.0) {
                one(canvas, &panel, &response.form, part);
            }
        }
        panel.name_axes(canvas, ("ω (radians per unit of time)", 30.0), (label, 48.0));
    }
}

/// How they answer a step: one picture, a panel per system.
pub fn step(results: &Results) -> Option<Sheet<'_>> {
    let responses = &results.analysis.step;
    let title = format!("Step responses, Δ = {}", responses.first()?.delta);
    Some(Sheet::new("step", "", title, 400.0, move |canvas| draw_step(canvas, responses)))
}

fn draw_step(canvas: &Canvas, responses: &[StepResponse]) {
    heading(canvas);
    let (bottom, top) = RESPONSES;
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
            one(canvas, &panel, &response.form, &lines::points(&response.time, &response.output));
        }
        canvas.heading(system.name, (left + 2.0, top + 8.0));
        let whole = Panel { y: Axis::linear(1.0, RESPONSES), ..panel };
        whole.name_axes(canvas, ("t (units of time)", 30.0), ("y (units of C·x)", 48.0));
    }
}

fn heading(canvas: &Canvas) {
    lines::methods(canvas, &Method::ALL, (64.0, 42.0), true);
    continuous(canvas, &[(64.0, 62.0), (98.0, 62.0)]);
    canvas.entry("continuous system", (103.0, 62.0));
}

/// Broad and grey.
fn continuous(canvas: &Canvas, line: &[Point]) {
    canvas.line(line, palette::SHADOW, 7.0);
    canvas.line(line, palette::FAINT, 1.0);
}

/// The continuous system in its own way, a method as everywhere.
fn one(canvas: &Canvas, panel: &Panel, form: &str, points: &[Point]) {
    if form == CONTINUOUS {
        let line: Vec<Point> = points.iter().filter(|p| !p.1.is_nan()).map(|p| panel.place(*p)).collect();
        if line.len() > 1 {
            continuous(canvas, &line);
        }
    } else if let Ok(method) = form.parse::<Method>() {
        lines::line(canvas, panel, points, palette::look(method), method as usize);
    }
}
