//! Which numbers a scan reads of its inputs, and what it takes for u: each input along each of its axes.

use super::changes::{Change, Part};
use crate::judge::faults::around::UUse;
use crate::judge::faults::place::{Input, Map, Place};
use crate::judge::faults::variant::{Group, Variant};
use crate::problem::{Operand, Problem};

/// Groups next to the first one, on either side around the end, that are tried in the place of others.
const FEW_GROUPS: usize = 8;

/// An axis: its name, its length, and its part of a place.
type Axis = (&'static str, usize, fn(&mut Place) -> &mut Map);

/// u as it is used.
pub fn inputs_as_used(problem: &Problem) -> Vec<Change> {
    let mut all = Vec::new();
    let uses = [
        ("silu", "goes through silu", UUse::Silu),
        ("gated", "is gated", UUse::Gated),
        ("missing", "is missing", UUse::One),
        ("squared", "is squared", UUse::Squared),
        ("relu", "goes through relu", UUse::Relu),
        ("tanh", "goes through tanh", UUse::Tanh),
        ("times-delta", "is multiplied by Δ once more", UUse::TimesDelta),
        ("late", "is that of l − 1", UUse::At(-1)),
        ("early", "is that of l + 1", UUse::At(1)),
    ];
    for (name, what, of) in uses {
        if of == UUse::Gated && problem.z.is_none() {
            continue;
        }
        if of != UUse::TimesDelta {
            let what = format!(
                "u {what} on its way into the scan{}",
                if problem.d.is_some() { ", not in the skip" } else { "" }
            );
            all.push(Change::new(Part::UValue, format!("u-{name}"), what, move |v: &mut Variant| {
                v.u_use[0] = of
            }));
        }
        if problem.d.is_some() {
            let what_of_skip = format!("u {what} in the skip, not in the scan");
            all.push(Change::new(
                Part::UValue,
                format!("u-{name}-in-skip"),
                what_of_skip,
                move |v: &mut Variant| v.u_use[1] = of,
            ));
            if !matches!(of, UUse::At(_) | UUse::TimesDelta) {
                let what = format!("u {what}, in scan and skip");
                all.push(Change::new(
                    Part::UValue,
                    format!("u-{name}-in-both"),
                    what,
                    move |v: &mut Variant| v.u_use = [of; 2],
                ));
            }
        }
    }
    all
}

fn plural(axis: &str) -> &str {
    match axis {
        "batch" => "batches",
        "channel" => "channels",
        "state" => "states",
        _ => "positions",
    }
}

/// Each input along each of its axes.
pub fn all(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let (variable_b, variable_c) =
        (problem.b_operand == Operand::Variable, problem.c_operand == Operand::Variable);
    // Name, the inputs that are read together, and which axes they have: batch, channel, state, position.
    let inputs: [(&str, &'static [Input], [bool; 4]); 11] = [
        ("u", &[Input::U], [true, true, false, true]),
        ("delta", &[Input::Delta], [true, true, false, true]),
        ("z", &[Input::Z], [problem.z.is_some(), problem.z.is_some(), false, problem.z.is_some()]),
        ("a", &[Input::A], [false, true, true, false]),
        ("b", &[Input::B], [variable_b, !variable_b, true, variable_b]),
        ("c", &[Input::C], [variable_c, !variable_c, true, variable_c]),
        ("d", &[Input::D], [false, problem.d.is_some(), false, false]),
        ("bias", &[Input::Bias], [false, problem.delta_bias.is_some(), false, false]),
        ("b-and-c", &[Input::B, Input::C], [variable_b && variable_c, false, true, variable_b && variable_c]),
        (
            "a-d-and-bias",
            &[Input::A, Input::D, Input::Bias],
            [false, problem.d.is_some() || problem.delta_bias.is_some(), false, false],
        ),
        (
            "every-input",
            &[Input::U, Input::Delta, Input::Z, Input::B, Input::C],
            [variable_b || variable_c, false, false, true],
        ),
    ];
    let written = |name: &str| match name {
        "u" | "z" => name.to_owned(),
        "a" | "b" | "c" | "d" => name.to_uppercase(),
        "bias" => "delta_bias".to_owned(),
        "b-and-c" => "each of B and C".to_owned(),
        "a-d-and-bias" => "each of A, D and delta_bias".to_owned(),
        "every-input" => "every input".to_owned(),
        other => other.to_owned(),
    };
    let mut all = Vec::new();
    for (name, inputs, has) in inputs {
        let axes: [Axis; 4] = [
            ("batch", shape.batch, |p| &mut p.batch),
            ("channel", shape.dim, |p| &mut p.channel),
            ("state", shape.dstate, |p| &mut p.state),
            ("position", shape.seqlen, |p| &mut p.l),
        ];
        for (axis, n, of) in
            axes.into_iter().zip(has).filter(|(axis, has)| *has && axis.1 > 1).map(|(axis, _)| axis)
        {
            let mut maps = Vec::new();
            let mut add = |place: String, what: String, map: Map| maps.push((place, what, map));
            add(format!("of-first-{axis}"), format!("is that of {axis} 0 for all"), Map::At(0));
            let what = format!("is read from the last {axis} to the first");
            add(format!("{}-reversed", plural(axis)), what, Map::Reversed);
            // What is once around the end is where it was.
            let mut rolled = vec![0];
            for by in [1isize, -1, 2, -2] {
                let sign = if by > 0 { "+" } else { "−" };
                let what = format!("of {axis} i is that of i {sign} {}", by.abs());
                let place = format!("{axis}-off-by-{}", by.abs());
                if !rolled.contains(&by.rem_euclid(n as isize)) {
                    rolled.push(by.rem_euclid(n as isize));
                    add(place.clone(), format!("{what}, around the end"), Map::Rolled(by));
                }
                if axis == "position" {
                    add(place, format!("{what}, 0 beyond the ends"), Map::Shifted(by));
                }
            }
            for (of, other, map) in
                [("batch", shape.batch, Map::OfBatch), ("channel", shape.dim, Map::OfChannel)]
            {
                let is_new = matches!((axis, of), ("channel", "batch") | ("state", "channel"));
                if is_new && other > 1 {
                    let what = format!("is taken by the index of the {of} in place of that of the {axis}");
                    add(format!("{axis}-by-{of}"), what, map);
                }
            }
            if axis == "channel" {
                add(format!("of-last-{axis}"), format!("is that of the last {axis} for all"), Map::At(n - 1));
                for k in 2..n.min(9) {
                    add(format!("{axis}-modulo"), format!("of {axis} i is that of i % {k}"), Map::Modulo(k));
                }
                // The channels of a head that share what is one number for each head: heads of real models have 16 to 128.
                let heads = [16, 32, 64, 128].into_iter().filter(|k| *k < n);
                for k in (2..n.min(9)).chain(heads) {
                    let what = format!("of {axis} i is that of the first one of its block of {k}");
                    add(format!("{axis}-of-block"), what, Map::Floor(k));
                }
                for k in 2..n.min(9) {
                    add(
                        format!("{axis}-divided"),
                        format!("of {axis} i is that of i / {k}"),
                        Map::Divided(k),
                    );
                }
            }
            for (place, what, map) in maps {
                let part = Part::Place(inputs[0] as usize);
                let what = format!("{} {what}", written(name));
                all.push(Change::new(part, format!("{name}-{place}"), what, move |v: &mut Variant| {
                    inputs.iter().for_each(|&input| *of(&mut v.places[input as usize]) = map);
                }));
            }
        }
        let transposes = matches!(name, "u" | "delta" | "z" | "a")
            && has[1]
            && (name == "a" && shape.dstate > 1 || shape.seqlen > 1);
        if transposes {
            let part = Part::Place(inputs[0] as usize);
            let what = format!("{} is read along the wrong axis", written(name));
            all.push(Change::new(part, format!("{name}-transposed"), what, move |v: &mut Variant| {
                v.places[inputs[0] as usize].transposed = true
            }));
        }
    }
    all.extend(groups(problem));
    all
}

/// Groups that channels read, of B and C or of one of them.
fn groups(problem: &Problem) -> Vec<Change> {
    let groups = problem.shape.groups;
    let variable = [problem.b_operand, problem.c_operand].map(|operand| operand == Operand::Variable);
    if groups < 2 || variable == [false; 2] {
        return Vec::new();
    }
    // As a group may be a single channel, there are thousands at times.
    let likely = |group: &usize| group.min(&(groups - group)) <= &FEW_GROUPS;
    let mut ways: Vec<(&str, String, Group)> = (0..groups)
        .filter(likely)
        .map(|group| ("group-for-all", format!("every channel reads group {group}"), Group::At(group)))
        .collect();
    ways.extend((1..groups).filter(likely).map(|by| {
        let what = format!("a channel of group g reads group g + {by}, around the end");
        ("group-off", what, Group::Rolled(by))
    }));
    // With a group for each channel that is right.
    if groups < problem.shape.dim {
        ways.push(("group-modulo", "channel d reads group d % groups".to_owned(), Group::Modulo));
        let right = problem.shape.dim / groups;
        let others = (2..problem.shape.dim.min(2 * FEW_GROUPS + 2)).filter(|k| *k != right);
        ways.extend(others.map(|k| {
            ("group-divided", format!("channel d reads group d / {k} % groups"), Group::Divided(k))
        }));
    }
    let mut all = Vec::new();
    for (of, prefix, place) in [
        (&[0usize, 1][..], "", ""),
        (&[0][..], "b-", " of B, and its own of C"),
        (&[1][..], "c-", " of C, and its own of B"),
    ] {
        // Both of which one is constant is the other alone; the modulus of both is a fault model.
        let is_one = of.len() == 1;
        if is_one && variable != [true; 2] {
            continue;
        }
        for (name, what, group) in ways.iter().filter(|way| is_one || way.2 != Group::Modulo) {
            let group = *group;
            all.push(Change::new(
                Part::Group,
                format!("{prefix}{name}"),
                format!("{what}{place}"),
                move |v: &mut Variant| of.iter().for_each(|&i| v.groups[i] = group),
            ));
        }
    }
    all
}
