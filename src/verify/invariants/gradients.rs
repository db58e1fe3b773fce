//! Each invariant of gradients, said with problems and backward passes.

use super::laws::{Bench, Factor, LawResult};
use crate::judge::budget::gradient::{GradientBudget, Pass, bounds};
use crate::judge::invariants::comparison::Budgeted::{self, Derived, Exactly};
use crate::judge::invariants::run::ProbedTensor;
use crate::judge::invariants::{Comparison, ProbeRun};
use crate::kernel::KernelError;
use crate::problem::transform::{ValueIndex, conjugate, conjugated, grafted, scaled, select, sum};
use crate::problem::{Operand, OutputGradients, Problem};
use crate::tensor::TensorName::{LastState, Out};
use crate::tensor::{GradientName, Gradients};

type GradientRun = ProbeRun<GradientName>;

fn no_backward_pass() -> KernelError {
    KernelError::Unavailable("it has no backward pass".to_owned())
}

impl Bench<'_> {
    pub(super) fn given(&self) -> OutputGradients {
        self.probe.draw_given(&self.problem, self.subject.seed, "dout")
    }

    /// The one place where a kernel runs a backward pass for an invariant.
    pub(super) fn backward(&self, problem: &Problem, given: &OutputGradients) -> LawResult<Gradients<f32>> {
        self.subject.backend.gradients(self.method, problem, given).ok_or_else(no_backward_pass)?
    }

    /// The one place where the bounds of one come from.
    pub(super) fn bounds(&self, problem: &Problem, given: &OutputGradients) -> LawResult<GradientBudget> {
        let contract = self.subject.backend.promise().backward.ok_or_else(no_backward_pass)?;
        Ok(bounds(Pass { form: self.method.into(), problem, given, contract: &contract }))
    }

    fn gradients(&self, problem: &Problem, given: &OutputGradients) -> LawResult<GradientRun> {
        Ok(ProbeRun::of_gradients(&self.backward(problem, given)?, &self.bounds(problem, given)?))
    }

    /// The probe's own gradients, which must not all be zeros.
    fn plain_gradients(&self, c: &mut Comparison) -> LawResult<GradientRun> {
        let plain = self.gradients(&self.problem, &self.given())?;
        if plain.is_zero() {
            c.broken("every element of a gradient is zero: every law holds, and says nothing");
        }
        Ok(plain)
    }
}

fn scaled_given(given: &OutputGradients, factor: f32) -> OutputGradients {
    OutputGradients {
        dout: scaled(&given.dout, factor),
        dlast_state: given.dlast_state.as_deref().map(|state| scaled(state, factor)),
    }
}

pub fn zero(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let zero = bench.gradients(&bench.problem, &scaled_given(&bench.given(), 0.0))?;
    c.all("with dout = 0", &zero, &[], Exactly);
    Ok(())
}

pub fn homogeneous(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let plain = bench.plain_gradients(c)?;
    let twice = bench.gradients(&bench.problem, &scaled_given(&bench.given(), -2.0))?;
    c.all("with −2·dout, against −2 times what dout gives", &twice, &[(-2.0, &plain)], Exactly);
    Ok(())
}

pub fn additive(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let given = bench.given();
    let other = bench.probe.draw_given(&bench.problem, bench.subject.seed, "other dout");
    let states = given.dlast_state.as_deref().zip(other.dlast_state.as_deref());
    let both = OutputGradients {
        dout: sum(&given.dout, &other.dout),
        dlast_state: states.map(|(state, other)| sum(state, other)),
    };
    let run = |given| bench.gradients(&bench.problem, given);
    let (one, two, both) = (run(&given)?, run(&other)?, run(&both)?);
    c.all("with dout + dout', against the sum", &both, &[(1.0, &one), (1.0, &two)], Derived);
    Ok(())
}

/// A sum of products, its bound, and the sum of its terms' sizes.
#[derive(Default)]
struct Dot {
    value: f64,
    bound: f64,
    size: f64,
}

