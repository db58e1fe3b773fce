//! A NaN in each input in turn, and where it must come out: of a scan, and of a backward pass.

use std::ops::Range;

use super::gradients::place;
use super::laws::{Bench, LawResult};
use crate::judge::invariants::comparison::Budgeted::{Derived, Exactly};
use crate::judge::invariants::{Comparison, ProbeRun};
use crate::method::Method;
use crate::problem::probe::Probe;
use crate::problem::transform::ValueIndex;
use crate::problem::{InputType, Operand, OutputGradients, Problem, Shape};
use crate::tensor::{GradientName, Named, TensorName};
use Reach::{All, Earlier, Here, Later, Nowhere};

/// At which positions a NaN comes out that is put in at one.
#[derive(Clone, Copy)]
enum Reach {
    Nowhere,
    /// At its own.
    Here,
    /// At its own and all later ones, through the states.
    Later,
    /// At its own and all earlier ones, through the cotangents.
    Earlier,
    All,
}

impl Reach {
    /// Whether one is put in at `from` and comes out at `to`. What has no position is of all.
    fn covers(self, both_ways: bool, from: Option<usize>, to: Option<usize>) -> bool {
        let (from, to) = from.zip(to).unwrap_or_default();
        match self {
            Nowhere => false,
            Here => from == to,
            Later => both_ways || from <= to,
            Earlier => both_ways || to <= from,
            All => true,
        }
    }
}

named! {
    /// What a NaN is put into.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Input {
        U => "u",
        Delta => "Δ",
        A => "A",
        B => "B",
        C => "C",
        D => "D",
        Z => "z",
        DeltaBias => "the bias of Δ",
        Dout => "dout",
        DlastState => "dlast_state",
    }
}

impl Input {
    /// The values of an input of a scan, if the problem has it.
    fn of_problem(self, problem: &mut Problem) -> Option<&mut Vec<f32>> {
        match self {
            Input::U => Some(&mut problem.u),
            Input::Delta => Some(&mut problem.delta),
            Input::A => Some(&mut problem.a),
            Input::B => Some(&mut problem.b),
            Input::C => Some(&mut problem.c),
            Input::D => problem.d.as_mut(),
            Input::Z => problem.z.as_mut(),
            Input::DeltaBias => problem.delta_bias.as_mut(),
            Input::Dout | Input::DlastState => None,
        }
    }

    /// The same of what a backward pass begins with.
    fn of_given(self, given: &mut OutputGradients) -> Option<&mut Vec<f32>> {
        match self {
            Input::Dout => Some(&mut given.dout),
            Input::DlastState => given.dlast_state.as_mut(),
            _ => None,
        }
    }

    /// The floats of one value, and where it belongs: in the last batch entry and channel, a state in between, and at `l`, as
    /// far as the input has such axes.
    fn value(self, problem: &Problem, l: usize) -> (Range<usize>, ValueIndex) {
        let Shape { batch, dim, dstate, groups, .. } = problem.shape;
        let (batch, channel, n) = (batch - 1, dim - 1, dstate / 2);
        let of_channel = ValueIndex { channel: Some(channel), ..ValueIndex::default() };
        let of_position = ValueIndex { batch: Some(batch), l: Some(l), ..of_channel };
        let of_weight = ValueIndex { state: Some(n), ..of_channel };
        let of_state = ValueIndex { batch: Some(batch), ..of_weight };
        let of_group = ValueIndex { channel: None, group: Some(groups - 1), l: Some(l), ..of_state };
        let weight = problem.weights.width();
        let operand = |operand| {
            let place = match operand {
                Operand::Constant => of_weight,
                Operand::Variable => of_group,
            };
            (problem.operand_index(operand, (batch, channel), n, l), weight, place)
        };
        let (first, width, place) = match self {
            Input::U | Input::Delta | Input::Z | Input::Dout => {
                (problem.sequence_index(batch, channel, l), 1, of_position)
            }
            Input::A => (problem.weight_index(channel, n), weight, of_weight),
            Input::B => operand(problem.b_operand),
            Input::C => operand(problem.c_operand),
            Input::D | Input::DeltaBias => (channel, 1, of_channel),
            Input::DlastState => (problem.state_index((batch, channel), n), weight, of_state),
        };
        (first..first + width, place)
    }

