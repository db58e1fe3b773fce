//! Sweeps over all of f32: each function of one float that the kernels are made of ([`crate::scalar_function`]), at every argument or at
//! one of so many, against f64 with a proven radius, and against 237 bits where that leaves something open.
//!
//! A range of arguments, of one sign and binary exponent, is a unit of work: any of them can be judged alone.

pub mod on_device;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use self::on_device::DeviceSweep;
use crate::kernel::functions::{self, Arguments, FunctionRules, FunctionTally, FunctionValue, SIGN, Tried};
use crate::kernel::local::LocalError;
use crate::parts::{Divisible, PartError};
use crate::promise;
use crate::promise::allowance::{HALF_SUBNORMAL, U};
use crate::results::explained::Explanations;
use crate::results::functions::{FunctionRange, RANGES};
use crate::results::whole::Found;
use crate::results::{Results, Verdict};
use crate::scalar_function::ScalarFunction;
use crate::truth;

/// One of so many arguments, where not all are asked for: 4099 of a range, the first and the last but one among them.
pub const SAMPLED: u32 = 2047;

/// Arguments with one sign and exponent.
const ARGUMENTS: u32 = 1 << 23;
/// Arguments that are judged at a time: what they take stays in a processor's cache.
const AT_A_TIME: u32 = 1 << 13;

/// One range in so many is judged on the CPU as well, at [`SAMPLED`] arguments, where a device judges.
const CROSS_CHECKED: usize = 8;

/// And one of each function, x from 2 to 4, at one argument of so many: more than a launch has threads, so that each takes several.
const CLOSELY: (usize, u32) = (256 + 128, 31);

/// The least time that an estimate for a CPU is made of: of a share of each range, which grows until it takes that long.
const TIMED: Duration = Duration::from_millis(200);
/// One range in so many is timed on a device, for which a few arguments of a range take as long as all.
const TIMED_RANGES: usize = 61;

/// The sweeps that were asked for.
pub struct Sweeps {
    pub functions: Vec<ScalarFunction>,
    /// One of so many arguments is judged.
    pub every: u32,
    pub command: String,
    pub place: Place,
}

/// Where functions are evaluated, and judged at first.
pub enum Place {
    /// On all cores of this machine, which is said in words.
    Cpu(String),
    /// Used by the thread that opened it.
    Device(Mutex<DeviceSweep>),
}

/// Why a sweep does not end.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Local(#[from] LocalError),
    #[error(
        "{function} from {from:e} on: the device's judge found {found:?}, expected {expected:?}, as the CPU's says of the same values (hint: --backend cpu runs without the device)"
    )]
    Differs { function: ScalarFunction, from: f32, found: Box<FunctionTally>, expected: Box<FunctionTally> },
}

impl From<SweepError> for PartError {
    fn from(error: SweepError) -> Self {
        PartError::Unit(Box::new(error))
    }
}

impl Sweeps {
    /// The function, sign and exponent of a unit: each function's ranges with growing argument.
    fn at(&self, unit: usize) -> (ScalarFunction, bool, u8) {
        let (function, place) = (self.functions[unit / RANGES], unit % RANGES);
        match place {
            0..256 => (function, true, (255 - place) as u8),
            _ => (function, false, (place - 256) as u8),
        }
    }

