//! What the recurrences of [`super`] allow, as plain numbers: for the same walk on another device.

use super::readout::ReadoutRoundings;
use super::states::Channel;
use super::{GENERIC, LAMBDA};
use crate::judge::model::NARROW;
use crate::judge::{quick, sums};
use crate::problem::Stage;
use crate::promise::allowance::{self, Arithmetic};

/// Of all channels of a run: each depends on form, contract, sizes and statements alone.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub arithmetic: Arithmetic,
    /// That of the scan, with the roundings of states.
    pub of_states: Arithmetic,
    /// The relative error of a product of the scan.
    pub state_product: f64,
    /// Sums of a step beside the one with Ā x.
    pub further_sums: f64,
    /// What a step's product and sums multiply an error by.
    pub growth: f64,
    pub z_error: f64,
    /// The contract's own units of Ā and of B̄, relative.
    pub a_units: f64,
    pub b_units: f64,
    /// Of forming b from B̄ and u: relative, and where a product underflows.
    pub input_error: f64,
    pub input_underflow: f64,
    pub applies_b_apart: bool,
    /// Of the sums of φ-functions and powers: a product, and the terms of φ₃'s series.
    pub product: f64,
    pub series: [f64; 16],
    /// The most joins that a term passes.
    pub joins: f64,
    pub readout_product: f64,
    pub readout: ReadoutRoundings,
    /// What y is of Re Σ C x.
    pub scale: f64,
    /// As if nothing repeated.
    pub repeats: f64,
    pub lambda: f64,
    pub generic: f64,
    /// From this relative error of Δ on its square counts.
    pub narrow: f64,
    /// r/E, and the largest share of a bound that r may be ([`quick`]).
    pub radius: f64,
    pub most: f64,
}

impl Numbers {
    pub(super) fn new(channel: Channel) -> Self {
        let Channel { form, problem, contract, seqlen, .. } = channel;
        let (arithmetic, weights) = (contract.arithmetic, problem.weights);
        let [du, state] = [Stage::Du, Stage::State].map(|stage| arithmetic.stages.rounding(stage));
        let of_states = arithmetic.of_states();
        let (u, mu) = (of_states.unit, of_states.product(weights));
        let (further_sums, directions) = (channel.further_sums(), channel.directions());
        Numbers {
            arithmetic,
            of_states,
            state_product: mu,
            further_sums,
            growth: (1.0 + mu) * (1.0 + u * (1.0 + further_sums * (1.0 + u))),
            z_error: contract.z_error(&form.formula()),
            a_units: contract.a_bar_error(form, weights),
            b_units: contract.b_bar_error(form, weights),
            input_error: contract.input_error(weights) + 2.0 * du.unit + state.unit,
            input_underflow: arithmetic.underflow + du.underflow + state.underflow,
            applies_b_apart: contract.applies_b_apart(),
            product: arithmetic.product(weights),
            series: sums::series(arithmetic, weights),
            joins: allowance::scan_joins(seqlen),
            readout_product: channel.readout_product(),
            readout: ReadoutRoundings::count(problem, directions, arithmetic),
            scale: problem.output_factor() / directions,
            repeats: directions,
            lambda: LAMBDA,
            generic: GENERIC,
            narrow: NARROW,
            radius: quick::RADIUS,
            most: quick::MOST,
        }
    }
}
