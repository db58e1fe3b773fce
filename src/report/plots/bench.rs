//! Benchmarks: against what a device can do, method beside method, and how times grow.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, lines, palette};
use crate::method::Method;
use crate::report::bench::seconds;
use crate::report::text;
use crate::results::Results;
use crate::results::bench::{Machine, Peaks, Scaling, Timed, scalings};

/// The methods that were timed.
fn methods(results: &Results) -> Vec<Method> {
    let timed = |method: &Method| results.bench.iter().any(|t| t.scan.is_some_and(|s| s.method == *method));
    Method::ALL.into_iter().filter(timed).collect()
}

/// Every scan under the roof of its device: one panel for each.
pub fn roofline(results: &Results) -> Option<Sheet<'_>> {
    let of = |machine: &&Machine| machine.peaks.is_some() && !points(results, machine).is_empty();
    let machines: Vec<&Machine> = results.machines.iter().filter(of).collect();
    machines.first()?;
    let height = 62.0 + machines.len() as f64 * 330.0;
    let draw = move |canvas: &Canvas| {
        lines::methods(canvas, &methods(results), (60.0, 40.0), false);
        for (i, machine) in machines.iter().enumerate() {
            let top = 82.0 + i as f64 * 330.0;
            if let Some(peaks) = machine.peaks {
                roof(canvas, results, machine, peaks, (80.0, top));
            }
        }
    };
    Some(Sheet::new("roofline", "", "What each scan reached of what its device can do", height, draw))
}

/// The scans of a machine: flops for each byte, and flops a second.
fn points<'a>(results: &'a Results, machine: &Machine) -> Vec<(&'a Timed, Point)> {
    let of = |timed: &'a Timed| {
        let rates = timed.rates(&results.machines)?;
        let there = timed.scan.is_some() && timed.backend == machine.backend && timed.cost.bytes > 0.0;
        there.then(|| (timed, (timed.cost.flops / timed.cost.bytes, rates.flops)))
    };
    results.bench.iter().filter_map(of).collect()
}

fn roof(canvas: &Canvas, results: &Results, machine: &Machine, peaks: Peaks, (left, top): Point) {
    let points = points(results, machine);
    let ridge = peaks.fused / peaks.copy;
    let x = points.iter().map(|(_, at)| at.0).chain([ridge / 3.0, ridge * 3.0]);
    let y = points.iter().map(|(_, at)| at.1).chain([peaks.fused]);
    let panel = Panel { x: Axis::decades(x, (left, 780.0)), y: Axis::decades(y, (top + 250.0, top)) };
    panel.draw(canvas, (6, 6));
    let title = format!("{}: {}", machine.backend, machine.device);
    canvas.heading(&text::fit(&title, 90), (left, top - 12.0));
    let at = |x: f64| panel.place((x, (x * peaks.copy).min(peaks.fused)));
    // Where memory's roof enters the panel from below.
    let from = panel.x.low.max(panel.y.low / peaks.copy);
    let bend = ridge.clamp(panel.x.low, panel.x.high);
    canvas.line(&[at(from), at(bend), at(panel.x.high)], palette::LIMIT, 2.0);
    for (timed, point) in points {
        let Some(scan) = timed.scan else { continue };
        let look = palette::look(scan.method);
        let place = panel.place(point);
        // Gradients are larger marks.
        let size = if timed.work.is_backward() { 6.5 } else { 4.0 };
        canvas.marker(look.marker, place, size, look.colour);
        let rates = timed.rates(&results.machines).and_then(|rates| rates.roofline).unwrap_or(f64::NAN);
        let share = format!("{:.0} % of the roofline", 100.0 * rates);
        canvas.note(place, format!("{} {}, {}: {share}", scan.method, timed.work, scan.shape));
    }
    panel.name_axes(canvas, ("flops for each byte that must move", 30.0), ("flop/s", 52.0));
}