    /// What it reaches of the outputs, and of the last state.
    fn among_outputs(self) -> [Reach; 2] {
        match self {
            Input::U | Input::Delta | Input::A | Input::B | Input::DeltaBias => [Later, All],
            Input::C | Input::D | Input::Z => [Here, Nowhere],
            Input::Dout | Input::DlastState => [Nowhere, Nowhere],
        }
    }

    /// What it reaches of the gradients, in the order of [`GradientName`]; for u and B, of A's `of_a`.
    ///
    /// By spec.md §6, x_l has u, Δ and B of positions up to l in it, and A; p_l has C, z and dout of those from l on, Δ of those
    /// behind l, dlast_state, and A. Of these u_l takes p_l h_l B_l and D e_l; Δ_l and A take p_l x_{l−1} and p_l B_l u_l, times
    /// what Δ_l and A make; B_l takes p_l h_l u_l; C_l takes e_l x_l; D takes u_l e_l; z_l takes C_l x_l, D u_l, dout_l and z_l.
    #[rustfmt::skip]
    fn among_gradients(self, of_a: Reach) -> [Reach; 8] {
        use Input::{A, B, C, D, Delta, DeltaBias, DlastState, Dout, U, Z};
        match self {
            //                        u        Δ        A        B        C        D        z        the bias of Δ
            U                     => [Nowhere, Later,   of_a,    Here,    Later,   All,     Later,   All],
            Delta | A | DeltaBias => [Earlier, All,     All,     Earlier, Later,   Nowhere, Later,   All],
            B                     => [Here,    Later,   of_a,    Nowhere, Later,   Nowhere, Later,   All],
            C                     => [Earlier, Earlier, All,     Earlier, Nowhere, Nowhere, Here,    All],
            D                     => [Here,    Nowhere, Nowhere, Nowhere, Nowhere, Nowhere, Here,    Nowhere],
            Z | Dout              => [Earlier, Earlier, All,     Earlier, Here,    All,     Here,    All],
            DlastState            => [Earlier, Earlier, All,     Earlier, Nowhere, Nowhere, Nowhere, All],
        }
    }
}

/// Whether two places are the same along every axis but the sequence, as far as both have it. A channel is of its group.
fn meet(shape: Shape, one: ValueIndex, other: ValueIndex) -> bool {
    let group = |at: ValueIndex| at.group.or(at.channel.map(|channel| channel / (shape.dim / shape.groups)));
    let axes = |at: ValueIndex| [at.batch, at.channel, group(at), at.state];
    let mut pairs = axes(one).into_iter().zip(axes(other));
    pairs.all(|(one, other)| one.zip(other).is_none_or(|(one, other)| one == other))
}

/// Storage types differ in loads and stores alone: one probe shows them.
fn stored_types(bench: &Bench) -> impl Iterator<Item = InputType> {
    let every = bench.probe == Probe::Grouped;
    let types = bench.subject.inputs.iter().copied();
    types.filter(move |&stored| every || stored == bench.problem.input)
}

/// The probe's problem, so stored, with a bias that changes nothing.
fn plain(bench: &Bench, stored: InputType) -> Problem {
    let delta_bias = Some(vec![0.0; bench.problem.shape.dim]);
    Problem { input: stored, delta_bias, ..bench.problem.clone() }
}

pub fn nan_input(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    stored_types(bench).try_for_each(|stored| scans(bench, stored, c))
}

