//! A NaN in each input in turn, and where it must come out.

use super::laws::{Bench, LawResult};
use crate::judge::invariants::Comparison;
use crate::problem::probe::Probe;
use crate::problem::{InputType, Operand, Problem};
use crate::tensor::TensorName;

/// Where an input's value belongs, as far as it belongs to one place, and what it is used for.
#[derive(Clone, Copy)]
struct Entry {
    batch: Option<usize>,
    /// The first channel and how many.
    channels: (usize, usize),
    state: Option<usize>,
    l: Option<usize>,
    use_: Use,
}

/// What a value enters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The state, and through it what follows.
    State,
    /// Outputs alone.
    Output,
}

impl Entry {
    fn enters(self, both_ways: bool, name: TensorName, (batch, channel, at): (usize, usize, usize)) -> bool {
        let (first, count) = self.channels;
        let here = self.batch.is_none_or(|b| b == batch) && (first..first + count).contains(&channel);
        here && match (name, self.use_) {
            (TensorName::Out, Use::State) => both_ways || self.l.is_none_or(|l| l <= at),
            (TensorName::Out, Use::Output) => self.l.is_none_or(|l| l == at),
            (TensorName::LastState, Use::State) => self.state.is_none_or(|n| n == at),
            (TensorName::LastState, Use::Output) => false,
        }
    }
}

pub fn nan_input(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    // Storage types differ in loads and stores alone: one probe shows them.
    let every = bench.probe == Probe::Grouped;
    let inputs = bench.subject.inputs.iter().filter(|&&input| every || input == bench.problem.input);
    inputs.copied().try_for_each(|input| with_input(bench, input, c))
}

fn with_input(bench: &Bench, input: InputType, c: &mut Comparison) -> LawResult<()> {
    // In the last batch entry and channel, a state in between, and a position behind an edge.
    let shape = bench.problem.shape;
    let (batch, channel, n) = (shape.batch - 1, shape.dim - 1, shape.dstate / 2);
    let l = bench.probe.splits()[1];
    // A bias of 0 changes nothing.
    let plain = Problem { input, delta_bias: Some(vec![0.0; shape.dim]), ..bench.problem.clone() };
    let want = bench.scan(&plain)?;
    let one = Entry { batch: Some(batch), channels: (channel, 1), state: None, l: Some(l), use_: Use::State };
    let whole = Entry { batch: None, l: None, ..one };
    let of_operand = |operand, use_| match operand {
        Operand::Constant => Entry { state: Some(n), use_, ..whole },
        Operand::Variable => {
            let count = shape.dim / shape.groups;
            Entry { channels: (channel / count * count, count), state: Some(n), use_, ..one }
        }
    };
    let sequence = plain.sequence_index(batch, channel, l);
    let weight = plain.weight_index(channel, n);
    let [b, c_at] = [plain.b_operand, plain.c_operand]
        .map(|operand| plain.operand_index(operand, (batch, channel), n, l));
    let width = plain.weights.width();
    type Values = fn(&mut Problem) -> Option<&mut Vec<f32>>;
    let inputs: [(&str, Values, usize, usize, Entry); 8] = [
        ("u", |p| Some(&mut p.u), sequence, 1, one),
        ("Δ", |p| Some(&mut p.delta), sequence, 1, one),
        ("A", |p| Some(&mut p.a), weight, width, Entry { state: Some(n), ..whole }),
        ("B", |p| Some(&mut p.b), b, width, of_operand(plain.b_operand, Use::State)),
        ("C", |p| Some(&mut p.c), c_at, width, of_operand(plain.c_operand, Use::Output)),
        ("D", |p| p.d.as_mut(), channel, 1, Entry { use_: Use::Output, ..whole }),
        ("z", |p| p.z.as_mut(), sequence, 1, Entry { use_: Use::Output, ..one }),
        ("the bias of Δ", |p| p.delta_bias.as_mut(), channel, 1, whole),
    ];
    for (name, values, at, width, entry) in inputs {
        let mut changed = plain.clone();
        let Some(values) = values(&mut changed) else { continue };
        values[at..at + width].fill(f32::NAN);
        let got = bench.scan(&changed)?;
        let both_ways = bench.method.is_bidirectional();
        let enters = |name, batch, channel, at| entry.enters(both_ways, name, (batch, channel, at));
        c.not_a_number(&format!("with a NaN in {name}, {input}"), &got, &want, enters);
    }
    Ok(())
}