/// Whose outputs were judged: error over bound against time, a panel for each method. Who is below and to the left of everybody else
/// is on the front.
pub fn front(results: &Results) -> Option<Sheet<'_>> {
    let judged: Vec<&Timed> =
        results.bench.iter().filter(|timed| timed.share.is_some() && timed.warm.is_some()).collect();
    let timed = methods(results);
    let with = |method: &&Method| judged.iter().any(|t| t.scan.is_some_and(|s| s.method == **method));
    let timed: Vec<Method> = timed.iter().filter(with).copied().collect();
    timed.first()?;
    let height = 46.0 + timed.len().div_ceil(3) as f64 * 210.0;
    let draw = move |canvas: &Canvas| {
        for (i, method) in timed.iter().enumerate() {
            let of: Vec<&Timed> =
                judged.iter().filter(|t| t.scan.is_some_and(|s| s.method == *method)).copied().collect();
            compared(canvas, *method, &of, (62.0 + (i % 3) as f64 * 252.0, 60.0 + (i / 3) as f64 * 210.0));
        }
    };
    Some(Sheet::new("front", "", "Error against time, of all who computed the same", height, draw))
}

fn compared(canvas: &Canvas, method: Method, all: &[&Timed], (left, top): Point) {
    let (right, bottom) = (left + 190.0, top + 130.0);
    let place = |timed: &Timed| {
        (timed.warm.map_or(f64::NAN, |warm| warm.median * 1e3), timed.share.unwrap_or(f64::NAN))
    };
    let panel = Panel {
        x: Axis::decades(all.iter().map(|timed| place(timed).0), (left, right)),
        y: Axis::decades(all.iter().map(|timed| place(timed).1).chain([1.0]), (bottom, top)),
    };
    panel.draw(canvas, (4, 4));
    canvas.bold(method.name(), (left, top - 9.0), 11.5, palette::INK, Anchor::Start);
    let bound = [panel.place((panel.x.low, 1.0)), panel.place((panel.x.high, 1.0))];
    canvas.dashed(&bound, palette::LIMIT, 1.5, palette::DASHES);
    let look = palette::look(method);
    for timed in all {
        let at = panel.place(place(timed));
        canvas.marker(look.marker, at, 4.0, look.colour);
        // Names lie towards the middle.
        let (anchor, off) =
            if at.0 > (left + right) / 2.0 { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
        canvas.text(&timed.backend, (at.0 + off, at.1), 10.5, palette::INK, anchor);
        let said = format!("{}: error/bound {}", timed.id, text::share(place(timed).1));
        canvas.note(at, said);
    }
    panel.name_axes(canvas, ("ms", 26.0), ("error / bound", 42.0));
}

/// Bars of one table of timings.
const BAR: f64 = 16.0;

/// A bar for each method, a panel for each shape, pass and backend.
pub fn times(results: &Results) -> Option<Sheet<'_>> {
    let scans = results.bench.iter().filter(|timed| timed.scan.is_some() && timed.warm.is_some());
    let mut groups: Vec<Vec<&Timed>> = Vec::new();
    for timed in scans {
        let same =
            |group: &&mut Vec<&Timed>| group[0].group() == timed.group() && group[0].backend == timed.backend;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(timed),
            None => groups.push(vec![timed]),
        }
    }
    // More would be a wall: the tables have the rest.
    groups.truncate(12);
    groups.first()?;
    let row = |pair: &[Vec<&Timed>]| pair.iter().map(Vec::len).max().unwrap_or(0) as f64 * BAR + 48.0;
    let height = 40.0 + groups.chunks(2).map(row).sum::<f64>();
    let draw = move |canvas: &Canvas| {
        let mut top = 40.0;
        for pair in groups.chunks(2) {
            for (i, group) in pair.iter().enumerate() {
                bars(canvas, group, (90.0 + i as f64 * 395.0, top));
            }
            top += row(pair);
        }
    };
    Some(Sheet::new("times", "", "How long each method takes", height, draw))
}

