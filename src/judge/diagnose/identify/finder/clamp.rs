//! Two free numbers at once: the limits of a clamp on Δ.

use super::{SOON_LEFT, families};
use crate::judge::diagnose::identify::changes::{Change, Part};
use crate::judge::diagnose::identify::looks::Look;
use crate::judge::diagnose::identify::{Case, numbers};
use crate::judge::faults::variant::{Clamp, Variant};
use crate::parallel;
use crate::sorted;

/// Points of the grid that are refined, steps of each, and how far a derivative looks.
const STARTS: usize = 4;
const STEPS: usize = 20;
const STEP: f64 = 1e-7;
/// What the best point of the grid may leave of the distance, squared: a grid of two numbers has fewer of each.
const NEXT_TO: f64 = 0.5;
/// The first steps.
const SOON: usize = 6;

/// Both limits of a clamp on Δ.
pub fn find(case: &Case, looks: &[Look], variant: &Variant) -> Option<Change> {
    let limits =
        families(case, looks, variant).into_iter().find(|family| family.name == "delta-at-most")?.range;
    let with = |low: f64, high: f64| Variant { clamp: Clamp::Between(low, high), ..*variant };
    let distance =
        |low: f64, high: f64| looks.iter().map(|l| l.distance(case, &with(low, high))).sum::<f64>();
    const POINTS: usize = 12;
    let (from, to) = (limits.0.ln(), limits.1.ln());
    let at = |i: usize| from + (to - from) * i as f64 / (POINTS - 1) as f64;
    let pairs = (0..POINTS).flat_map(|i| (i + 1..POINTS).map(move |j| (i, j)));
    let mut grid: Vec<(f64, usize, usize)> = pairs
        .map(|(i, j)| (distance(at(i).exp(), at(j).exp()), i, j))
        .filter(|(d, ..)| d.is_finite())
        .collect();
    sorted::by_number(&mut grid, &|one| one.0);
    // Where a point of the grid is next to the limits, most of what is wrong is gone.
    let without: f64 = looks.iter().map(|look| look.distance(case, variant)).sum();
    if grid.first().is_none_or(|best| best.0 > NEXT_TO * without) {
        return None;
    }
    let errors = |low: f64, high: f64| -> Vec<f64> {
        looks.iter().flat_map(|look| look.errors(case, &with(low.exp(), high.exp()))).collect()
    };
    // Gauss and Newton's steps, halved where they lead away.
    let refined = |&(start, i, j): &(f64, usize, usize)| {
        let (mut low, mut high, mut best) = (at(i), at(j), start);
        for step in 0..STEPS {
            if step == SOON && best > SOON_LEFT * start {
                break;
            }
            let here = errors(low, high);
            let [by_low, by_high] = [errors(low + STEP, high), errors(low, high + STEP)];
            let (mut ll, mut lh, mut hh, mut l, mut h) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for ((error, a), b) in here.iter().zip(&by_low).zip(&by_high) {
                let (a, b) = ((a - error) / STEP, (b - error) / STEP);
                (ll, lh, hh, l, h) = (ll + a * a, lh + a * b, hh + b * b, l + a * error, h + b * error);
            }
            // What has no effect stays where it is.
            let (ll, hh) = (ll.max(f64::MIN_POSITIVE), hh.max(f64::MIN_POSITIVE));
            let determinant = (ll * hh - lh * lh).max(1e-12 * ll * hh);
            let (step_low, step_high) = ((l * hh - h * lh) / determinant, (h * ll - l * lh) / determinant);
            let nearer = (0..12).map(|halvings| 0.5f64.powi(halvings)).find_map(|part| {
                let (low, high) = (low - part * step_low, high - part * step_high);
                let there = distance(low.exp(), high.exp());
                (there < best).then_some((low, high, there))
            });
            let Some(nearer) = nearer else { break };
            (low, high, best) = nearer;
        }
        (best, low, high)
    };
    let starts = &grid[..grid.len().min(STARTS)];
    let (_, low, high) = parallel::map(starts, &refined).into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let states = case.problem.shape.dstate;
    let (lows, highs) = (numbers::near(low.exp(), 1e-2, states), numbers::near(high.exp(), 1e-2, states));
    for low in &lows {
        for high in &highs {
            let changed = with(low.value, high.value);
            if low.value < high.value && looks.iter().all(|look| !look.refutes(case, &changed)) {
                let what = format!("Δ is clamped to [{}, {}]", low.text, high.text);
                let clamp = Clamp::Between(low.value, high.value);
                return Some(Change::new(Part::Clamp, "delta-clamped", what, move |v: &mut Variant| {
                    v.clamp = clamp
                }));
            }
        }
    }
    None
}
