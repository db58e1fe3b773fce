//! Pieces on a device: buffers for one piece at a time, and a launch for each output.

use std::io::{Read, Seek};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::pieces::{Block, Piece, Plan};
use super::{DeviceJudgeError, FirstTry};
use crate::formula::{Form, Function, Transition};
use crate::judge::budget::{ChannelBudget, Numbers};
use crate::judge::quick::QuickTally;
use crate::judge::ulp::Format;
use crate::judge::verdict::Element;
use crate::kernel::cpu::params::{
    INPUTS, POWERS, RawAllowance, RawFormat, RawFormula, RawJudge, RawResult, RawTally, RawTerm, TERMS,
};
use crate::kernel::cuda::cache::Image;
use crate::kernel::cuda::images::Images;
use crate::kernel::launch::{Device, DeviceError, Launch, Params, plain};
use crate::kernel::registry::{Judge, Kernel};
use crate::problem::conventions::{Reads, StateHolds};
use crate::problem::recorded::{Layout, Recording};
use crate::problem::stretch::Inputs;
use crate::problem::{InputType, Operand, Shape, Stage};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// What lies on a device while a recording is judged.
pub struct Launcher<'a> {
    device: &'a mut dyn Device,
    kernel: Kernel,
    image: Option<Arc<Image>>,
    layout: &'a Layout,
    /// Of each output: its form and what the judge is told of it.
    params: Vec<RawJudge>,
    buffers: Buffers,
}

/// Addresses on the device; 0 for what the run does not have.
struct Buffers {
    delta: u64,
    delta_error: u64,
    u: u64,
    gate: u64,
    silu: u64,
    b: u64,
    c: u64,
    initial: u64,
    out: u64,
    last_state: u64,
    results: u64,
}