fn bars(canvas: &Canvas, group: &[&Timed], (left, top): Point) {
    let Some(scan) = group[0].scan else { return };
    let title =
        format!("{}, {} {}, {}, {}", group[0].work, scan.weights, scan.input, scan.shape, group[0].backend);
    canvas.heading(&text::fit(&title, 56), (left - 78.0, top + 8.0));
    let end = |timed: &Timed| {
        let warm = timed.warm.map_or(0.0, |warm| warm.range()[1]);
        timed.cold.map_or(warm, |cold| cold.median.max(warm))
    };
    let most = group.iter().map(|timed| end(timed)).fold(0.0, f64::max);
    let axis = Axis::linear(most, (left, left + 210.0));
    for (i, timed) in group.iter().enumerate() {
        let (Some(scan), Some(warm)) = (timed.scan, timed.warm) else { continue };
        let look = palette::look(scan.method);
        let y = top + 26.0 + i as f64 * BAR;
        let (low, high) = (y - 5.0, y + 5.0);
        canvas.text(scan.method.name(), (left - 8.0, y), 11.0, palette::INK, Anchor::End);
        canvas.rectangle((left, low), (axis.place(warm.median), high), look.colour);
        if let Some(cold) = timed.cold {
            let at = axis.place(cold.median);
            canvas.line(&[(at, low - 2.0), (at, high + 2.0)], palette::INK, 1.5);
        }
        let [from, to] = warm.range().map(|time| axis.place(time));
        canvas.line(&[(from, y), (to, y)], palette::INK, 1.5);
        canvas.text(
            &seconds(warm.median),
            (axis.place(end(timed)) + 6.0, y),
            11.0,
            palette::INK,
            Anchor::Start,
        );
        canvas.note(
            (left + 4.0, y),
            format!("{} {}: {} (warm)", scan.method, timed.work, seconds(warm.median)),
        );
    }
    let bottom = top + 18.0 + group.len() as f64 * BAR;
    canvas.line(&[(left, top + 18.0), (left, bottom)], palette::FAINT, 1.0);
}

/// Times over one size of the shape, a panel for each size, pass and backend.
pub fn scaling(results: &Results) -> Option<Sheet<'static>> {
    let mut panels: Vec<Vec<Scaling>> = Vec::new();
    for one in scalings(&results.bench) {
        let same = |panel: &&mut Vec<Scaling>| {
            let first = &panel[0];
            (first.size, first.work, first.weights, first.input, &first.backend)
                == (one.size, one.work, one.weights, one.input, &one.backend)
        };
        match panels.iter_mut().find(same) {
            Some(panel) => panel.push(one),
            None => panels.push(vec![one]),
        }
    }
    panels.first()?;
    let timed = methods(results);
    let height = 66.0 + panels.len().div_ceil(3) as f64 * 190.0;
    let draw = move |canvas: &Canvas| {
        lines::methods(canvas, &timed, (60.0, 40.0), true);
        for (i, panel) in panels.iter().enumerate() {
            grown(canvas, panel, (62.0 + (i % 3) as f64 * 252.0, 84.0 + (i / 3) as f64 * 190.0));
        }
    };
    Some(Sheet::new("scaling", "", "How times grow with each size of the shape", height, draw))
}

fn grown(canvas: &Canvas, all: &[Scaling], (left, top): Point) {
    let first = &all[0];
    let points = || all.iter().flat_map(|one| &one.points);
    let (right, bottom) = (left + 190.0, top + 110.0);
    let ends = points().fold((f64::INFINITY, 0.0f64), |(l, h), p| (l.min(p.0), h.max(p.0)));
    // Sizes are few, and doubled: each has its own tick.
    let x = Axis { scale: super::axis::Scale::Log, low: ends.0, high: ends.1, start: left, end: right };
    let panel = Panel { x, y: Axis::decades(points().map(|p| p.1 * 1e3), (bottom, top)) };
    let sizes: Vec<f64> = first.points.iter().map(|point| point.0).collect();
    for (value, label) in panel.y.ticks(4) {
        let y = panel.y.place(value);
        canvas.line(&[(left, y), (right, y)], palette::GRID, 0.75);
        canvas.text(&label, (left - 5.0, y), 11.0, palette::INK, Anchor::End);
    }
    for size in &sizes {
        let at = panel.x.place(*size);
        canvas.line(&[(at, top), (at, bottom)], palette::GRID, 0.75);
    }
    panel.label_x(canvas, sizes.iter().map(|size| (*size, size.to_string())).collect());
    for (place, one) in all.iter().enumerate() {
        let line: Vec<Point> = one.points.iter().map(|point| (point.0, point.1 * 1e3)).collect();
        lines::line(canvas, &panel, &line, palette::look(one.method), place);
        if let Some(&end) = line.last() {
            canvas.note(panel.place(end), format!("{}: time ~ {}^{:.2}", one.method, one.size, one.exponent));
        }
    }
    let title = format!("{} on {}, by {}", first.work, first.backend, first.size);
    canvas.bold(&title, (left, top - 9.0), 11.5, palette::INK, Anchor::Start);
    panel.name_axes(canvas, (first.size, 26.0), ("ms", 42.0));
    canvas.frame((left, top), (right, bottom), palette::FAINT, 1.0);
}