    /// Units of work.
    pub fn len(&self) -> usize {
        self.functions.len() * RANGES
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The arguments of a unit, one in so many.
    fn arguments(&self, unit: usize, every: u32) -> Arguments {
        let (_, negative, exponent) = self.at(unit);
        arguments(negative, exponent, every)
    }

    /// All of it; `progress` is called after each unit.
    pub fn run(&self, progress: &(dyn Fn() + Sync)) -> Result<Results, SweepError> {
        let units: Vec<usize> = (0..self.len()).collect();
        let mut ranges = vec![None; units.len()];
        let found = Mutex::new(&mut ranges);
        self.judge(&units, self.every, &|unit, range| {
            found.lock().unwrap_or_else(PoisonError::into_inner)[unit] = Some(range);
            progress();
            Ok::<(), SweepError>(())
        })?;
        Ok(Results { functions: ranges.into_iter().flatten().collect(), ..self.head() })
    }

    /// About how long all of it takes here, measured on a small share of it.
    pub fn estimate(&self) -> Result<Duration, SweepError> {
        let is_on_cpu = matches!(self.place, Place::Cpu(_));
        let (mut every, step) = if is_on_cpu { (16 * SAMPLED, 1) } else { (self.every, TIMED_RANGES) };
        let units: Vec<usize> = (0..self.len()).step_by(step).collect();
        let time = |every| {
            let begun = Instant::now();
            self.judge(&units, every, &|_, _| Ok::<(), SweepError>(()))?;
            Ok::<Duration, SweepError>(begun.elapsed())
        };
        // Threads that start, and what is compiled, are no share of it.
        time(ARGUMENTS)?;
        let mut took = time(every)?;
        while is_on_cpu && took < TIMED && every > self.every {
            every = (every / 4).max(self.every);
            took = time(every)?;
        }
        let judged = |units: usize, every| units as f64 * f64::from(ARGUMENTS.div_ceil(every));
        Ok(took.mul_f64(judged(self.len(), self.every) / judged(units.len(), every)))
    }

    /// Judges these units, each at one of `every` arguments, and hands on what comes of each.
    fn judge<E: From<SweepError> + Send>(
        &self,
        units: &[usize],
        every: u32,
        found: &(impl Fn(usize, FunctionRange) -> Result<(), E> + Sync),
    ) -> Result<(), E> {
        let device = match &self.place {
            Place::Cpu(_) => {
                return units.par_iter().with_max_len(1).try_for_each(|&unit| {
                    let (function, negative, exponent) = self.at(unit);
                    found(unit, judge(function, negative, exponent, every))
                });
            }
            Place::Device(device) => device,
        };
        let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
        device.prepare(&self.functions).map_err(SweepError::from)?;
        // A function at a time: what the device leaves open is decided on all cores.
        for units in units.chunks(RANGES) {
            let mut tried = Vec::with_capacity(units.len());
            for &unit in units {
                let (function, ..) = self.at(unit);
                let rules = rules(function);
                if unit % CROSS_CHECKED == 0 {
                    let some = if unit % RANGES == CLOSELY.0 { CLOSELY.1 } else { SAMPLED };
                    device.cross_check(function, self.arguments(unit, some), &rules)?;
                }
                let arguments = self.arguments(unit, every);
                tried.push((unit, device.judge(function, arguments, &rules).map_err(SweepError::from)?));
            }
            tried.into_par_iter().try_for_each(|(unit, tried)| {
                let (function, negative, exponent) = self.at(unit);
                found(unit, settled(function, (negative, exponent), every, tried))
            })?;
        }
        Ok(())
    }
}

impl Divisible for Sweeps {
    fn units(&self) -> Vec<String> {
        let id = |unit| {
            let (function, negative, exponent) = self.at(unit);
            format!("functions/{function}/{}{exponent}", if negative { "-" } else { "+" })
        };
        (0..self.len()).map(id).collect()
    }

    fn costs(&self) -> Vec<u64> {
        // About what they take one core, in microseconds.
        vec![u64::from(ARGUMENTS / self.every / 10); self.len()]
    }

    fn head(&self) -> Results {
        let (backend, device) = match &self.place {
            Place::Cpu(device) => ("cpu", device.clone()),
            Place::Device(device) => ("cuda", device.lock().unwrap_or_else(PoisonError::into_inner).name()),
        };
        let mut head = Results::empty(1, backend, device, self.command.clone());
        head.kernel_source = functions::source();
        head
    }

    fn solve(
        &self,
        units: &[usize],
        found: &(dyn Fn(usize, Found) -> Result<(), PartError> + Sync),
    ) -> Result<(), PartError> {
        self.judge(units, self.every, &|unit, range| {
            found(unit, Found { functions: vec![range], ..Found::default() })
        })
    }