fn scans(bench: &Bench, stored: InputType, c: &mut Comparison) -> LawResult<()> {
    let plain = plain(bench, stored);
    let want = bench.scan(&plain)?;
    let both_ways = bench.method.is_bidirectional();
    // Behind an edge.
    let l = bench.probe.splits()[1];
    for input in Input::ALL {
        let (floats, from) = input.value(&plain, l);
        let mut changed = plain.clone();
        let Some(values) = input.of_problem(&mut changed) else { continue };
        values[floats].fill(f32::NAN);
        let got = bench.scan(&changed)?;
        let [out, last_state] = input.among_outputs();
        c.not_a_number(&format!("with a NaN in {input}, {stored}"), &got, &want, Exactly, |name, at| {
            let of_channel = ValueIndex { batch: Some(at[0]), channel: Some(at[1]), ..ValueIndex::default() };
            let (reach, to) = match name {
                TensorName::Out => (out, ValueIndex { l: Some(at[2]), ..of_channel }),
                // A kernel here returns no others.
                TensorName::LastState | TensorName::ChunkStates | TensorName::DaCumsum => {
                    (last_state, ValueIndex { state: Some(at[2]), ..of_channel })
                }
            };
            Some(meet(plain.shape, from, to) && reach.covers(both_ways, from.l, to.l))
        });
    }
    Ok(())
}

pub fn gradient_nan(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    stored_types(bench).try_for_each(|stored| backward_passes(bench, stored, c))
}

fn backward_passes(bench: &Bench, stored: InputType, c: &mut Comparison) -> LawResult<()> {
    let (plain, given) = (plain(bench, stored), bench.given());
    let bounds = bench.bounds(&plain, &given)?;
    let want = ProbeRun::of_gradients(&bench.backward(&plain, &given)?, &bounds);
    let both_ways = bench.method.is_bidirectional();
    let last = plain.shape.seqlen - 1;
    // Behind an edge, and beside the positions past the end that a tile has which is not full.
    for l in [bench.probe.splits()[1], last] {
        for input in Input::ALL {
            let (floats, from) = input.value(&plain, l);
            // Without a position it is the same value again.
            if l == last && from.l.is_none() {
                continue;
            }
            let (mut problem, mut given) = (plain.clone(), given.clone());
            let values = input.of_problem(&mut problem).or(input.of_given(&mut given));
            let Some(values) = values else { continue };
            values[floats].fill(f32::NAN);
            // What the NaN does not enter has the bounds that it had.
            let got = ProbeRun::of_gradients(&bench.backward(&problem, &given)?, &bounds);
            // With h = Δ, A takes p_l x_{l−1} alone, and the last state is none of these.
            let is_unseen = bench.method == Method::Zoh && from.l == Some(last);
            let reaches = input.among_gradients(if is_unseen { Nowhere } else { All });
            let reaches: Named<Reach, GradientName> = GradientName::ALL.into_iter().zip(reaches).collect();
            let position = from.l.map(|l| format!(" at l = {l}")).unwrap_or_default();
            let how = format!("with a NaN in {input}{position}, {stored}");
            c.not_a_number(&how, &got, &want, Derived, |name, at| {
                let to = place(&plain, name, at);
                let meets = meet(plain.shape, from, to);
                let open = meets && is_open(bench, input, (name, to));
                (!open).then(|| meets && reaches[name].covers(both_ways, from.l, to.l))
            });
        }
    }
    Ok(())
}

/// Where the kernels do otherwise than spec.md §6 has it, and the law asks for nothing. No Ā has a part in the last p, nor has A in
/// zoh's h. But where a tile is not full the kernels hand p on through positions past the end, whose Ā = e^(0·A) is a NaN as A is.
fn is_open(bench: &Bench, input: Input, (name, to): (GradientName, ValueIndex)) -> bool {
    input == Input::A
        && bench.method == Method::Zoh
        && matches!(name, GradientName::U | GradientName::B)
        && to.l == Some(bench.problem.shape.seqlen - 1)
}
