//! What the outputs of a variant are put together of at first positions: changes of different pieces can be made together without
//! running a scan for each.

use num_complex::Complex64;

use super::around::{Flips, Limited, Stage, UUse};
use super::complex::Way;
use super::scan::VariantScan;
use super::variant::{Directions, Readout, Reversed, Sum, Variant};
use super::{quotient, readout, step};
use crate::problem::{InputType, Problem};

/// What the outputs of one channel are made of, at its first positions: gain·Σ C x + offset, where x = Āx + K B u. Numbers of
/// states lie side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Pieces {
    /// What the forward scan starts from, of each state.
    pub initial: Vec<Complex64>,
    pub a_bar: Vec<Complex64>,
    /// B̄ without B.
    pub k: Vec<Complex64>,
    pub b: Vec<Complex64>,
    pub c: Vec<Complex64>,
    pub u: Vec<f64>,
    /// Gain and offset.
    pub epilogue: Vec<(f64, f64)>,
    pub course: Course,
}

/// In which directions a scan runs, and what is read of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub bidirectional: bool,
    pub directions: Directions,
    pub reversed: Reversed,
    pub without_input: bool,
    pub flips: Flips,
}

/// The pieces of a variant; none where it is more than its pieces.
pub fn pieces(variant: &Variant, problem: &Problem, channel: (usize, usize), len: usize) -> Option<Pieces> {
    let right = Variant::specified(variant.a_bar);
    let course = Course {
        bidirectional: variant.bidirectional,
        directions: variant.directions,
        reversed: variant.reversed,
        without_input: variant.without_input,
        flips: variant.flips,
    };
    // All else has to be as specified.
    let mut rest = *variant;
    rest.bidirectional = right.bidirectional;
    (rest.b_bar, rest.transition, rest.exponent) = (right.b_bar, right.transition, right.exponent);
    (rest.grows, rest.skips_zeros) = (right.grows, right.skips_zeros);
    (rest.a_bar_inverse, rest.b_bar_inverse) = (right.a_bar_inverse, right.b_bar_inverse);
    (rest.taylor, rest.other_below, rest.guarded) = (right.taylor, right.other_below, right.guarded);
    (rest.divisions, rest.sum) = (right.divisions, right.sum);
    (rest.step_delta, rest.a_bar_delta, rest.b_bar_delta) =
        (right.step_delta, right.a_bar_delta, right.b_bar_delta);
    (rest.b_use, rest.c_use, rest.a_use) = (right.b_use, right.c_use, right.a_use);
    (rest.a_factor, rest.a_offset) = (right.a_factor, right.a_offset);
    (rest.a_bar_delta_parts, rest.residual) = (right.a_bar_delta_parts, right.residual);
    for way in [Way::B, Way::C, Way::ABar, Way::BBar] {
        rest.ways[way as usize] = right.ways[way as usize];
    }
    (rest.u_use, rest.places, rest.groups) = (right.u_use, right.places, right.groups);
    (rest.input_factor, rest.decays_input) = (right.input_factor, right.decays_input);
    (rest.readout, rest.readout_factor) = (right.readout, right.readout_factor);
    (rest.skip, rest.skip_has_d, rest.skip_of_readout) =
        (right.skip, right.skip_has_d, right.skip_of_readout);
    (rest.gate, rest.gated) = (right.gate, right.gated);
    (rest.step_sizes, rest.clamp, rest.last_state) = (right.step_sizes, right.clamp, right.last_state);
    (rest.directions, rest.reversed, rest.without_input, rest.flips) =
        (right.directions, right.reversed, right.without_input, right.flips);
    (rest.powers, rest.asymptote, rest.partial_sums) = (right.powers, right.asymptote, right.partial_sums);
    rest.quotient_at = right.quotient_at;
    for limited in
        [Limited::U, Limited::Gate, Limited::B, Limited::C, Limited::BBar, Limited::OfABar, Limited::OfBBar]
    {
        rest.limits[limited as usize] = right.limits[limited as usize];
    }
    for stage in [Stage::U, Stage::Delta, Stage::A, Stage::B, Stage::C, Stage::ABar] {
        rest.stages[stage as usize] = InputType::F32;
    }
    // A skip that reads Δ is another one beside another Δ.
    let reads_delta = variant.u_use[1] == UUse::TimesDelta;
    let is_whole = reads_delta || problem.reads_before() || problem.reads_with_b();
    if rest != right || variant.sum == Sum::OuterProducts || is_whole {
        return None;
    }
    let run = VariantScan::new(variant, problem, channel, len);
    let epilogue: Option<Vec<(f64, f64)>> =
        (0..len).map(|l| readout::gain_and_offset(&run.read, l)).collect();
    let (n, epilogue) = (problem.shape.dstate, epilogue?);
    let mut pieces = Pieces {
        initial: (0..n).map(|n| run.initial(n, false).at.value).collect(),
        a_bar: Vec::with_capacity(n * len),
        k: Vec::with_capacity(n * len),
        b: Vec::with_capacity(n * len),
        c: Vec::with_capacity(n * len),
        u: run.read.u[..len].to_vec(),
        epilogue,
        course,
    };
    let turned = if variant.readout == Readout::ImaginaryPart { -Complex64::I } else { Complex64::ONE };
    for l in 0..len {
        let (delta, _) = run.read.steps[1][l];
        for n in 0..n {
            let terms = step::terms(variant, delta, 0.0, run.read.a(1, n));
            let terms = quotient::b_bar(&run.read, terms, n, l);
            if terms.neighbour != Complex64::ZERO {
                return None;
            }
            let a_bar = run.a_bar(n, l).value;
            let decayed = if variant.decays_input { a_bar } else { Complex64::ONE };
            pieces.a_bar.push(a_bar);
            pieces.k.push((terms.first + terms.higher) * variant.input_factor * decayed);
            pieces.b.push(run.read.b(n, l));
            pieces.c.push(run.read.c(n, l) * turned);
        }
    }
    Some(pieces)
}
