//! Every fault model of a backward pass.

use super::sums::is_of_channels;
use super::{Change, Fault, Side};
use crate::problem::InputType;
use crate::program::made::padded_decay;
use crate::program::{
    Accumulator, Axis, Condition, Function, Id, Index, Input, Op, Over, Place, Real, Scan, Set, Symbol,
};
use crate::tensor::GradientName::{A, B, C, D};

const fn fault(name: &'static str, what: &'static str, change: Change) -> Fault {
    Fault { name, what, change }
}

use Change::{Adjoints, Factor, Gradient, Narrow, NarrowGradient, Padded, Pass as Whole, Shares, States};
use Symbol::{ABarByA, ABarByDelta, HByA, HByDelta};

/// A slope that loses its digits in f32: what it has left is rounded like a narrow type.
pub(super) const CANCELS: &str = "softplus-slope-cancels";

/// Every model, what is likelier first.
#[rustfmt::skip]
pub static ALL: &[Fault] = &[
    // Shares of Δ and A.
    fault("delta-without-h", "grad.delta lacks B̄'s derivative by Δ: it has Ā's share alone", Whole(|p| p.slope(HByDelta, |p, _| p.number(0.0)))),
    fault("delta-without-a-bar", "grad.delta lacks Ā's derivative by Δ: it has B̄'s share alone", Whole(|p| p.slope(ABarByDelta, |p, _| p.number(0.0)))),
    fault("a-without-h", "grad.A lacks B̄'s derivative by A: it has Ā's share alone", Whole(|p| p.slope(HByA, |p, _| p.number(0.0)))),
    fault("a-without-a-bar", "grad.A lacks Ā's derivative by A: it has B̄'s share alone", Whole(|p| p.slope(ABarByA, |p, _| p.number(0.0)))),
    fault("log2e-in-delta", "Ā's share of grad.delta has a factor log₂e", Whole(|p| p.slope(ABarByDelta, |p, slope| p.times(slope, std::f64::consts::LOG2_E)))),
    fault("log2e-in-a", "Ā's share of grad.A has a factor log₂e", Whole(|p| p.slope(ABarByA, |p, slope| p.times(slope, std::f64::consts::LOG2_E)))),
    fault("ln2-in-a", "Ā's share of grad.A has a factor ln 2", Whole(|p| p.slope(ABarByA, |p, slope| p.times(slope, std::f64::consts::LN_2)))),
    fault("gradient-of-log-a", "grad.A is the gradient of log(−A): it has a factor A", Whole(|p| {
        let (root, a) = (p.gradient(A)?, p.input(Input::A)?);
        let a = if p.is_complex() { p.apply(Function::Conjugate, a) } else { a };
        let new = p.product([root, a]);
        p.set(A, new);
        Some(())
    })),
    fault("a-bar-reads-after", "Ā's derivative is multiplied by the state after the update in place of the one before (off by one)", Whole(|p| {
        p.shared_states(Side::Both, |p, _, scan| Some(p.graph.add(Op::Scan(Scan { exclusive: false, ..scan }))))
    })),
    fault("a-bar-slopes-times-denominator", "Ā is a quotient whose derivative has one power of the denominator too few", Whole(|p| {
        let step = p.find(Symbol::StepSize)?;
        let a = p.input(Input::A)?;
        let z = p.graph.find(&Op::Product(vec![step, a]))?;
        let of = p.a_bar()?;
        let inverse = p.graph.reached(&[of]).into_iter().find(|id| matches!(p.graph.op(*id), Op::Apply(Function::Resolvent(_), of) if *of == z))?;
        let inverse = p.apply(Function::Reciprocal, inverse);
        p.slopes([ABarByDelta, ABarByA], |p, slope| p.product([slope, inverse]))
    })),
    fault("masked-dropped", "positions whose delta and u are 0 add nothing to grad.delta, grad.delta_bias and grad.A", Whole(|p| p.without_masked())),
    // Softplus.
    fault("softplus-slope-missing", "the derivative of softplus is missing", Whole(|p| p.softplus_slope(|p, _| Some(p.number(1.0))))),
    fault("softplus-slope-without-bias", "the derivative of softplus is taken at delta, without the bias", Whole(|p| p.softplus_slope(|p, _| {
        let delta = p.input(Input::Delta)?;
        Some(p.apply(Function::Sigmoid, delta))
    }))),
    fault("softplus-slope-of-delta", "the derivative of softplus is taken at Δ, which went through softplus already", Whole(|p| p.softplus_slope(|p, _| {
        let step = p.find(Symbol::StepSize)?;
        Some(p.apply(Function::Sigmoid, step))
    }))),
    fault(CANCELS, "the derivative of softplus is taken as 1 − e^−Δ in f32, which cancels where Δ is small: −expm1(−Δ) does not", Whole(|p| p.softplus_slope(|p, _| {
        let (step, one) = (p.find(Symbol::StepSize)?, p.number(1.0));
        let negated = p.times(step, -1.0);
        let power = p.apply(Function::Exp, negated);
        let rounded = p.graph.add(Op::Round(power, InputType::F32));
        let taken = p.times(rounded, -1.0);
        Some(p.graph.sum([one, taken]))
    }))),
    fault("softplus-slope-squared", "the derivative of softplus is applied twice", Whole(|p| p.softplus_slope(|p, slope| Some(p.product([slope, slope]))))),
    fault("softplus-for-its-slope", "softplus stands in place of its derivative", Whole(|p| p.softplus_slope(|p, _| p.find(Symbol::StepSize)))),
    // The gate and the skip.
    fault("gate-missing-in-skip", "dout on the path of D, in grad.u and grad.D, has not been multiplied by the gate", Whole(|p| {
        let (gated, dout, _) = p.gated()?;
        let products = p.gated_products(gated, true)?;
        p.refactor(&products, gated, dout)
    })),
    fault("gate-in-d-missing", "dout in grad.D has not been multiplied by the gate", Whole(|p| {
        let (gated, dout, _) = p.gated()?;
        p.in_gradient(D, gated, dout)
    })),
    fault("gate-missing-in-scan", "dout is not multiplied by the gate where it enters the scan", Whole(|p| {
        let (gated, dout, _) = p.gated()?;
        let products = p.gated_products(gated, false)?;
        p.refactor(&products, gated, dout)
    })),
    fault("gate-missing-in-backward", "dout is not multiplied by the gate", Whole(|p| {
        let (gated, dout, _) = p.gated()?;
        p.replace(gated, dout);
        Some(())
    })),
    fault("gate-twice-in-backward", "dout is multiplied by the gate twice", Whole(|p| {
        let (gated, _, gate) = p.gated()?;
        let new = p.product([gated, gate]);
        p.replace(gated, new);
        Some(())
    })),
    fault("gate-slope-of-sigmoid", "the gate's derivative is that of the sigmoid", Whole(|p| p.gate_slope(|p, [_, s, o]| p.product([s, o])))),
    fault("gate-slope-sigmoid", "the sigmoid stands in place of the gate's derivative", Whole(|p| p.gate_slope(|_, [_, s, _]| s))),
    fault("gate-slope-silu", "the gate itself stands in place of its derivative", Whole(|p| p.gate_slope(|p, [z, s, _]| p.product([z, s])))),
    fault("gate-slope-sign", "the gate's derivative has a sign slip: σ(z)(1 − zσ(−z))", Whole(|p| p.gate_slope(|p, [z, s, o]| {
        let term = p.product([z, o]);
        let sum = p.one_plus(term, -1.0);
        p.product([s, sum])
    }))),
    fault("gate-slope-parenthesis", "the gate's derivative has a misplaced parenthesis: σ(z)(1 + z)σ(−z)", Whole(|p| p.gate_slope(|p, [z, s, o]| {
        let sum = p.one_plus(z, 1.0);
        p.product([s, sum, o])
    }))),
    fault("gate-slope-without-complement", "the gate's derivative lacks the factor σ(−z): σ(z)(1 + z)", Whole(|p| p.gate_slope(|p, [z, s, _]| {
        let sum = p.one_plus(z, 1.0);
        p.product([s, sum])
    }))),
    fault("gate-slope-sum", "the gate's derivative lacks a factor σ(z): σ(z) + zσ(−z)", Whole(|p| p.gate_slope(|p, [z, s, o]| {
        let term = p.product([z, o]);
        p.graph.sum([s, term])
    }))),
    fault("gate-slope-without-sigmoid", "the gate's derivative lacks the factor σ(z): 1 + zσ(−z)", Whole(|p| p.gate_slope(|p, [z, _, o]| {
        let term = p.product([z, o]);
        p.one_plus(term, 1.0)
    }))),
    fault("gate-slope-missing", "the gate's derivative is missing: grad.z is dout times the output before the gate", Whole(|p| p.gate_slope(|p, _| p.number(1.0)))),
    fault("z-of-gated-output", "grad.z is made of the gated output in place of the one before the gate", Whole(|p| {
        let (_, _, gate) = p.gated()?;
        p.gate_slope(|p, [z, s, o]| {
            let term = p.product([z, o]);
            let sum = p.one_plus(term, 1.0);
            p.product([s, sum, gate])
        })
    })),
    fault("z-without-skip", "grad.z lacks D·u", Whole(|p| p.before_gate(|_, y, _| y))),
    fault("z-of-skip-alone", "grad.z has D·u alone, without y", Whole(|p| p.before_gate(|_, _, skip| skip))),
    fault("z-skip-doubled", "grad.z has D·u twice", Whole(|p| p.before_gate(|p, y, skip| { let skip = p.times(skip, 2.0); p.graph.sum([y, skip]) }))),
    fault("z-output-halved", "grad.z has half of y", Whole(|p| p.before_gate(|p, y, skip| { let y = p.times(y, 0.5); p.graph.sum([y, skip]) }))),
    fault("z-output-doubled", "grad.z has y twice", Whole(|p| p.before_gate(|p, y, skip| { let y = p.times(y, 2.0); p.graph.sum([y, skip]) }))),
    fault("d-without-u", "grad.D lacks the factor u", Whole(|p| {
        let (u, one) = (p.input(Input::U)?, p.number(1.0));
        p.in_gradient(D, u, one)
    })),
    fault("u-without-skip", "grad.u lacks D·dout", Whole(|p| { let zero = p.number(0.0); p.skip_times(zero) })),
    fault("u-skip-doubled", "grad.u has D·dout twice", Whole(|p| { let two = p.number(2.0); p.skip_times(two) })),
    // The input term.
    fault("u-without-delta", "grad.u lacks the factor Δ", Whole(|p| {
        let (products, h) = p.input_products(Input::B)?;
        let new = p.without_step(h)?;
        p.refactor(&products, h, new)
    })),
    fault("u-without-h", "grad.u lacks the factor B̄/B", Whole(|p| {
        let (products, h) = p.input_products(Input::B)?;
        let one = p.number(1.0);
        p.refactor(&products, h, one)
    })),
    fault("u-without-b", "grad.u lacks the factor B", Whole(|p| {
        let ((products, _), b, one) = (p.input_products(Input::B)?, p.input(Input::B)?, p.number(1.0));
        p.refactor(&products, b, one)
    })),
    fault("u-b-before", "grad.u reads B of the position before", Whole(|p| p.u_reads_b(-1))),
    fault("u-b-after", "grad.u reads B of the position after", Whole(|p| p.u_reads_b(1))),
    fault("b-without-delta", "grad.B lacks the factor Δ", Whole(|p| {
        let (products, h) = p.input_products(Input::U)?;
        let new = p.without_step(h)?;
        p.refactor(&products, h, new)
    })),
    fault("b-without-h", "grad.B lacks the factor B̄/B", Whole(|p| {
        let (products, h) = p.input_products(Input::U)?;
        let one = p.number(1.0);
        p.refactor(&products, h, one)
    })),
    fault("b-without-u", "grad.B lacks the factor u", Whole(|p| {
        let ((products, _), u, one) = (p.input_products(Input::U)?, p.input(Input::U)?, p.number(1.0));
        p.refactor(&products, u, one)
    })),
    fault("c-reads-before", "grad.C is made of x_{l−1} in place of x_l", Whole(|p| {
        let root = p.gradient(C)?;
        let mut new = root;
        for (id, _) in p.state_ids() {
            let scan = p.scan(id)?;
            if scan.exclusive == p.problem.reads_before() {
                let other = p.graph.add(Op::Scan(Scan { exclusive: !scan.exclusive, ..scan }));
                new = p.within(new, id, other);
            }
        }
        p.set(C, new);
        Some(())
    })),
    fault("b-and-c-exchanged", "grad.B and grad.C stand in each other's place", Whole(|p| {
        let (b, c) = (p.gradient(B)?, p.gradient(C)?);
        (p.problem.b_operand == p.problem.c_operand).then(|| { p.set(B, c); p.set(C, b); })
    })),
    // The adjoint.
    fault("no-recurrence", "no adjoint is carried from position to position", Whole(|p| p.decays(Side::Both, |p, _| p.number(0.0)))),
    fault("carry-of-own-position", "the adjoint of position l + 1 is multiplied by Ā_l in place of Ā_{l+1}", Whole(|p| { let own = p.a_bar()?; p.decays(Side::Both, |_, _| own) })),
    fault("carry-without-a-bar", "the adjoint is carried without Ā", Whole(|p| p.decays(Side::Both, |p, _| p.number(1.0)))),
    fault("reversed-carry-of-own-position", "the reversed scan's adjoint is multiplied by Ā of the wrong position", Whole(|p| { let own = p.a_bar()?; p.decays(Side::Reversed, |_, _| own) })),
    fault("reversed-no-recurrence", "the reversed scan carries no adjoint", Whole(|p| p.decays(Side::Reversed, |p, _| p.number(0.0)))),
    fault("reversed-carry-without-a-bar", "the reversed scan's adjoint is carried without Ā", Whole(|p| p.decays(Side::Reversed, |p, _| p.number(1.0)))),
    fault("forward-carry-of-own-position", "the forward scan's adjoint is multiplied by Ā of the wrong position", Whole(|p| { let own = p.a_bar()?; p.decays(Side::Forward, |_, _| own) })),
    fault("forward-no-recurrence", "the forward scan carries no adjoint", Whole(|p| p.decays(Side::Forward, |p, _| p.number(0.0)))),
    fault("forward-carry-without-a-bar", "the forward scan's adjoint is carried without Ā", Whole(|p| p.decays(Side::Forward, |p, _| p.number(1.0)))),
    fault("dlast-state-ignored", "dlast_state is ignored", Whole(|p| { let zero = p.number(0.0); p.last_times(zero) })),
    fault("dlast-state-everywhere", "dlast_state is added at every position", Whole(|p| { let (id, yes) = p.last()?; p.replace(id, yes); Some(()) })),
    fault("dlast-state-in-both-scans", "dlast_state enters the reversed scan as well", Whole(|p| {
        let (_, yes) = p.last()?;
        let zero = p.number(0.0);
        let when = Condition::At(Place::positions(Set::Only(0)));
        let entering = p.graph.add(Op::Choose { when, yes, no: zero });
        p.is_bidirectional().then_some(())?;
        p.adjoints(Side::Reversed, |p, scan| Some(Scan { drive: p.graph.sum([scan.drive, entering]), ..scan }))
    })),
    fault("dlast-state-doubled", "dlast_state has the factor 2 of complex outputs", Whole(|p| { p.is_complex().then_some(())?; let two = p.number(2.0); p.last_times(two) })),
    fault("dlast-state-halved", "dlast_state has the ½ of both directions", Whole(|p| { p.is_bidirectional().then_some(())?; let half = p.number(0.5); p.last_times(half) })),
    fault("dlast-state-times-a-bar", "dlast_state is multiplied by Ā of the last position before it enters", Whole(|p| { let a_bar = p.a_bar()?; p.last_times(a_bar) })),
    fault("dlast-state-unconjugated", "dlast_state is taken for its conjugate", Whole(|p| { let (_, yes) = p.last()?; let new = p.unconjugated(yes)?; p.replace(yes, new); Some(()) })),
    fault("initial-state-ignored", "the backward pass starts its states from 0 in place of the initial state", Whole(|p| {
        p.input(Input::InitialState)?;
        p.states(Side::Forward, |p, scan| { let start = p.number(0.0); Some(p.graph.add(Op::Scan(Scan { start, ..scan }))) })
    })),
    fault("initial-state-undecayed", "grad.initial_state lacks Ā of the first position", Whole(|p| { let (a_bar, one) = (p.a_bar()?, p.number(1.0)); p.initial(a_bar, one) })),
    fault("state-in-share-starts-with-zero", "Ā's share has 0 for the initial state", Whole(|p| {
        let zero = p.number(0.0);
        let when = Condition::At(Place::positions(Set::Only(0)));
        p.shared_states(Side::Forward, |p, id, _| Some(p.graph.add(Op::Choose { when, yes: zero, no: id })))
    })),
    // Inputs.
    fault("b-of-first-batch", "the backward pass reads B of the batch's first item for all", Whole(|p| p.misread(Input::B, (Axis::Item, Index::At(0))))),
    fault("c-of-first-batch", "the backward pass reads C of the batch's first item for all", Whole(|p| p.misread(Input::C, (Axis::Item, Index::At(0))))),
    fault("u-of-first-batch", "the backward pass reads u of the batch's first item for all", Whole(|p| p.misread(Input::U, (Axis::Item, Index::At(0))))),
    fault("delta-of-first-batch", "the backward pass reads delta of the batch's first item for all", Whole(|p| p.misread(Input::Delta, (Axis::Item, Index::At(0))))),
    fault("b-of-modulo-group", "channel d reads B of group d mod groups, or head h of group h mod groups", Whole(|p| p.misread(Input::B, (Axis::Group, Index::Modulo(p.problem.shape.groups as u32))))),
    fault("c-of-modulo-group", "channel d reads C of group d mod groups, or head h of group h mod groups", Whole(|p| p.misread(Input::C, (Axis::Group, Index::Modulo(p.problem.shape.groups as u32))))),
    fault("b-sum-in-modulo-group", "grad.B of channel d is added to group d mod groups, or of head h to group h mod groups", Whole(|p| p.sum_in_modulo_group(B))),
    fault("c-sum-in-modulo-group", "grad.C of channel d is added to group d mod groups, or of head h to group h mod groups", Whole(|p| p.sum_in_modulo_group(C))),
    // Both directions.
    fault("reversed-state-of-other-side", "the reversed scan's Ā is multiplied by its state at l − 1 in place of l + 1", Whole(|p| {
        p.is_bidirectional().then_some(())?;
        p.shared_states(Side::Reversed, |p, _, scan| {
            let of = p.graph.add(Op::Scan(Scan { exclusive: false, ..scan }));
            Some(p.graph.add(Op::At { of, axis: Axis::Position, index: Index::Shifted(-1) }))
        })
    })),
    fault("reversed-state-of-forward", "the reversed scan's Ā is multiplied by the forward scan's state", Whole(|p| {
        p.is_bidirectional().then_some(())?;
        let forward = p.scan(p.find(Symbol::State)?)?;
        let forward = p.arriving(forward);
        p.shared_states(Side::Reversed, |_, _, _| Some(forward))
    })),
    fault("state-in-share-forward-alone", "Ā's share lacks that of the reversed scan", Whole(|p| {
        p.is_bidirectional().then_some(())?;
        p.shared_states(Side::Reversed, |p, _, _| Some(p.number(0.0)))
    })),
    fault("reversed-missing", "the reversed scan has no backward pass", Whole(|p| p.directions([1.0, 0.0]))),
    fault("forward-missing", "the forward scan's outputs have no backward pass", Whole(|p| p.directions([0.0, 1.0]))),
    fault("half-missing", "the gradients of both directions are summed, without ½", Whole(|p| p.directions([2.0, 2.0]))),
    fault("reversed-missing-and-half", "the reversed scan has no backward pass, and the forward one no ½", Whole(|p| p.directions([2.0, 0.0]))),
    // Complex numbers.
    fault("output-factor-missing", "dout enters the scan without the factor 2 of complex outputs", Whole(|p| p.output_factor(0.5))),
    fault("output-factor-twice", "dout enters the scan with one factor 2 too many", Whole(|p| p.output_factor(2.0))),
    fault("a-bar-unconjugated", "Ā is not conjugated in the adjoint recurrence", Whole(|p| {
        let a_bar = p.a_bar()?;
        let other = p.unconjugated(a_bar)?;
        let _ = p.initial(a_bar, other);
        p.decays(Side::Both, |p, decay| p.apply(Function::Conjugate, decay))
    })),
    fault("c-unconjugated", "C is not conjugated where dout enters the adjoint", Whole(|p| {
        let c = p.input(Input::C)?;
        let other = p.unconjugated(c)?;
        p.adjoints(Side::Both, |p, scan| Some(Scan { drive: p.within(scan.drive, c, other), ..scan }))
    })),
    fault("state-unconjugated", "the state is not conjugated in Ā's share", Whole(|p| p.shared_states(Side::Both, |p, id, _| p.unconjugated(id)))),
    fault("b-unconjugated", "B is not conjugated in the gradients of what it multiplies", Whole(|p| {
        let b = p.input(Input::B)?;
        let other = p.unconjugated(b)?;
        let products: Vec<Id> = p.adjoint_ids().into_iter().flat_map(|(id, _)| p.products(&[id, b])).collect();
        p.refactor(&products, b, other)
    })),
    fault("h-unconjugated", "B̄/B is not conjugated in grad.u and grad.B", Whole(|p| {
        let h = p.find(Symbol::H)?;
        let other = p.unconjugated(h)?;
        let products: Vec<Id> = p.adjoint_ids().into_iter().flat_map(|(id, _)| p.products(&[id, h])).collect();
        p.refactor(&products, h, other)
    })),
    fault("slopes-unconjugated", "the derivatives of Ā and B̄ are not conjugated", Whole(|p| {
        p.slopes_unconjugated([ABarByDelta, ABarByA]);
        p.slopes_unconjugated([HByDelta, HByA]);
        Some(())
    })),
    fault("a-bar-slopes-unconjugated", "the derivatives of Ā are not conjugated", Whole(|p| p.slopes_unconjugated([ABarByDelta, ABarByA]))),
    fault("h-slopes-unconjugated", "the derivatives of B̄ are not conjugated", Whole(|p| p.slopes_unconjugated([HByDelta, HByA]))),
    fault("a-unconjugated", "A is not conjugated in Ā's share of grad.delta", Whole(|p| {
        let a = p.input(Input::A)?;
        let (other, inverse) = (p.unconjugated(a)?, p.apply(Function::Reciprocal, a));
        p.slope(ABarByDelta, |p, slope| p.product([slope, other, inverse]))
    })),
    fault("slopes-by-delta-real-part", "of the derivatives by Δ real parts alone are multiplied", Whole(|p| p.real_parts([ABarByDelta, HByDelta]))),
    fault("slopes-by-a-real-part", "of the derivatives by A real parts alone are multiplied", Whole(|p| p.real_parts([ABarByA, HByA]))),
    // Whole gradients, each by itself.
    fault("gradient-zero", "the gradient is 0", Gradient(|p, _, _| Some(p.number(0.0)))),
    // Sums: what they lack, and averages.
    fault("batch-averaged", "the sum over the batch is an average", Gradient(|p, _, id| p.averaged(id, |over| over == Over::Items))),
    fault("group-averaged", "the sum over a group is an average", Gradient(|p, _, id| p.averaged(id, is_of_channels))),
    fault("positions-averaged", "the sum over positions is an average", Gradient(|p, _, id| p.averaged(id, |over| over == Over::Positions))),
    fault("batch-first-alone", "the sum over the batch has its first item alone", Gradient(|p, _, id| p.lacking(id, |over| over == Over::Items, |_| Set::From(1)))),
    fault("batch-last-alone", "the sum over the batch has its last item alone", Gradient(|p, _, id| p.lacking(id, |over| over == Over::Items, Set::Until))),
    fault("group-first-alone", "the sum over a group has its first channel alone", Gradient(|p, _, id| p.lacking(id, is_of_channels, |_| Set::From(1)))),
    fault("group-last-alone", "the sum over a group has its last channel alone", Gradient(|p, _, id| p.lacking(id, is_of_channels, Set::Until))),
    fault("position-first-alone", "the sum over positions has the first alone", Gradient(|p, _, id| p.lacking(id, |over| over == Over::Positions, |_| Set::From(1)))),
    fault("position-last-alone", "the sum over positions has the last alone", Gradient(|p, _, id| p.lacking(id, |over| over == Over::Positions, Set::Until))),
    fault("sum-without-first", "the sum over positions lacks the first", Gradient(|p, _, id| p.lacking(id, |over| over == Over::Positions, |_| Set::Only(0)))),
    fault("sum-without-last", "the sum over positions lacks the last", Gradient(|p, _, id| p.lacking(id, |over| over == Over::Positions, Set::Only))),
    fault("delta-one-state", "the sum over the states has the first alone", Gradient(|p, name, id| p.of_states(name, id, |_| Set::From(1)))),
    fault("delta-last-state-alone", "the sum over the states has the last alone", Gradient(|p, name, id| p.of_states(name, id, Set::Until))),
    fault("gradient-doubled", "the gradient is twice what it is to be", Gradient(|p, _, id| Some(p.times(id, 2.0)))),
    fault("gradient-halved", "the gradient is half of what it is to be", Gradient(|p, _, id| Some(p.times(id, 0.5)))),
    fault("gradient-negated", "the gradient has the wrong sign", Gradient(|p, _, id| Some(p.times(id, -1.0)))),
    fault("gradient-conjugated", "the gradient is conjugated", Gradient(|p, name, id| p.of_complex(name, id, Function::Conjugate))),
    fault("gradient-real-part", "the gradient has no imaginary part", Gradient(|p, name, id| p.of_complex(name, id, Function::RealPart))),
    fault("gradient-parts-exchanged", "real and imaginary parts stand in each other's place", Gradient(|p, name, id| p.of_complex(name, id, Function::PartsExchanged))),
    fault("gradient-reversed", "the gradient runs from the last position to the first", Gradient(|p, _, id| p.along(id, Index::Reversed))),
    fault("gradient-one-later", "each position has the gradient of the one before it", Gradient(|p, _, id| p.along(id, Index::Shifted(-1)))),
    fault("gradient-one-earlier", "each position has the gradient of the one after it", Gradient(|p, _, id| p.along(id, Index::Shifted(1)))),
    fault("gradient-overflows-f16", "what is beyond 65504, the range of f16, is infinite", Gradient(|p, _, id| {
        // In f32 it is beyond all numbers.
        let no = p.times(id, f64::from(f32::MAX));
        Some(p.graph.add(Op::Choose { when: Condition::Below(id, Real::new(F16_MAX)), yes: id, no }))
    })),
    fault("gradient-saturates-f16", "what is beyond 65504, the range of f16, is cut to it", Gradient(|p, _, of| {
        Some(p.graph.add(Op::Limit { of, low: Real::new(-F16_MAX), high: Real::new(F16_MAX) }))
    })),
    fault("gradient-narrow", "the gradient is rounded to {}", NarrowGradient(|p, id, to| Some(p.graph.add(Op::Round(id, to))))),
    fault("gradient-narrow", "the gradient is cut to {}, not rounded to nearest", NarrowGradient(|p, id, to| Some(p.graph.add(Op::CutOff(id, to))))),
    // What is kept in a narrow type.
    fault("gated-dout-{}", "dout times the gate is kept in {}", Narrow(|p, to| {
        let (gated, ..) = p.gated()?;
        let new = p.graph.add(Op::Round(gated, to));
        p.replace(gated, new);
        Some(())
    })),
    fault("adjoint-{}", "the adjoint is kept in {}", Narrow(|p, to| p.adjoints(Side::Both, |_, scan| Some(Scan { stored: Some((to, None)), ..scan })))),
    fault("state-in-backward-{}", "the backward pass keeps its states in {}", Narrow(|p, to| p.states(Side::Both, |p, scan| Some(p.graph.add(Op::Scan(Scan { stored: Some((to, None)), ..scan })))))),
    fault("sum-in-{}", "the sum over positions is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Positions, Accumulator { to, rounds_added: false, backwards: false }))),
    fault("sum-from-last-in-{}", "the sum over positions, from the last one on, is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Positions, Accumulator { to, rounds_added: false, backwards: true }))),
    fault("rounded-sum-in-{}", "what is added and the sum over positions are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Positions, Accumulator { to, rounds_added: true, backwards: false }))),
    fault("rounded-sum-from-last-in-{}", "what is added and the sum over positions, from the last one on, are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Positions, Accumulator { to, rounds_added: true, backwards: true }))),
    fault("sum-over-batch-in-{}", "the sum over batch and positions is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::ItemsAndPositions, Accumulator { to, rounds_added: false, backwards: false }))),
    fault("sum-over-batch-from-last-in-{}", "the sum over batch and positions, from the last one on, is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::ItemsAndPositions, Accumulator { to, rounds_added: false, backwards: true }))),
    fault("rounded-sum-over-batch-in-{}", "what is added and the sum over batch and positions are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::ItemsAndPositions, Accumulator { to, rounds_added: true, backwards: false }))),
    fault("rounded-sum-over-batch-from-last-in-{}", "what is added and the sum over batch and positions, from the last one on, are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::ItemsAndPositions, Accumulator { to, rounds_added: true, backwards: true }))),
    fault("group-sum-in-{}", "the sum over the channels of a group is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Channels(0), Accumulator { to, rounds_added: false, backwards: false }))),
    fault("group-sum-from-last-in-{}", "the sum over the channels of a group, from the last one on, is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Channels(0), Accumulator { to, rounds_added: false, backwards: true }))),
    fault("rounded-group-sum-in-{}", "what is added and the sum over the channels of a group are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Channels(0), Accumulator { to, rounds_added: true, backwards: false }))),
    fault("rounded-group-sum-from-last-in-{}", "what is added and the sum over the channels of a group, from the last one on, are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::Channels(0), Accumulator { to, rounds_added: true, backwards: true }))),
    fault("state-sum-in-{}", "the sum over the states is kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::States, Accumulator { to, rounds_added: false, backwards: false }))),
    fault("rounded-state-sum-in-{}", "what is added and the sum over the states are kept in {}", NarrowGradient(|p, id, to| p.kept(id, Over::States, Accumulator { to, rounds_added: true, backwards: false }))),
    fault("added-in-{}", "what each position adds to a sum is rounded to {}", NarrowGradient(|p, id, to| p.rounded(id, |over| over == Over::Positions, to))),
    fault("added-to-group-in-{}", "what each channel of a group adds to its sum is rounded to {}", NarrowGradient(|p, id, to| p.rounded(id, is_of_channels, to))),
    fault("state-share-in-{}", "what each state adds to a sum is rounded to {}", NarrowGradient(|p, id, to| p.rounded(id, |over| over == Over::States, to))),
    // Where chunks begin.
    fault("adjoint-lost", "the adjoint is lost", Adjoints(|p, scan, at| p.scaled(scan, at, 0.0))),
    fault("adjoint-undecayed", "the adjoint passes without Ā", Adjoints(|p, scan, at| { let one = p.number(1.0); Some(p.decayed(scan, at, one)) })),
    fault("state-in-backward-lost", "the backward pass loses the state", States(|p, scan, _, at| p.carried(scan, at, 0.0))),
    fault("adjoint-doubled", "the adjoint counts twice", Adjoints(|p, scan, at| p.scaled(scan, at, 2.0))),
    fault("adjoint-halved", "the adjoint counts half", Adjoints(|p, scan, at| p.scaled(scan, at, 0.5))),
    fault("adjoint-negated", "the adjoint has the wrong sign", Adjoints(|p, scan, at| p.scaled(scan, at, -1.0))),
    fault("adjoint-decayed-twice", "the adjoint is multiplied by Ā twice", Adjoints(|p, scan, at| { let by = p.product([scan.decay, scan.decay]); Some(p.decayed(scan, at, by)) })),
    fault("adjoint-decayed-by-own", "the adjoint is multiplied by Ā of the position that it arrives at", Adjoints(|p, scan, at| { let own = p.a_bar()?; Some(p.decayed(scan, at, own)) })),
    fault("dlast-state-again", "dlast_state is added again", Adjoints(|p, scan, at| {
        let (_, yes) = p.last()?;
        let no = p.number(0.0);
        let again = p.graph.add(Op::Choose { when: Condition::At(Place::positions(at)), yes, no });
        Some(Scan { drive: p.graph.sum([scan.drive, again]), ..scan })
    })),
    fault("adjoint-bf16", "the adjoint is kept in bf16", Adjoints(|_, scan, at| Some(Scan { stored: Some((InputType::Bf16, Some(at))), ..scan }))),
    fault("adjoint-f16", "the adjoint is kept in f16", Adjoints(|_, scan, at| Some(Scan { stored: Some((InputType::F16, Some(at))), ..scan }))),
    fault("state-in-backward-doubled", "the state of the backward pass counts twice", States(|p, scan, _, at| p.carried(scan, at, 2.0))),
    fault("state-in-backward-undecayed", "the state of the backward pass is carried on without Ā", States(|p, scan, _, at| { let by = p.number(1.0); let new = p.decayed(scan, at, by); Some(p.graph.add(Op::Scan(new))) })),
    fault("state-in-backward-decayed-twice", "the state of the backward pass is multiplied by Ā twice", States(|p, scan, _, at| { let by = p.product([scan.decay, scan.decay]); let new = p.decayed(scan, at, by); Some(p.graph.add(Op::Scan(new))) })),
    fault("initial-state-again", "the backward pass starts from the initial state again", States(|p, scan, _, at| { p.input(Input::InitialState)?; Some(p.restarted(scan, at, scan.start)) })),
    fault("state-of-chunk-before", "the backward pass starts from the state that the chunk before has started from", States(|p, scan, length, at| p.restarted_before(scan, at, length))),
    fault("state-one-before", "the backward pass starts from the state of one position before", States(|p, scan, _, at| p.restarted_before(scan, at, 1))),
    fault("state-bf16", "the state that the backward pass starts from is kept in bf16", States(|p, scan, _, at| p.restarted_in(scan, at, InputType::Bf16))),
    fault("state-f16", "the state that the backward pass starts from is kept in f16", States(|p, scan, _, at| p.restarted_in(scan, at, InputType::F16))),
    fault("state-unread", "Ā's share has 0 for the state before", Shares(|p, id, at| {
        let yes = p.number(0.0);
        Some(p.graph.add(Op::Choose { when: Condition::At(Place::positions(at)), yes, no: id }))
    })),
    fault("state-after-read", "Ā's share has the state after the step in place of the one before", Shares(|p, id, at| {
        let scan = p.scan(id)?;
        let yes = p.graph.add(Op::Scan(Scan { exclusive: false, ..scan }));
        Some(p.graph.add(Op::Choose { when: Condition::At(Place::positions(at)), yes, no: id }))
    })),
    fault("decayed-to-{}", "dlast_state decays through a padding to a multiple of {}, with delta = 0 and u = 0", Padded(|p, count| {
        let (state, (id, _)) = (p.find(Symbol::State)?, p.last()?);
        let decay = padded_decay(p.graph, state)?;
        let new = p.product([vec![id], vec![decay; count as usize]].concat());
        p.replace(id, new);
        Some(())
    })),
    // Parts with a factor that is found.
    fault("a-bar-share-scaled", "Ā's share", Factor(|p, by| p.slopes([ABarByDelta, ABarByA], |p, slope| p.product([by, slope])))),
    fault("h-share-scaled", "B̄'s share", Factor(|p, by| p.slopes([HByDelta, HByA], |p, slope| p.product([by, slope])))),
    fault("a-bar-share-of-delta-scaled", "Ā's share of grad.delta", Factor(|p, by| p.slope(ABarByDelta, |p, slope| p.product([by, slope])))),
    fault("h-share-of-delta-scaled", "B̄'s share of grad.delta", Factor(|p, by| p.slope(HByDelta, |p, slope| p.product([by, slope])))),
    fault("a-bar-share-of-a-scaled", "Ā's share of grad.A", Factor(|p, by| p.slope(ABarByA, |p, slope| p.product([by, slope])))),
    fault("h-share-of-a-scaled", "B̄'s share of grad.A", Factor(|p, by| p.slope(HByA, |p, slope| p.product([by, slope])))),
    fault("skip-scaled", "D·dout", Factor(|p, by| p.skip_times(by))),
    fault("z-output-scaled", "y", Factor(|p, by| p.before_gate(|p, y, skip| { let y = p.product([by, y]); p.graph.sum([y, skip]) }))),
    fault("z-skip-scaled", "D·u", Factor(|p, by| p.before_gate(|p, y, skip| { let skip = p.product([by, skip]); p.graph.sum([y, skip]) }))),
    fault("dlast-state-scaled", "dlast_state", Factor(|p, by| p.last_times(by))),
    fault("initial-state-scaled", "the initial state", Factor(|p, by| {
        p.input(Input::InitialState)?;
        p.states(Side::Forward, |p, scan| { let start = p.product([by, scan.start]); Some(p.graph.add(Op::Scan(Scan { start, ..scan }))) })
    })),
    fault("dout-in-adjoint-scaled", "dout in the adjoint", Factor(|p, by| p.entering_times(Side::Both, by, false))),
    fault("dout-in-scan-scaled", "dout in the scan", Factor(|p, by| p.entering_times(Side::Both, by, true))),
    fault("reversed-scaled", "the reversed scan", Factor(|p, by| { p.is_bidirectional().then_some(())?; p.entering_times(Side::Reversed, by, true) })),
    fault("forward-scaled", "the forward scan", Factor(|p, by| { p.is_bidirectional().then_some(())?; p.entering_times(Side::Forward, by, true) })),
    fault("exponent-scaled", "z in Ā", Factor(|p, by| {
        let (a_bar, step, a) = (p.a_bar()?, p.find(Symbol::StepSize)?, p.input(Input::A)?);
        let z = p.graph.find(&Op::Product(vec![step, a]))?;
        let scaled = p.product([by, z]);
        let new = p.within(a_bar, z, scaled);
        p.replace(a_bar, new);
        Some(())
    })),
    fault("gradient-scaled", "the whole gradient", Factor(|p, by| {
        p.each_gradient(|p, _, id| Some(p.product([by, id])));
        Some(())
    })),
];

/// The largest number of f16.
const F16_MAX: f64 = 65504.0;