impl Dot {
    /// Adds Σ left·right, real and imaginary parts apart, where each number of `right`, of `width` parts, is off by its bound.
    fn add(&mut self, left: &[f32], right: &ProbedTensor) {
        for ((left, right), bound) in left.chunks(right.width).zip(&right.values).zip(&right.bound) {
            let left = |part: usize| left.get(part).map_or(0.0, |&x| f64::from(x));
            self.value += left(0) * right.re + left(1) * right.im;
            self.bound += left(0).hypot(left(1)) * bound;
            self.size += (left(0) * right.re).abs() + (left(1) * right.im).abs();
        }
    }
}

pub fn dot_product(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    for (place, factor) in [Factor::U, Factor::B, Factor::C].into_iter().enumerate() {
        let name = match factor {
            Factor::U => GradientName::U,
            Factor::B => GradientName::B,
            Factor::C => GradientName::C,
        };
        let problem = factor.problem(bench);
        // C does not enter the last state, which is no linear function of it.
        let mut given = bench.given();
        if factor == Factor::C {
            given.dlast_state = None;
        }
        let gradients = bench.gradients(&problem, &given)?;
        let v = factor.of(&bench.other).to_vec();
        let run = bench.scan(&factor.replaced(&problem, |_| v.clone()))?;
        let (mut outputs, mut inputs) = (Dot::default(), Dot::default());
        outputs.add(&given.dout, &run.tensors[Out]);
        if let Some(state) = &given.dlast_state {
            outputs.add(state, &run.tensors[LastState]);
        }
        inputs.add(&v, &gradients.tensors[name]);
        // The sums' own roundings, of far fewer than 2²⁰ terms in f64.
        let rounded = (outputs.size + inputs.size) * 2f64.powi(-32);
        let bound = outputs.bound + inputs.bound + rounded;
        let how = format!("with v in place of {}", factor.name());
        c.value("⟨gradient, v⟩", place, (inputs.value, outputs.value, bound), &how);
    }
    Ok(())
}

/// Which axis of a gradient is the batch, the channel, the group, the state; none where it is summed over, or lacks it.
#[derive(Clone, Copy, Default)]
struct Axes {
    batch: Option<usize>,
    channel: Option<usize>,
    group: Option<usize>,
    state: Option<usize>,
    position: Option<usize>,
}

fn axes(problem: &Problem, name: GradientName) -> Axes {
    use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
    let none = Axes::default();
    let weight = Axes { channel: Some(0), state: Some(1), ..none };
    let operand = |operand: Operand| match operand {
        Operand::Constant => weight,
        Operand::Variable => {
            Axes { batch: Some(0), group: Some(1), state: Some(2), position: Some(3), ..none }
        }
    };
    match name {
        U | Delta | Z => Axes { batch: Some(0), channel: Some(1), position: Some(2), ..none },
        A => weight,
        B => operand(problem.b_operand),
        C => operand(problem.c_operand),
        D | DeltaBias => Axes { channel: Some(0), ..none },
        InitialState => Axes { batch: Some(0), channel: Some(1), state: Some(2), ..none },
    }
}

/// Where an element of a gradient belongs.
pub(super) fn place(problem: &Problem, name: GradientName, index: &[usize]) -> ValueIndex {
    let axes = axes(problem, name);
    let at = |axis: Option<usize>| axis.map(|axis| index[axis]);
    ValueIndex {
        batch: at(axes.batch),
        channel: at(axes.channel),
        group: at(axes.group),
        state: at(axes.state),
        l: at(axes.position),
    }
}

