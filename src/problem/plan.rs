//! Which problems a run solves: each regime's own variants, or the ones that were asked for.

use super::inputs::{self, Draw};
use super::output_gradients::Loss;
use super::regime::{self, Regime, Variants};
use super::{InputType, Operand, OutputGradients, Problem, Weights};

/// One problem that a run solves, before its tensors are drawn.
#[derive(Clone, Debug)]
pub struct Spec {
    pub regime: &'static Regime,
    pub weights: Weights,
    pub input: InputType,
    pub b: Operand,
    pub c: Operand,
}

impl Spec {
    /// What tells it from every other problem of a plan.
    pub fn key(&self) -> (&'static str, Weights, InputType, Operand, Operand) {
        (&self.regime.name, self.weights, self.input, self.b, self.c)
    }

    /// `regime/weights/input/b-OPERAND/c-OPERAND`, unique in a plan.
    pub fn id(&self) -> String {
        format!("{}/{}/{}/b-{}/c-{}", self.regime.name, self.weights, self.input, self.b, self.c)
    }

    /// What a backward pass of the problem starts from: the same for the same seed. One kind of loss for each problem, so that all
    /// occur, and every other one sees the last state.
    pub fn draw_given(&self, problem: &Problem, seed: u64) -> OutputGradients {
        self.draw_given_of(problem, seed, None).1
    }

    /// The same of another kind of loss, where one is asked for; and which kind it is.
    pub fn draw_given_of(
        &self,
        problem: &Problem,
        seed: u64,
        asked: Option<Loss>,
    ) -> (Loss, OutputGradients) {
        let mut draw = Draw::new(seed, &format!("{}/dout", self.id()));
        let (own, sees_state) = Loss::any(&mut draw);
        let kind = asked.unwrap_or(own);
        (kind, kind.draw(problem, sees_state, &mut draw))
    }

    /// Draws the problem's tensors: the same for the same seed, whatever else the plan holds.
    pub fn draw(&self, seed: u64) -> Problem {
        let mut draw = Draw::new(seed, &self.id());
        inputs::draw(&self.regime.recipe, self.weights, self.input, (self.b, self.c), &mut draw)
    }
}

/// What a run was asked to cover; an empty list asks for everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub regimes: Vec<&'static Regime>,
    pub weights: Vec<Weights>,
    pub inputs: Vec<InputType>,
    pub b: Vec<Operand>,
    pub c: Vec<Operand>,
}

/// The problems to solve. A regime runs its own variants of input type and layout unless the filter names
/// some: then every combination of what is named runs, also ones outside the regime's own variants.
pub fn plan(filter: &Filter) -> Vec<Spec> {
    let mut specs = Vec::new();
    for (index, regime) in regime::all().iter().enumerate() {
        if !(filter.regimes.is_empty() || filter.regimes.iter().any(|r| r.name == regime.name)) {
            continue;
        }
        for (side, &weights) in regime.weights.iter().enumerate() {
            if !(filter.weights.is_empty() || filter.weights.contains(&weights)) {
                continue;
            }
            for (input, b, c) in variants(filter, regime.variants, index + 2 * side) {
                specs.push(Spec { regime, weights, input, b, c });
            }
        }
    }
    specs
}

fn variants(filter: &Filter, variants: Variants, turn: usize) -> Vec<(InputType, Operand, Operand)> {
    let f32_and = |narrow: &[InputType]| [every(&[InputType::F32]), rotate(narrow, turn)].concat();
    let own: Vec<(InputType, Operand, Operand)> = match variants {
        Variants::Every => f32_and(&[InputType::F16, InputType::Bf16]),
        Variants::WideRange => f32_and(&[InputType::Bf16]),
        Variants::Narrow => every(&[InputType::F16, InputType::Bf16]),
        Variants::Single => vec![(InputType::F32, Operand::Variable, Operand::Variable)],
        Variants::EachInput => rotate(&InputType::ALL, turn),
    };
    if filter.inputs.is_empty() && filter.b.is_empty() && filter.c.is_empty() {
        return own;
    }
    // Where an axis is not named, the regime's own values of it stay.
    let inputs = named_or(&filter.inputs, own.iter().map(|v| v.0));
    let bs = named_or(&filter.b, own.iter().map(|v| v.1));
    let cs = named_or(&filter.c, own.iter().map(|v| v.2));
    let mut asked = Vec::new();
    for &input in &inputs {
        for &b in &bs {
            asked.extend(cs.iter().map(|&c| (input, b, c)));
        }
    }
    asked
}

fn named_or<T: Copy + Ord>(named: &[T], own: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = if named.is_empty() { own.collect() } else { named.to_vec() };
    values.sort_unstable();
    values.dedup();
    values
}

/// Every layout of (B, C) for each input type.
fn every(inputs: &[InputType]) -> Vec<(InputType, Operand, Operand)> {
    inputs.iter().flat_map(|&input| (0..4).map(move |i| (input, layout(i).0, layout(i).1))).collect()
}

/// One layout of (B, C) for each input type, moving on with each regime so that all of them occur.
fn rotate(inputs: &[InputType], turn: usize) -> Vec<(InputType, Operand, Operand)> {
    let layouts = (0..).map(|i| layout(turn + i));
    inputs.iter().zip(layouts).map(|(&input, (b, c))| (input, b, c)).collect()
}

fn layout(i: usize) -> (Operand, Operand) {
    use Operand::{Constant, Variable};
    [(Variable, Variable), (Constant, Variable), (Variable, Constant), (Constant, Constant)][i % 4]
}
