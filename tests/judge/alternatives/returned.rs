//! What is returned of a plain scan: outputs with skip and gate, and last states.

use holdfast::judge::faults::around::{Delay, Gated, Limited, Residual, Stage};
use holdfast::judge::faults::place::Input;
use holdfast::judge::faults::variant::{BUse, Directions, LastState, Variant};
use holdfast::problem::Problem;
use num_complex::Complex64;

use super::functions::{cut_off, finish, gate, limited, of_complex, rounded};
use super::plain::{Ends, Result, Scan, batch_and_channel, counted, late, readout_of};
use super::reading::Reading;

/// The outputs of a channel.
pub fn outputs(reading: Reading, forward: &Scan, reversed: Option<&Scan>) -> Result<Vec<f64>> {
    let (variant, problem) = (reading.variant, reading.problem);
    let y_forward = readout_of(forward, problem);
    let y_reversed = reversed.map_or(vec![0.0; y_forward.len()], |scan| readout_of(scan, problem));
    let is_two = reversed.is_some();
    let mut out = with_skip_and_gate(reading, (&y_forward, &y_reversed), forward.used.deltas(), is_two);
    if let Some((elsewhere, used)) = &forward.elsewhere {
        let other = Reading { variant: elsewhere, ..reading };
        let right = with_skip_and_gate(other, (&y_forward, &y_reversed), used.deltas(), is_two);
        (0..out.len()).filter(|l| !variant.only.has_output(*l)).for_each(|l| out[l] = right[l]);
    }
    if let Delay::Output(by) = variant.delay {
        let moved = late(&out, by as isize);
        (0..out.len()).filter(|l| variant.only.has_output(*l)).for_each(|l| out[l] = moved[l]);
    }
    if variant.store_truncated {
        out.iter_mut().for_each(|value| *value = cut_off(problem.input, *value));
    }
    Ok(out)
}

/// What is returned at each position, but for what is late, of what is read of both scans.
fn with_skip_and_gate(reading: Reading, y: (&[f64], &[f64]), deltas: &[f64], is_two: bool) -> Vec<f64> {
    let (variant, problem) = (reading.variant, reading.problem);
    let [of_forward, of_reversed] = match (is_two, variant.directions) {
        (false, _) | (true, Directions::CausalOnly) => [1.0, 0.0],
        (true, Directions::Averaged) => [0.5, 0.5],
        (true, Directions::Summed) => [1.0, 1.0],
        (true, Directions::BackwardOnly) => [0.0, 1.0],
    };
    let limits = |of: Limited, x: f64| limited(variant.limits[of as usize], x.into()).re;
    let u = reading.u_read();
    let u_of_skip = reading.u_used(1, deltas);
    let d = if variant.skip_has_d { reading.of_channel(Input::D, problem.d.as_ref()) } else { 1.0 };
    let overlooked = counted(variant.tail, u.len());
    let mut out = Vec::new();
    for l in 0..u.len() {
        let [first, second] = [of_forward * y.0[l], of_reversed * y.1[l]];
        let read = limits(Limited::Sum, rounded(variant.stages[Stage::Sum as usize], first + second));
        let of_skip = if variant.skip_of_readout { read } else { u_of_skip[l] };
        let mut skip = if problem.d.is_some() { variant.skip * d * of_skip } else { 0.0 };
        if variant.residual == Residual::BeforeGate {
            skip += u[l];
        }
        let z = problem.z.as_ref().map(|z| limits(Limited::Gate, reading.sequence(Input::Z, z, l)));
        let gate = z.map_or(1.0, |z| gate(variant.gate, z, u[l], read + skip));
        let mut value = match variant.gated {
            Gated::All => (read + skip) * gate,
            Gated::ForwardAndSkip => (first + skip) * gate + second,
            Gated::Readout => read * gate + skip,
            Gated::Skip => read + skip * gate,
        };
        if variant.residual == Residual::AfterGate {
            value += u[l];
        }
        out.push(if l < overlooked { finish(variant.finish, value) } else { 0.0 });
    }
    out
}

/// The last states of a channel, in place.
pub fn last_state(reading: Reading, forward: &Scan, reversed: Option<&Scan>) -> Result<Vec<Complex64>> {
    let problem = reading.problem;
    let count = forward.positions.len();
    let without_b = Variant { b_use: BUse::Never, ..*reading.variant };
    let mut all = Vec::new();
    for (n, track) in forward.tracks.iter().enumerate() {
        let right = track.last;
        // The state after so many steps.
        let after = |steps: usize| if steps == 0 { track.start } else { track.states[steps - 1] };
        all.push(match reading.variant.last_state {
            LastState::Right | LastState::Moved(_) | LastState::Transposed => right,
            LastState::WithoutB => {
                let row = reading.batch * problem.shape.dim + reading.channel;
                let of = Reading { variant: &without_b, ..reading };
                Scan::new(of, (None, &without_b), false, row, &Ends::default(), None)?.tracks[n].last
            }
            LastState::ChunkEarly(length) => after((count - 1) / length * length),
            LastState::OfReversed => reversed.ok_or("last_state without a reversed scan")?.tracks[n].last,
            LastState::Doubled => 2.0 * right,
            LastState::Times(factor) => factor * right,
            LastState::Early(by) => after(count.saturating_sub(by)),
            LastState::Padded(more, pad) => {
                let last = forward.at(*forward.positions.last().ok_or("no positions")?);
                let (a, b) = forward.used.padding(n, pad, last)?;
                (0..more).fold(right, |x, _| a * x + b)
            }
            LastState::Within(from, to) => {
                if n >= from && n < to {
                    right
                } else {
                    Complex64::ZERO
                }
            }
            LastState::OfComplex(of) => of_complex(of, right),
            LastState::WithoutInput => track.decayed[count - 1],
        });
    }
    Ok(all)
}

/// Last states of all channels, where they are written.
pub fn moved_states(variant: &Variant, problem: &Problem, all: Vec<Vec<Complex64>>) -> Vec<Complex64> {
    let shape = problem.shape;
    let mut moved = Vec::new();
    for row in 0..all.len() {
        let (batch, channel) = batch_and_channel(problem, row);
        let reading = Reading { variant, problem, batch, channel };
        for n in 0..shape.dstate {
            let at = match variant.last_state {
                LastState::Moved(maps) => {
                    let of = reading
                        .map(maps[0], batch, shape.batch)
                        .zip(reading.map(maps[1], channel, shape.dim));
                    of.zip(reading.map(maps[2], n, shape.dstate)).map(|((b, d), n)| (b * shape.dim + d, n))
                }
                LastState::Transposed => {
                    let flat = channel * shape.dstate + n;
                    Some((batch * shape.dim + flat % shape.dim, flat / shape.dim))
                }
                _ => Some((row, n)),
            };
            moved.push(at.map_or(Complex64::ZERO, |(row, n)| all[row][n]));
        }
    }
    moved
}