/// Other inputs at each place of an axis change no gradient of another place.
pub fn independence(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    type InputAxis = fn(ValueIndex) -> Option<usize>;
    type GradientAxis = fn(&Axes) -> Option<usize>;
    let (problem, given) = (&bench.problem, bench.given());
    let shape = problem.shape;
    let plain = bench.plain_gradients(c)?;
    let kinds: [(&str, usize, InputAxis, GradientAxis); 3] = [
        ("inputs in batch entry", shape.batch, |i| i.batch, |axes| axes.batch),
        ("inputs in channel", shape.dim, |i| i.channel, |axes| axes.channel),
        ("A, B and C of state", shape.dstate, |i| i.state, |axes| axes.state),
    ];
    for (what, count, of_input, of_gradient) in kinds {
        for at in 0..count {
            let changed = grafted(problem, &bench.other, &|index| of_input(index) == Some(at));
            let changed = bench.gradients(&changed, &given)?;
            let how = format!("with other {what} {at}");
            for (name, _) in plain.tensors.iter() {
                let Some(axis) = of_gradient(&axes(problem, name)) else { continue };
                c.elements(name, &how, &changed, &[(1.0, &plain)], Exactly, |index| index[axis] != at);
            }
        }
    }
    Ok(())
}

pub fn causality(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let seqlen = bench.problem.shape.seqlen;
    for &from in bench.probe.splits() {
        let mut given = OutputGradients { dlast_state: None, ..bench.given() };
        given.dout.chunks_mut(seqlen).for_each(|row| row[from..].fill(0.0));
        let cut = bench.gradients(&bench.problem, &given)?;
        let how = format!("with dout = 0 from l = {from} on");
        for (name, _) in cut.tensors.iter() {
            let Some(axis) = axes(&bench.problem, name).position else { continue };
            c.elements(name, &how, &cut, &[], Exactly, |index| index[axis] >= from);
        }
    }
    Ok(())
}

pub fn conjugation(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let given = bench.given();
    let mirrored =
        OutputGradients { dlast_state: given.dlast_state.as_deref().map(conjugate), ..given.clone() };
    let want = bench.plain_gradients(c)?.conjugated();
    let got = bench.gradients(&conjugated(&bench.problem), &mirrored)?;
    c.all("with A, B, C and dlast_state conjugated", &got, &[(1.0, &want)], Exactly);
    Ok(())
}

/// The gradients of the problem whose states and positions are those listed, against the listed ones of the problem itself.
fn selected(
    (bench, c): (&Bench, &mut Comparison),
    how: &str,
    given: &OutputGradients,
    (states, positions): (&[usize], &[usize]),
    budgeted: Budgeted,
) -> LawResult<()> {
    let problem = &bench.problem;
    let (dstate, seqlen, width) = (problem.shape.dstate, problem.shape.seqlen, problem.weights.width());
    let picked = |values: &[f32], length: usize, width: usize, at: &[usize]| -> Vec<f32> {
        let rows = values.chunks(length * width);
        rows.flat_map(|row| at.iter().flat_map(|&i| row[i * width..][..width].to_vec())).collect()
    };
    let moved = OutputGradients {
        dout: picked(&given.dout, seqlen, 1, positions),
        dlast_state: given.dlast_state.as_deref().map(|state| picked(state, dstate, width, states)),
    };
    let want = bench.gradients(problem, given)?.rearranged(|name, index| {
        let (axes, mut from) = (axes(problem, name), index.to_vec());
        for (axis, order) in [(axes.state, states), (axes.position, positions)] {
            if let Some(axis) = axis {
                from[axis] = order[from[axis]];
            }
        }
        from
    });
    let got = bench.gradients(&select(problem, states, positions), &moved)?;
    c.all(how, &got, &[(1.0, &want)], budgeted);
    Ok(())
}

pub fn reversal(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let mut positions = bench.positions();
    positions.reverse();
    // The last state is that of one direction.
    let given = OutputGradients { dlast_state: None, ..bench.given() };
    selected((bench, c), "reversed", &given, (&bench.states(), &positions), Derived)
}

pub fn permutation(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    let mut states = bench.states();
    states.rotate_left(1);
    let how = format!("with the states in the order {states:?}");
    selected((bench, c), &how, &bench.given(), (&states, &bench.positions()), Derived)
}