    fn explain(&self, _: &Results) -> Explanations {
        Explanations::default()
    }
}

/// What a function's values are judged by.
pub fn rules(function: ScalarFunction) -> FunctionRules {
    let [from, to] = function.domain();
    FunctionRules {
        units: promise::functions::units(function),
        from,
        to,
        on_unit_circle: function.is_of_unit_circle().into(),
        is_increasing: function.is_increasing().into(),
    }
}

/// Arguments with one sign and exponent, one in so many.
fn arguments(negative: bool, exponent: u8, every: u32) -> Arguments {
    let first = u32::from(exponent) << 23 | if negative { SIGN } else { 0 };
    Arguments { first, stride: every, count: ARGUMENTS.div_ceil(every) }
}

/// Judges a function at arguments with one sign and exponent, on the CPU.
pub fn judge(function: ScalarFunction, negative: bool, exponent: u8, every: u32) -> FunctionRange {
    let rules = rules(function);
    let Arguments { first, stride, count } = arguments(negative, exponent, every);
    let mut tried = Tried::none();
    for begun in (0..count).step_by(AT_A_TIME as usize) {
        let arguments =
            Arguments { first: first + begun * stride, stride, count: AT_A_TIME.min(count - begun) };
        let values = functions::values(function, arguments);
        tried.merge(functions::judge(function, arguments, &values, &rules));
    }
    settled(function, (negative, exponent), every, tried)
}

/// What comes of values that the judge has tried: the wide truth decides what that leaves open.
fn settled(
    function: ScalarFunction,
    (negative, exponent): (bool, u8),
    every: u32,
    Tried { tally: FunctionTally { found: mut tally, histogram }, open, near_ties }: Tried,
) -> FunctionRange {
    let units = rules(function).units;
    let (mut undecided, mut ties) = (0, 0);
    for value in open {
        match fails(function, value, units) {
            Some(true) => {
                let first = if tally.failing == 0 { value.bits } else { tally.first_failing.min(value.bits) };
                (tally.failing, tally.first_failing) = (tally.failing + 1, first);
            }
            Some(false) => {}
            None => undecided += 1,
        }
    }
    for value in near_ties {
        match is_misrounded(function, value) {
            Some(misrounded) => tally.misrounded += u64::from(misrounded),
            None => ties += 1,
        }
    }
    let verdict = match (tally.failing + tally.lost_nans, undecided) {
        (0, 0) => Verdict::Pass,
        (0, _) => Verdict::Unmeasured,
        _ => Verdict::Fail,
    };
    let at = |count: u64, bits: u32| (count > 0).then(|| f32::from_bits(bits));
    let shown = histogram.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let argument = |bits: u32| if tally.judged == 0 { 0.0 } else { f32::from_bits(bits) };
    FunctionRange {
        function,
        negative,
        exponent,
        every,
        verdict,
        judged: tally.judged,
        outside: tally.outside,
        nans: tally.nans,
        lost_nans: tally.lost_nans,
        failing: tally.failing,
        undecided,
        ties,
        misrounded: tally.misrounded,
        falls: tally.falls,
        wrong_signs: tally.wrong_signs,
        worst_share: tally.worst_share,
        worst_share_at: argument(tally.worst_share_at),
        worst_ulp: tally.worst_ulp,
        worst_ulp_at: argument(tally.worst_ulp_at),
        first_failing: at(tally.failing, tally.first_failing),
        first_fall: at(tally.falls, tally.first_fall),
        first_wrong_sign: at(tally.wrong_signs, tally.first_wrong_sign),
        histogram: histogram[..shown].to_vec(),
    }
}

/// Whether a value is beyond what is promised, by 237 bits; none where they do not say it either, nor of an infinity or a function
/// whose promise is not relative to its value alone.
fn fails(function: ScalarFunction, FunctionValue { bits, got }: FunctionValue, units: f64) -> Option<bool> {
    let x = f32::from_bits(bits);
    let other_scale = matches!(function, ScalarFunction::Gate | ScalarFunction::GateSlope);
    if other_scale || function.is_of_unit_circle() || got.is_infinite() {
        return None;
    }
    let [high, low] = truth::scalar::value(function, x)?;
    let error = (f64::from(got) - high - low).abs();
    let bound = units * U * high.abs() + 2.0 * HALF_SUBNORMAL;
    match (error > bound * (1.0 + 1e-12), error < bound * (1.0 - 1e-12)) {
        (false, false) => None,
        (fails, _) => Some(fails),
    }
}

/// Whether another f32 is nearer to the exact value, by 237 bits; none where they do not say it either: of ties, and beyond their
/// reach.
fn is_misrounded(function: ScalarFunction, FunctionValue { bits, got }: FunctionValue) -> Option<bool> {
    let [high, low] = truth::scalar::value(function, f32::from_bits(bits)).filter(|_| got.is_finite())?;
    let above = (high - f64::from(got), low) > (0.0, 0.0);
    let (next, side) = if above { (got.next_up(), 1.0) } else { (got.next_down(), -1.0) };
    // Each difference is of doubles beside each other, and exact.
    let beyond =
        (high - f64::from(got)) * side - (f64::from(next) - f64::from(got)) * side / 2.0 + low * side;
    (beyond != 0.0).then_some(beyond > 0.0)
}
