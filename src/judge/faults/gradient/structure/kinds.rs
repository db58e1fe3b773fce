//! What is tried at each kind of place.

use super::{Axis, By, Field, Gate, Map, Sides, StepSize};
use crate::formula::{Form, Textbook};
use crate::method::Method;
use crate::tensor::InputType;

/// What is tried at a kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A factor.
    Factor,
    Complex,
    Position,
    /// An input of a channel, of a state, of a group, or of one item of the batch.
    Channel,
    State,
    Group,
    Batch,
    Narrow,
    Product,
    /// Made of Δ and A by a formula.
    Step,
    Sides,
    Adjoint,
    Gate,
    Softplus,
    Strides,
    Stale,
    Share,
    /// The factor Δ before a function of z, and the factor A of z's derivative by Δ.
    Chain,
    ChainA,
    Output,
    Start,
    Unit,
    Square,
    Instead,
    Chunk,
    Number,
    Phi,
    Deltas,
}

const TYPES: [InputType; 2] = [InputType::Bf16, InputType::F16];

impl Kind {
    pub(super) fn alternatives(self) -> Vec<By> {
        let of = |axis: Axis, maps: &[Map]| maps.iter().map(|&map| By::Of(axis, map)).collect::<Vec<_>>();
        let around = [Map::First, Map::Before, Map::After, Map::Reversed];
        match self {
            Kind::Factor => vec![By::One, By::Squared],
            Kind::Complex => vec![By::Conjugate, By::RealPart, By::Magnitude],
            Kind::Position => {
                vec![By::At(-1), By::At(1), By::At(-2), By::At(2), By::Of(Axis::Position, Map::Reversed)]
            }
            Kind::Channel => of(Axis::Channel, &around),
            Kind::State => of(Axis::State, &around),
            Kind::Group => of(Axis::Channel, &[Map::Modulo, Map::First]),
            Kind::Batch => of(Axis::Batch, &around),
            Kind::Narrow => TYPES.map(By::Narrow).to_vec(),
            Kind::Product => {
                FIELDS.iter().flat_map(|&(field, ..)| [By::Times(field), By::Over(field)]).collect()
            }
            Kind::Step => {
                let forms =
                    Method::ALL.map(Form::from).into_iter().chain(FORMS.map(Form::from)).map(By::Form);
                let channel = [Map::First, Map::After].map(|map| By::AOf(Axis::Channel, map));
                let state =
                    [Map::First, Map::After, Map::Before, Map::Reversed].map(|map| By::AOf(Axis::State, map));
                let of_a = [By::AConjugate, By::ARealPart].into_iter().chain(channel).chain(state);
                sizes().into_iter().map(By::Step).chain(of_a).chain(forms).collect()
            }
            Kind::Sides => [
                Sides::ForwardForBoth,
                Sides::ReversedForBoth,
                Sides::ForwardAlone,
                Sides::ReversedAlone,
                Sides::Exchanged,
            ]
            .map(By::Sides)
            .to_vec(),
            Kind::Adjoint => vec![By::Own, By::Carried],
            Kind::Gate => [Gate::Sigmoid, Gate::Argument, Gate::Slope].map(By::Gate).to_vec(),
            Kind::Softplus => {
                let above = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15].map(By::OneAbove);
                [By::Complement, By::OfSigmoid].into_iter().chain(above).collect()
            }
            Kind::Strides => vec![By::Strides],
            Kind::Stale => vec![By::Stale, By::StaleUndecayed],
            Kind::Share => vec![By::Zero],
            Kind::Chain => sizes().into_iter().map(By::Chain).collect(),
            Kind::ChainA => {
                let state = [Map::First, Map::After, Map::Before, Map::Reversed]
                    .map(|map| By::ChainAOf(Axis::State, map));
                let channel = [Map::First, Map::After].map(|map| By::ChainAOf(Axis::Channel, map));
                [By::ChainAConjugate].into_iter().chain(state).chain(channel).collect()
            }
            Kind::Output => vec![By::WithoutFactor, By::WithoutHalf],
            Kind::Unit => vec![By::One],
            Kind::Square => vec![By::Squared],
            Kind::Instead => [Field::Delta, Field::H, Field::HByDelta, Field::ABar].map(By::Is).to_vec(),
            Kind::Chunk => of(Axis::Position, &[16, 32, 64, 128].map(Map::Within)),
            Kind::Phi => [0, 1, 2, 3, 4].map(By::IsPhi).to_vec(),
            Kind::Number => NUMBERS.map(|(above, below)| By::Factor(above, below)).to_vec(),
            Kind::Deltas => {
                let maps = [
                    (Axis::Batch, Map::First),
                    (Axis::Batch, Map::Before),
                    (Axis::Batch, Map::After),
                    (Axis::Channel, Map::First),
                    (Axis::Channel, Map::After),
                    (Axis::Channel, Map::Before),
                    (Axis::Position, Map::Reversed),
                ];
                let maps = maps
                    .into_iter()
                    .chain([16, 32, 64, 128].map(|length| (Axis::Position, Map::Within(length))));
                let maps = maps.map(|(axis, map)| By::Of(axis, map)).chain([-1, 1].map(By::At));
                [By::Step(StepSize::WithoutBias)]
                    .into_iter()
                    .chain(maps)
                    .chain(TYPES.map(By::Narrow))
                    .collect()
            }
            Kind::Start => vec![By::StartsWithZero, By::StartsWithLast, By::StartsWithOwn],
        }
    }
}

