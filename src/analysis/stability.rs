//! Where one step does not amplify the state: |Ā(z)| ≤ 1.

use super::{StabilityRegion, StabilityRow, solved};
use crate::formula::{Form, Textbook};
use crate::method::Method;
use crate::problem::{CoefficientProblem, Weights};
use crate::truth::TruthError;

/// The part of the plane: Re z, and Im z of its upper half; the lower half mirrors it.
const RE: [f32; 2] = [-5.0, 3.0];
const IM: f32 = 4.0;
/// Distance of the points that are looked at, along the rows, and of the rows.
const GRID: f32 = 0.125;
const ROWS: f32 = 0.0625;
/// The stable region, and within it what halves the state at least.
const BOUNDS: [f64; 2] = [1.0, 0.5];

/// The three different Ā: eᶻ, bilinear's, and that of the classical Runge–Kutta method.
pub fn measure() -> Result<Vec<StabilityRegion>, TruthError> {
    let mut kinds: Vec<(Form, Vec<&str>)> = Vec::new();
    for method in Method::ALL {
        match kinds.iter_mut().find(|(form, _)| form.formula().a_bar == method.formula().a_bar) {
            Some((_, names)) => names.push(method.name()),
            None => kinds.push((method.into(), vec![method.name()])),
        }
    }
    kinds.push((Textbook::Rk4Classical.into(), vec![Textbook::Rk4Classical.name()]));
    let mut regions = Vec::new();
    for (form, names) in kinds {
        let rows = magnitudes(form)?;
        for bound in BOUNDS {
            let row = |(im, row): &GridLine| StabilityRow { im: *im, intervals: within(row, bound) };
            regions.push(StabilityRegion {
                forms: names.iter().map(|&name| name.to_owned()).collect(),
                re: RE.map(f64::from),
                im: [-IM, IM].map(f64::from),
                bound,
                rows: rows.iter().map(row).collect(),
            });
        }
    }
    Ok(regions)
}

/// Im z, and (Re z, |Ā|) along that line.
type GridLine = (f64, Vec<(f64, f64)>);

/// Lines of both halves in ascending order.
fn magnitudes(form: Form) -> Result<Vec<GridLine>, TruthError> {
    let columns = ((RE[1] - RE[0]) / GRID) as usize;
    let lines = (IM / ROWS) as usize;
    // Between the lines of the grid: bilinear's pole and zero lie on them.
    let re: Vec<f32> = (0..columns).map(|i| RE[0] + GRID * (i as f32 + 0.5)).collect();
    let im: Vec<f32> = (0..=lines).map(|i| ROWS * i as f32).collect();
    let a: Vec<f32> = im.iter().flat_map(|&im| re.iter().flat_map(move |&re| [re, im])).collect();
    let n = a.len() / 2;
    let problem =
        CoefficientProblem { weights: Weights::Complex, delta: vec![1.0; n], a, b: [1.0, 0.0].repeat(n) };
    let steps = solved(form, &problem)?;
    let row = |i: usize| -> Vec<(f64, f64)> {
        let steps = &steps[i * columns..(i + 1) * columns];
        re.iter().zip(steps).map(|(&re, step)| (f64::from(re), step.a.norm())).collect()
    };
    let below = (1..=lines).rev().map(|i| (-f64::from(im[i]), row(i)));
    Ok(below.chain((0..=lines).map(|i| (f64::from(im[i]), row(i)))).collect())
}

/// The intervals in which |Ā| ≤ bound; crossings between two points by interpolation of log |Ā|, exact for eᶻ. The
/// outermost points stand for the edges.
fn within(row: &[(f64, f64)], bound: f64) -> Vec<[f64; 2]> {
    let excess: Vec<(f64, f64)> = row.iter().map(|&(re, norm)| (re, (norm / bound).ln())).collect();
    let mut intervals: Vec<[f64; 2]> = Vec::new();
    let mut start = excess.first().filter(|p| p.1 <= 0.0).map(|_| f64::from(RE[0]));
    for pair in excess.windows(2) {
        let [(x, fx), (y, fy)] = [pair[0], pair[1]];
        if (fx <= 0.0) != (fy <= 0.0) {
            let crossing = x + (y - x) * fx / (fx - fy);
            match start.take() {
                Some(from) => intervals.push([from, crossing]),
                None => start = Some(crossing),
            }
        }
    }
    intervals.extend(start.map(|from| [from, f64::from(RE[1])]));
    intervals
}
