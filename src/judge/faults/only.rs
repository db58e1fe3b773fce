//! Where alone something is otherwise: at some positions, in some states, or where Δ, A or ΔA is small or large. Everywhere
//! else all is as specified.

use num_complex::Complex64;

use super::around::{Delay, Guarded, Limited, Stage};
use super::complex::Way;
use super::place::Input;
use super::variant::{Reversed, Variant};
use crate::formula::Form;

/// Where alone what a variant changes holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Only {
    Everywhere,
    /// Where a quantity is below a number.
    Below(Guarded, f64),
    /// Where it is not.
    Above(Guarded, f64),
    Positions(Every),
    /// The same of how states are read alone, beside whatever else is changed everywhere.
    Reads(Every),
    States(Every),
}

/// Some of the indices of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Those that are `at` modulo `length`.
    Of {
        length: usize,
        at: usize,
    },
    From(usize),
    Below(usize),
}

impl Every {
    /// One index alone.
    pub fn one(index: usize) -> Self {
        Every::Of { length: usize::MAX, at: index }
    }

    pub fn has(self, i: usize) -> bool {
        match self {
            Every::Of { length, at } => i % length == at,
            Every::From(first) => i >= first,
            Every::Below(end) => i < end,
        }
    }
}

impl Guarded {
    /// What is asked whether it is small, for a step and an A.
    pub fn of(self, delta: f64, a: Complex64) -> f64 {
        match self {
            Guarded::Z => super::step::modulus(a * delta),
            Guarded::RealPartOfZ => (a.re * delta).abs(),
            Guarded::A => super::step::modulus(a),
            Guarded::Delta => delta.abs(),
        }
    }
}

impl Only {
    /// Whether state n of position l is read as the variant has it.
    #[inline]
    pub fn reads(self, n: usize, l: usize) -> bool {
        match self {
            Only::Positions(every) | Only::Reads(every) => every.has(l),
            Only::States(every) => every.has(n),
            _ => true,
        }
    }

    /// Whether it is about single positions, at which skip and gate are the variant's.
    #[inline]
    pub fn has_output(self, l: usize) -> bool {
        match self {
            Only::Positions(every) | Only::Reads(every) => every.has(l),
            _ => true,
        }
    }

    /// Whether state n of position l, whose specified step and A these are, moves as the variant has it.
    pub fn holds(self, (n, l): (usize, usize), step: impl Fn() -> (f64, Complex64)) -> bool {
        match self {
            Only::Below(guarded, end) => {
                let (delta, a) = step();
                guarded.of(delta, a) < end
            }
            Only::Above(guarded, end) => {
                let (delta, a) = step();
                guarded.of(delta, a) >= end
            }
            Only::Reads(_) => true,
            _ => self.reads(n, l),
        }
    }
}

impl Variant {
    /// With all that is about reading states as specified.
    pub fn reading_right(&self) -> Variant {
        let right = Variant::specified(self.form);
        let mut all = Variant {
            only: Only::Everywhere,
            delay: right.delay,
            without_input: right.without_input,
            // Which Ā it takes is no matter of reading.
            reversed: if self.reversed == Reversed::ABarOffByOne { self.reversed } else { right.reversed },
            readout: right.readout,
            readout_factor: right.readout_factor,
            c_use: right.c_use,
            counts: right.counts,
            groups: [self.groups[0], right.groups[1]],
            ..*self
        };
        all.places[Input::C as usize] = right.places[Input::C as usize];
        for way in [Way::C, Way::Read] {
            all.ways[way as usize] = right.ways[way as usize];
        }
        all
    }

    /// What holds elsewhere: of a form as specified, but for how states are carried, and but for what happens to the sum
    /// of all states where that is not a matter of positions.
    pub fn elsewhere(&self, form: Form) -> Variant {
        let right = Variant::specified(form);
        if matches!(self.only, Only::Reads(_)) {
            return self.reading_right();
        }
        let all = Variant {
            bidirectional: self.bidirectional,
            reverse: self.reverse,
            exchanged: self.exchanged,
            initial: self.initial,
            resets: self.resets,
            chunks: self.chunks,
            tail: self.tail,
            directions: self.directions,
            flips: self.flips,
            state: self.state,
            last_state: self.last_state,
            finish: self.finish,
            store_truncated: self.store_truncated,
            raised: self.raised,
            exponent_sums: self.exponent_sums,
            ..right
        };
        if matches!(self.only, Only::Positions(_)) {
            return all;
        }
        let mut all = all;
        all.places[Input::C as usize] = self.places[Input::C as usize];
        for way in [Way::C, Way::Read] {
            all.ways[way as usize] = self.ways[way as usize];
        }
        (all.c_use, all.groups[1]) = (self.c_use, self.groups[1]);
        if matches!(self.only, Only::States(_)) {
            all = Variant {
                c_use: right.c_use,
                groups: right.groups,
                places: right.places,
                ways: right.ways,
                ..all
            };
        }
        // What follows the sum of all states.
        for input in [Input::Z, Input::D] {
            all.places[input as usize] = self.places[input as usize];
        }
        for limited in [Limited::Gate, Limited::Sum] {
            all.limits[limited as usize] = self.limits[limited as usize];
        }
        all.stages[Stage::Sum as usize] = self.stages[Stage::Sum as usize];
        // Where some states alone are changed, the others are read as specified.
        let (without_input, reversed) = match self.only {
            Only::States(_) => (right.without_input, right.reversed),
            _ => (self.without_input, self.reversed),
        };
        let delay = match (self.only, self.delay) {
            (Only::States(_), Delay::State(_)) => right.delay,
            (_, delay) => delay,
        };
        Variant {
            delay,
            without_input,
            reversed,
            readout: self.readout,
            readout_factor: self.readout_factor,
            counts: if matches!(self.only, Only::States(_)) { right.counts } else { self.counts },
            skip: self.skip,
            skip_of_readout: self.skip_of_readout,
            skip_has_d: self.skip_has_d,
            residual: self.residual,
            gate: self.gate,
            gated: self.gated,
            u_use: [right.u_use[0], self.u_use[1]],
            ..all
        }
    }
}

/// The number of the fewest digits in an interval, its upper end among it.
pub fn roundest(low: f64, high: f64) -> Option<f64> {
    let high = if high.is_finite() { high } else { 10.0 * low };
    if !(high > low && high.is_normal()) {
        return None;
    }
    let first = high.log10().floor() as i32;
    (0..8).find_map(|digits| {
        let unit = 10f64.powi(first - digits);
        let is_in = |k: f64| {
            // As it is typed.
            let value: f64 = format!("{:.*e}", digits.max(0) as usize, k * unit).parse().unwrap_or(k * unit);
            (value > low && value <= high).then_some(value)
        };
        let likely = [1.0, 5.0, 2.0, 10.0, 50.0, 25.0].into_iter().find_map(is_in);
        let (least, most) = ((low / unit).floor() + 1.0, (high / unit).floor());
        likely.or_else(|| if most >= least { is_in(((least + most) / 2.0).round()) } else { None })
    })
}
