//! A place with what stands there, in words.

use super::kinds::FIELDS;
use super::places::Place;
use super::{Axis, By, Field, Gate, Map, Sides, StepSize};
use crate::tensor::InputType;

/// A place with what stands there, in words.
pub(super) fn worded(place: &Place, by: By) -> (String, String) {
    let narrow = |to: InputType| if to == InputType::Bf16 { "bf16" } else { "f16" };
    let field = |of: Field| FIELDS.iter().find(|(field, ..)| *field == of).map_or(("", ""), |f| (f.1, f.2));
    let is_forward = place.name.ends_with("states") || place.name == "initial-state";
    let of = |axis: Axis, map: Map| {
        let (short, long) = match axis {
            Axis::Batch => ("batch", "item of the batch"),
            Axis::Channel => ("channel", "channel"),
            Axis::State => ("state", "state"),
            Axis::Position => ("position", "position"),
        };
        match map {
            Map::First => (format!("of-first-{short}"), format!("that of the first {long} for all")),
            Map::Before => (format!("of-{short}-before"), format!("that of the {long} before")),
            Map::After => (format!("of-{short}-after"), format!("that of the {long} after")),
            Map::Reversed => (format!("{short}-reversed"), format!("read from the last {long} to the first")),
            Map::Within(length) => (
                format!("within-{length}"),
                format!("that of its {long} within a chunk of {length}, counted from the first chunk"),
            ),
            Map::Modulo => ("of-modulo-group".to_owned(), "that of group d mod groups".to_owned()),
        }
    };
    let near = |by: isize| match by {
        -1 => ("of-position-before".to_owned(), "that of the position before".to_owned()),
        1 => ("of-position-after".to_owned(), "that of the position after".to_owned()),
        by if by < 0 => (format!("of-{}-positions-before", -by), format!("that of {} positions before", -by)),
        by => (format!("of-{by}-positions-after"), format!("that of {by} positions after")),
    };
    let is = |(name, what): (String, String)| (name, format!("is {what}"));
    let plain = |name: &str, what: &str| (name.to_owned(), what.to_owned());
    let (name, what) = match by {
        By::One => plain("missing", "is missing"),
        By::Zero => plain("zero", "is 0"),
        By::Conjugate if is_forward => plain("conjugated", "is conjugated"),
        By::Conjugate => plain("unconjugated", "is not conjugated"),
        By::RealPart => plain("real-part", "has its real part alone"),
        By::Magnitude => plain("magnitude", "has its absolute value in its place"),
        By::Squared => plain("squared", "is squared"),
        By::Times(of) => {
            (format!("times-{}", field(of).0), format!("has one factor {} too many", field(of).1))
        }
        By::Is(of) => (format!("is-{}", field(of).0), format!("has {} in its place", field(of).1)),
        By::IsPhi(k) => (format!("of-phi-{k}"), format!("has φ{k} for its function of z")),
        By::Factor(above, below) => {
            let value = if below == 1 { format!("{above}") } else { format!("{above}/{below}") };
            (
                format!("times-{}", value.replace('-', "minus-").replace('/', "-over-")),
                format!("has the factor {value}"),
            )
        }
        // A search puts it together and words it itself.
        By::Term(_) => plain("of-a-term", "is one term"),
        By::Over(of) => {
            (format!("over-{}", field(of).0), format!("lacks a factor {}: it is divided by it", field(of).1))
        }
        By::At(by) => is(near(by)),
        By::Of(axis, map) => is(of(axis, map)),
        By::Strides => plain("of-other-strides", "is read as if its channels and states were exchanged"),
        By::Narrow(to) => (narrow(to).to_owned(), format!("is kept in {}", narrow(to))),
        By::Step(size) | By::Chain(size) => {
            let (name, what) = match size {
                StepSize::WithoutBias => plain("without-bias", "without the bias"),
                StepSize::WithoutSoftplus => plain("without-softplus", "without softplus"),
                StepSize::Raw => plain("raw", "without bias and softplus"),
                StepSize::At(by) => near(by),
                StepSize::Of(axis, map) => of(axis, map),
                StepSize::Narrow(to) => (narrow(to).to_owned(), format!("in {}", narrow(to))),
                StepSize::PlainAbove(from) => {
                    (format!("plain-above-{from}"), format!("without softplus above {from}"))
                }
            };
            let what = what.replace("that of", "of");
            match by {
                By::Chain(_) => {
                    (format!("times-delta-{name}"), format!("has for its factor Δ the one {what}"))
                }
                _ => (format!("of-delta-{name}"), format!("is made of Δ {what}")),
            }
        }
        By::ChainAConjugate => plain("times-a-unconjugated", "has a factor A that is not conjugated"),
        By::ChainAOf(axis, map) => {
            let (name, what) = of(axis, map);
            (
                format!("times-a-{name}"),
                format!("has for its factor A the one {}", what.replace("that of", "of")),
            )
        }
        By::Complement => plain("complement", "is σ(−x) in place of σ(x)"),
        By::OfSigmoid => plain("of-sigmoid", "is that of the sigmoid, σ(x)σ(−x)"),
        By::WithoutFactor => plain("without-factor", "lacks the factor 2 of complex outputs"),
        By::WithoutHalf => plain("without-half", "lacks the ½ of both directions"),
        By::StartsWithZero => {
            plain("starts-with-zero", "is 0 at the first position, as if there were no initial state")
        }
        By::StartsWithLast => plain("starts-with-last", "is the one after the last position at the first"),
        By::StartsWithOwn => plain("starts-with-own", "is the one after the step at the first position"),
        By::AConjugate => plain("of-a-conjugated", "is made of A's conjugate"),
        By::ARealPart => plain("of-a-real-part", "is made of A's real part"),
        By::AOf(axis, map) => {
            let (name, what) = of(axis, map);
            (format!("of-a-{name}"), format!("is made of A {}", what.replace("that of", "of")))
        }
        By::Form(form) => (format!("of-{form}"), format!("is that of {form}")),
        By::Sides(Sides::ForwardForBoth) => {
            plain("forward-for-both", "is the forward scan's in both directions")
        }
        By::Sides(Sides::ReversedForBoth) => {
            plain("reversed-for-both", "is the reversed scan's in both directions")
        }
        By::Sides(Sides::ForwardAlone) => {
            plain("forward-alone", "is the forward scan's alone: the reversed one's is missing")
        }
        By::Sides(Sides::ReversedAlone) => {
            plain("reversed-alone", "is the reversed scan's alone: the forward one's is missing")
        }
        By::Sides(Sides::Exchanged) => plain("sides-exchanged", "is that of the other direction"),
        By::Own => plain("of-own-position", "is C·dout of its own position alone, without what is carried"),
        By::Carried => plain("carried-alone", "is what is carried alone, without C·dout of its own position"),
        By::Gate(Gate::Sigmoid) => plain("sigmoid", "is the sigmoid alone, without the factor z"),
        By::Gate(Gate::Argument) => plain("argument", "is z alone, without the sigmoid"),
        By::Gate(Gate::Slope) => plain("slope", "is the gate's derivative"),
        By::OneAbove(from) => (format!("one-above-{from}"), format!("is 1 above {from}")),
        By::Stale => plain("stale", "starts from what the batch's item before has ended with"),
        By::StaleUndecayed => {
            plain("stale-undecayed", "starts from what the batch's item before had at its last step")
        }
    };
    (format!("{}-{name}", place.name), format!("{} {what}", place.what))
}