/// What Δ may be made of.
fn sizes() -> Vec<StepSize> {
    let sizes = [StepSize::WithoutBias, StepSize::WithoutSoftplus, StepSize::Raw];
    let sizes = sizes.into_iter().chain([-1, 1].map(StepSize::At)).chain(TYPES.map(StepSize::Narrow));
    let sizes = sizes.chain([1, 2, 5, 10].map(StepSize::PlainAbove));
    let maps = [
        (Axis::Batch, Map::First),
        (Axis::Batch, Map::Before),
        (Axis::Channel, Map::First),
        (Axis::Channel, Map::After),
    ];
    sizes.chain(maps.map(|(axis, map)| StepSize::Of(axis, map))).collect()
}

/// What a coefficient is mistaken for being multiplied by.
const NUMBERS: [(i8, i8); 14] = [
    (0, 1),
    (2, 1),
    (1, 2),
    (-1, 1),
    (3, 1),
    (1, 3),
    (4, 1),
    (1, 4),
    (3, 2),
    (2, 3),
    (6, 1),
    (1, 6),
    (-1, 2),
    (-2, 1),
];

/// The forms besides the methods that Ā or B̄ may be taken from.
const FORMS: [Textbook; 4] =
    [Textbook::ZohExact, Textbook::Rk4Classical, Textbook::Euler, Textbook::BackwardEuler];

#[rustfmt::skip]
pub(super) const FIELDS: [(Field, &str, &str); 14] = [
    (Field::Delta, "delta", "Δ"),
    (Field::DeltaSquared, "delta-squared", "Δ²"),
    (Field::DeltaCubed, "delta-cubed", "Δ³"),
    (Field::A, "a", "A"),
    (Field::HByDelta, "h-slope", "B̄'s derivative by Δ"),
    (Field::Argument, "z", "z = ΔA"),
    (Field::ABar, "a-bar", "Ā"),
    (Field::Denominator, "denominator", "1 − z/2"),
    (Field::H, "h", "B̄/B"),
    (Field::U, "u", "u"),
    (Field::B, "b", "B"),
    (Field::C, "c", "C"),
    (Field::SoftplusSlope, "softplus-slope", "the derivative of softplus"),
    (Field::Gate, "gate", "the gate"),
];