impl<'a> Launcher<'a> {
    /// Compiles the judge if need be, and takes the memory of the largest piece.
    pub fn new<R: Read + Seek + Send>(
        device: &'a mut dyn Device,
        images: Option<&Images>,
        recording: &'a Recording<R>,
        contract: &Contract,
        plan: &Plan,
    ) -> Result<Self, DeviceJudgeError> {
        let layout = recording.layout();
        let Shape { dim, dstate, seqlen, .. } = layout.shape;
        let kernel = Kernel::Judge(Judge::new(layout.weights, dstate));
        let image = images.map(|images| images.get(kernel)).transpose()?;
        let state = dstate * layout.weights.width();
        let positions = plan.rows * seqlen;
        let variable = |operand| operand == Operand::Variable;
        let mut floats = |count: usize, is_there: bool| match is_there {
            true => device.allocate(count * size_of::<f32>()),
            false => Ok(0),
        };
        let group = plan.groups * state * seqlen;
        let has_initial = recording.has_initial_state();
        let recorded = |name: TensorName| layout.outputs.values().any(|tensors| tensors.get(name).is_some());
        let buffers = Buffers {
            u: floats(positions, true)?,
            gate: floats(positions, plan.has_gate())?,
            b: floats(group, variable(layout.b_operand))?,
            c: floats(group, variable(layout.c_operand))?,
            initial: floats(plan.rows * state, has_initial)?,
            out: floats(positions, recorded(TensorName::Out))?,
            last_state: floats(plan.rows * state, recorded(TensorName::LastState))?,
            // Twice as wide.
            delta: floats(2 * positions, true)?,
            delta_error: floats(2 * positions, true)?,
            silu: floats(2 * positions, plan.has_gate())?,
            results: device.allocate(plan.rows * size_of::<RawResult>())?,
        };
        // A launch's last block may have rows that are not there.
        let of_block = Judge::THREADS / Judge::LANES;
        let workspace = match plan.kept {
            0 => 0,
            kept => device.allocate(plan.rows.next_multiple_of(of_block) * kept * size_of::<f64>())?,
        };
        let mut weight = |name: &'static str, rows: usize, is_there: bool| -> Result<u64, DeviceJudgeError> {
            // What varies is read piece by piece, and may be larger than the memory.
            if !is_there {
                return Ok(0);
            }
            let Some(values) = recording.input_rows(name, rows, 0..rows)? else { return Ok(0) };
            let address = device.allocate(size_of_val(&values[..]))?;
            device.write(address, plain::bytes(&values))?;
            Ok(address)
        };
        let a = weight("A", dim, true)?;
        let b = weight("B", dim, !variable(layout.b_operand))?;
        let c = weight("C", dim, !variable(layout.c_operand))?;
        let skip = weight("D", dim, true)?;
        let mut params = Vec::with_capacity(layout.outputs.len());
        for name in layout.outputs.keys() {
            let numbers = ChannelBudget::new(name.form, recording, (0, 0), contract).numbers()?;
            let formats = TensorName::SCANNED.map(|tensor| recording.outline().layout(tensor).2);
            params.push(RawJudge {
                formula: formula(name.form),
                allowance: allowance(&numbers),
                format: formats.map(format),
                narrow_storage: (formats[TensorName::Out as usize] != InputType::F32).into(),
                reads_before: (layout.conventions.reads == Reads::BeforeUpdate).into(),
                reads_with_b: (layout.conventions.state == StateHolds::InputAlone).into(),
                variable_b: variable(layout.b_operand).into(),
                variable_c: variable(layout.c_operand).into(),
                unused: 0,
                rows: 0,
                first_row: 0,
                first_group: 0,
                dim: dim as i64,
                dstate: dstate as i64,
                seqlen: seqlen as i64,
                groups: layout.shape.groups as i64,
                delta: pointer(buffers.delta),
                delta_error: pointer(buffers.delta_error),
                u: pointer(buffers.u),
                gate: pointer(buffers.gate),
                silu: pointer(buffers.silu),
                skip: pointer(skip),
                a: pointer(a),
                b: pointer(if variable(layout.b_operand) { buffers.b } else { b }),
                c: pointer(if variable(layout.c_operand) { buffers.c } else { c }),
                initial: pointer(buffers.initial),
                out: null(),
                last_state: null(),
                workspace: pointer::<f64>(workspace).cast_mut(),
                results: pointer::<RawResult>(buffers.results).cast_mut(),
            });
        }
        Ok(Launcher { device, kernel, image, layout, params, buffers })
    }

    /// Copies a piece's inputs to the device.
    pub fn load(&mut self, piece: &Piece) -> Result<(), DeviceError> {
        let buffers = &self.buffers;
        for (address, values) in [(buffers.b, &piece.b), (buffers.c, &piece.c)] {
            if let Some(values) = values {
                self.device.write(address, plain::bytes(values))?;
            }
        }
        let Shape { seqlen, dstate, .. } = self.layout.shape;
        let state = dstate * self.layout.weights.width();
        for block in &piece.blocks {
            let Block { rows, delta, delta_error, u, gate, silu, initial, .. } = block;
            let at = (rows.start - piece.rows.start) as u64;
            let [position, state] = [seqlen, state].map(|each| at * each as u64);
            self.device.write(buffers.delta + 8 * position, plain::bytes(delta))?;
            self.device.write(buffers.delta_error + 8 * position, plain::bytes(delta_error))?;
            self.device.write(buffers.u + 4 * position, plain::bytes(u))?;
            if let (Some(gate), Some(silu)) = (gate, silu) {
                self.device.write(buffers.gate + 4 * position, plain::bytes(gate))?;
                self.device.write(buffers.silu + 8 * position, plain::bytes(silu))?;
            }
            if let Some(initial) = initial {
                self.device.write(buffers.initial + 4 * state, plain::bytes(initial))?;
            }
        }
        Ok(())
    }

    /// Judges an output of the piece that was loaded, by its place among the outputs: what the first try says of each row.
    pub fn judge(&mut self, piece: &Piece, output: usize) -> Result<Vec<FirstTry>, DeviceError> {
        let Shape { seqlen, dstate, .. } = self.layout.shape;
        let rows = piece.rows.len();
        let mut params = RawJudge {
            rows: rows as i64,
            first_row: piece.rows.start as i64,
            first_group: piece.groups.start as i64,
            ..self.params[output]
        };
        for block in &piece.blocks {
            let at = block.rows.start - piece.rows.start;
            for (name, values) in block.got[output].iter() {
                let (address, each, to) = match name {
                    TensorName::Out => (self.buffers.out, seqlen, &mut params.out),
                    TensorName::LastState => {
                        let width = dstate * self.layout.weights.width();
                        (self.buffers.last_state, width, &mut params.last_state)
                    }
                    // A run that has these is not judged here.
                    TensorName::ChunkStates | TensorName::DaCumsum => continue,
                };
                self.device.write(address + (4 * at * each) as u64, plain::bytes(values))?;
                *to = pointer(address);
            }
        }
        let mut results = vec![RawResult::POISON; rows];
        // What is not written is no verdict.
        self.device.write(self.buffers.results, plain::bytes(&results))?;
        self.device.run(&Launch {
            kernel: self.kernel,
            image: self.image.as_deref(),
            blocks: rows.div_ceil(Judge::THREADS / Judge::LANES) as u32,
            threads: Judge::THREADS as u32,
            shared: 0,
            params: Params::Judge(&params),
        })?;
        self.device.read(self.buffers.results, plain::bytes_mut(&mut results))?;
        let first_try = |(row, result): (usize, RawResult)| {
            let names = piece.blocks[0].got[output].iter();
            let tallies = names.map(|(name, _)| (name, tally(row, &result.tally[name as usize])));
            (tallies.collect::<Named<QuickTally>>(), result.largest_z)
        };
        Ok(piece.rows.clone().zip(results).map(first_try).collect())
    }
}

impl Drop for Launcher<'_> {
    fn drop(&mut self) {
        self.device.free_all();
    }
}

/// What the device says of a tensor of a row.
fn tally(row: usize, raw: &RawTally) -> QuickTally {
    let element = Element { got: raw.got, want: raw.want, bound: raw.bound, store: raw.store };
    let judged = raw.passed | raw.failed | raw.open != 0;
    QuickTally {
        passed: raw.passed as usize,
        failed: raw.failed as usize,
        open: raw.open as usize,
        unbounded: raw.unbounded as usize,
        between: 0,
        share: raw.share,
        worst: judged.then_some((row, raw.worst_at as usize, element)),
        worst_case_ratio: raw.worst_case_ratio,
        max_ulp: raw.max_ulp,
        squared_error: raw.squared_error,
        squared_want: raw.squared_want,
    }
}

fn pointer<T>(address: u64) -> *const T {
    match address {
        0 => null_mut::<T>(),
        address => address as usize as *mut T,
    }
}

fn format(input: InputType) -> RawFormat {
    let format = Format::for_input(input);
    RawFormat {
        overflow: format.overflow_threshold(),
        precision: format.precision,
        min_exponent: format.min_exponent,
    }
}

/// The form as `kernels/judge/params.h` has it.
fn formula(form: Form) -> RawFormula {
    let formula = form.formula();
    let mut raw = RawFormula {
        a_bar: 0,
        powers: 0,
        phis: formula.phis() as i32,
        is_rational: formula.is_rational().into(),
        has_pole: formula.pole().is_some().into(),
        bidirectional: formula.bidirectional.into(),
        alpha: formula.pole().map_or(0.0, |alpha| alpha.value()),
        complement: 0.0,
        power: [0.0; POWERS],
        terms: [0; INPUTS],
        unused: 0,
        term: [RawTerm { factor: 0.0, alpha: 0.0, delta: 0, function: 0, k: 0, unused: 0 }; INPUTS * TERMS],
    };
    match formula.a_bar {
        Transition::Exponential => {}
        Transition::Quotient(alpha) => (raw.a_bar, raw.complement) = (1, alpha.complement().value()),
        Transition::Polynomial(factors) => {
            (raw.a_bar, raw.powers) = (2, factors.len() as i32);
            raw.power.iter_mut().zip(factors).for_each(|(power, factor)| *power = factor.value());
        }
    }
    for (input, terms) in formula.b_bar.into_iter().enumerate() {
        raw.terms[input] = terms.len() as i32;
        for (raw, term) in raw.term[input * TERMS..(input + 1) * TERMS].iter_mut().zip(terms) {
            let (function, k, alpha) = match term.of {
                Function::Phi(k) => (0, k, 0.0),
                Function::Power(k) => (1, k, 0.0),
                Function::Resolvent(alpha) => (2, 0, alpha.value()),
            };
            let factor = term.factor.value();
            *raw = RawTerm { factor, alpha, delta: term.delta, function, k: k as i32, unused: 0 };
        }
    }
    raw
}

fn allowance(numbers: &Numbers) -> RawAllowance {
    let Numbers { arithmetic, of_states, readout, .. } = *numbers;
    let rounding = |stage| arithmetic.stages.rounding(stage);
    let [du, state, y, gate] = [Stage::Du, Stage::State, Stage::Y, Stage::Gate].map(rounding);
    RawAllowance {
        unit: arithmetic.unit,
        underflow: arithmetic.underflow,
        state_unit: of_states.unit,
        state_underflow: of_states.underflow,
        state_product: numbers.state_product,
        further_sums: numbers.further_sums,
        growth: numbers.growth,
        narrow_state_unit: state.unit,
        narrow_state_underflow: state.underflow,
        z_error: numbers.z_error,
        a_units: numbers.a_units,
        b_units: numbers.b_units,
        input_error: numbers.input_error,
        input_underflow: numbers.input_underflow,
        du_underflow: du.underflow,
        applies_b_apart: f64::from(u8::from(numbers.applies_b_apart)),
        product: numbers.product,
        series: numbers.series,
        joins: numbers.joins,
        readout_product: numbers.readout_product,
        additions: readout.additions,
        vanished: readout.vanished,
        scale: numbers.scale,
        repeats: numbers.repeats,
        y_unit: y.unit,
        y_underflow: y.underflow,
        gate: arithmetic.gate(0.0),
        gate_unit: gate.unit,
        gate_underflow: gate.underflow,
        gate_vanishes_below: arithmetic.gate_underflow,
        lambda: numbers.lambda,
        generic: numbers.generic,
        narrow: numbers.narrow,
        radius: numbers.radius,
        most: numbers.most,
    }
}
