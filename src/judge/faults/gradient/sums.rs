//! A gradient as a sum whose members count more or less often than once, found by least squares: over the batch, the channels
//! of a group, the states, or chunks of positions. And a gradient whose slices along an axis are sums of the right ones.

use super::adjoint::{Scope, is_summed};
use super::diagnose::{Look, NOTICED, PAIRS, TELLING, number};
use super::variant::{GateSlope, Pick, SoftplusSlope, Variant};
use crate::problem::{Operand, Shape};
use crate::results::Diagnosis;
use crate::tensor::GradientName::{A, B, C, D, Delta, DeltaBias, U, Z};

/// The most members of a sum, and slices along an axis.
const MEMBERS: usize = 64;
/// Equations for each number that is found, at least.
const EQUATIONS: usize = 2;
/// Lengths of chunks that are tried as members.
const CHUNKS: [usize; 8] = [1, 8, 16, 32, 64, 128, 256, 512];

/// And how many lanes take positions in turn.
const LANES: [usize; 5] = [2, 4, 8, 16, 32];

/// What is said of sums, and of slices.
pub const WEIGHTED: (&str, &str) = ("sum-weighted", "members of a sum count more or less often than once");
pub const SLOPE: (&str, &str) =
    ("slope-of-other-terms", "the derivative of the gate or of softplus is made of other terms");
pub const MIXED: (&str, &str) =
    ("slices-mixed", "items along an axis stand elsewhere, or are sums of several");

/// Sums whose members have other factors than 1.
pub fn weighted(look: &Look) -> Vec<Diagnosis> {
    let problem = look.case.problem;
    let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
    if look.whole_cost() > PAIRS / 8 {
        return Vec::new();
    }
    let specified = Variant::specified(look.case.form);
    let whole = look.whole_scope();
    let compute = |variant: &Variant, scope: &Scope| look.case.sums(variant, scope)[look.name].clone();
    let channels = |is_in: &dyn Fn(&(usize, usize)) -> bool| {
        let channels = whole.channels.iter().copied().filter(|at| is_in(at)).collect();
        compute(&specified, &Scope { channels, ..whole.clone() })
    };
    let mut sums: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    let per_group = dim / groups;
    if is_summed(problem, look.name) {
        sums.push(("item of the batch".to_owned(), (0..batch).map(|b| channels(&|at| at.0 == b)).collect()));
        let chunks =
            CHUNKS.into_iter().filter(|&length| seqlen > length && seqlen.div_ceil(length) <= MEMBERS);
        for length in chunks {
            let count = seqlen.div_ceil(length);
            if look.whole_cost() * count > PAIRS {
                continue;
            }
            let only = |at: usize| Variant { positions: (Pick::Only(at), length), ..specified };
            let what =
                if length == 1 { "position".to_owned() } else { format!("chunk of {length} positions") };
            sums.push((what, (0..count).map(|at| compute(&only(at), &whole)).collect()));
        }
        for lanes in LANES.into_iter().filter(|lanes| *lanes < seqlen && look.whole_cost() * lanes <= PAIRS) {
            let lane = |at: usize| Variant { positions: (Pick::Lane(at), lanes), ..specified };
            let what = format!("remainder of a position divided by {lanes}");
            sums.push((what, (0..lanes).map(|at| compute(&lane(at), &whole)).collect()));
        }
    }
    let is_of_group = match look.name {
        B => problem.b_operand == Operand::Variable,
        C => problem.c_operand == Operand::Variable,
        _ => false,
    };
    let together = match problem.shared_by(look.name) {
        Some(per_head) => Some(("channel of a head", per_head)),
        None => is_of_group.then_some(("channel of a group", per_group)),
    };
    if let Some((what, count)) = together.filter(|(_, count)| *count <= MEMBERS) {
        let of = |i: usize| channels(&|at| at.1 % count == i);
        sums.push((what.to_owned(), (0..count).map(of).collect()));
    }
    if matches!(look.name, U | Delta | Z | DeltaBias) {
        // The skip belongs to no state.
        let variant = Variant { skip: 0.0, gated: [1.0, 0.0], ..specified };
        let of = |n: usize| compute(&variant, &Scope { state: Some(n), ..whole.clone() });
        sums.push(("state".to_owned(), (0..dstate).map(of).collect()));
    }
    sums.into_iter().filter_map(|(what, members)| of_members(look, &what, &members)).collect()
}

/// The factors of a sum's members, if they are all that is wrong.
fn of_members(look: &Look, what: &str, members: &[Vec<f64>]) -> Option<Diagnosis> {
    let (got, want) = (&look.case.got[look.name], &look.case.want[look.name].values);
    let bounds = &look.case.bounds[look.name];
    if members.len() < 2 || members.len() > MEMBERS || want.len() < EQUATIONS * members.len() {
        return None;
    }
    let weights: Vec<f64> = (0..want.len()).map(|i| 1.0 / bounds[i / got.width]).collect();
    let error: Vec<f64> = got.values.iter().zip(want).map(|(got, want)| got - want).collect();
    look.case.work.add(members.len() * want.len());
    let found = least_squares(members, &weights, &[error])?;
    let off: Vec<f64> = found[0].iter().map(|&off| simple(off)).collect::<Option<_>>()?;
    let model: Vec<f64> = (0..want.len())
        .map(|i| want[i] + members.iter().zip(&off).map(|(member, off)| member[i] * off).sum::<f64>())
        .collect();
    if off.iter().all(|of| *of == off[0]) {
        return None;
    }
    let factors: Vec<f64> = off.iter().map(|off| 1.0 + off).collect();
    let text = format!("in the sum, {}", listed(what, &factors));
    look.explained(WEIGHTED.0, &text, &model)
}

/// The derivative of the gate, or of softplus, as a sum of simple functions with other factors than it is to have.
pub fn slopes(look: &Look) -> Option<Diagnosis> {
    let problem = look.case.problem;
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let specified = Variant::specified(look.case.form);
    type Function = (&'static str, fn(f64, f64) -> f64);
    const GATE: [Function; 8] = [
        ("1", |_, _| 1.0),
        ("σ", |_, s| s),
        ("σ²", |_, s| s * s),
        ("z", |z, _| z),
        ("zσ", |z, s| z * s),
        ("zσ²", |z, s| z * s * s),
        ("σ³", |_, s| s.powi(3)),
        ("zσ³", |z, s| z * s.powi(3)),
    ];
    const SOFTPLUS: [Function; 5] =
        [("1", |_, _| 1.0), ("σ", |_, s| s), ("σ²", |_, s| s * s), ("x", |x, _| x), ("eˣ", |x, _| x.exp())];
    let (variant, functions, whose): (Variant, &[Function], &str) = match look.name {
        Z => (Variant { gate_slope: GateSlope::Missing, ..specified }, &GATE, "the gate's derivative"),
        Delta if problem.delta_softplus && problem.shared_by(Delta).is_none() => {
            let variant = Variant { softplus_slope: SoftplusSlope::Missing, ..specified };
            (variant, &SOFTPLUS, "the derivative of softplus")
        }
        _ => return None,
    };
    let Shape { dim, seqlen, .. } = problem.shape;
    let x = |i: usize| {
        let d = i / seqlen % dim;
        let at = problem.sequence_index(i / seqlen / dim, d, i % seqlen);
        match (&problem.z, look.name) {
            (Some(z), Z) => f64::from(z[at]),
            _ => {
                f64::from(problem.delta[at])
                    + problem.delta_bias.as_ref().map_or(0.0, |bias| f64::from(bias[d]))
            }
        }
    };
    let got = &look.case.got[look.name].values;
    let base = &look.case.sums(&variant, &look.whole_scope())[look.name];
    let member =
        |(_, of): &Function| (0..got.len()).map(|i| base[i] * of(x(i), sigmoid(x(i)))).collect::<Vec<f64>>();
    let members: Vec<Vec<f64>> = functions.iter().map(member).collect();
    let weights: Vec<f64> = look.case.bounds[look.name].iter().map(|bound| 1.0 / bound).collect();
    if got.len() < EQUATIONS * 4 * members.len() {
        return None;
    }
    look.case.work.add(members.len() * got.len());
    let found = least_squares(&members, &weights, std::slice::from_ref(got))?;
    let factors: Vec<f64> = found[0].iter().map(|&of| simple(of)).collect::<Option<_>>()?;
    let model: Vec<f64> = (0..got.len())
        .map(|i| members.iter().zip(&factors).map(|(member, factor)| member[i] * factor).sum())
        .collect();
    let terms = functions.iter().zip(&factors).filter(|(_, factor)| **factor != 0.0);
    let terms: Vec<String> = terms
        .map(
            |((name, _), factor)| {
                if *factor == 1.0 { (*name).to_owned() } else { format!("{}·{name}", number(*factor)) }
            },
        )
        .collect();
    let sum = terms.join(" + ").replace("+ -1·", "− ").replace("+ -", "− ");
    let sum = match sum.strip_prefix('-') {
        Some(rest) => format!("−{}", rest.strip_prefix("1·").unwrap_or(rest)),
        None => sum,
    };
    look.explained(SLOPE.0, &format!("{whose} is {sum}"), &model).filter(|_| !terms.is_empty())
}

/// Slices along an axis that are sums of the right ones.
pub fn mixed(look: &Look) -> Vec<Diagnosis> {
    let axes = look.case.want[look.name].shape.len();
    let fitted = (0..axes).filter_map(|axis| along_axis(look, axis)).take(1);
    let fitted: Vec<Diagnosis> = fitted.collect();
    let found = if fitted.is_empty() { (0..axes).find_map(|axis| moved_along(look, axis)) } else { None };
    fitted.into_iter().chain(found).collect()
}

/// What is likely along an axis that has too few elements to fit what each slice is made of.
fn moved_along(look: &Look, axis: usize) -> Option<Diagnosis> {
    let want = &look.case.want[look.name];
    let count = want.shape[axis];
    if !(2..=MEMBERS).contains(&count) || want.values.len() < 2 * TELLING {
        return None;
    }
    let rows = |of: &dyn Fn(usize, usize) -> bool| -> Vec<Vec<f64>> {
        (0..count).map(|i| (0..count).map(|j| f64::from(u8::from(of(i, j)))).collect()).collect()
    };
    let at_once = [
        rows(&|_, _| true),
        rows(&|i, j| j <= i),
        rows(&|i, j| j >= i),
        rows(&|i, j| i + j + 1 == count),
        rows(&|_, j| j == 0),
        rows(&|_, j| j + 1 == count),
    ];
    let by = (1..count).flat_map(|by| {
        [rows(&|i, j| (i + by) % count == j), rows(&|i, j| j + by == i), rows(&|i, j| i + by == j)]
    });
    at_once.into_iter().chain(by).find_map(|rows| as_mixed(look, axis, &rows))
}

fn along_axis(look: &Look, axis: usize) -> Option<Diagnosis> {
    let (got, want) = (&look.case.got[look.name].values, &look.case.want[look.name]);
    let (width, old) = (want.width, &look.case.bounds[look.name]);
    let count = want.shape[axis];
    let each = want.values.len() / count.max(1);
    if !(2..=MEMBERS).contains(&count) || each < EQUATIONS * count.max(4) {
        return None;
    }
    let inner: usize = want.shape[axis + 1..].iter().product::<usize>() * width;
    let index = |slice: usize, i: usize| (i / inner * count + slice) * inner + i % inner;
    let slice = |values: &[f64], at: usize| -> Vec<f64> { (0..each).map(|i| values[index(at, i)]).collect() };
    let largest = |i: usize| (0..count).map(|at| old[index(at, i) / width]).fold(0.0, f64::max);
    let weights: Vec<f64> = (0..each).map(|i| 1.0 / largest(i)).collect();
    let members: Vec<Vec<f64>> = (0..count).map(|at| slice(&want.values, at)).collect();
    let targets: Vec<Vec<f64>> = (0..count).map(|at| slice(got, at)).collect();
    look.case.work.add(members.len() * targets.len() * each);
    let found = least_squares(&members, &weights, &targets)?;
    let found: Vec<Vec<f64>> =
        found.iter().map(|row| row.iter().map(|&of| whole(of)).collect()).collect::<Option<_>>()?;
    as_mixed(look, axis, &found)
}

/// Whether each slice is such a sum of the right ones.
fn as_mixed(look: &Look, axis: usize, found: &[Vec<f64>]) -> Option<Diagnosis> {
    let want = &look.case.want[look.name];
    let (width, old, count) = (want.width, &look.case.bounds[look.name], found.len());
    let each = want.values.len() / count;
    let inner: usize = want.shape[axis + 1..].iter().product::<usize>() * width;
    let index = |slice: usize, i: usize| (i / inner * count + slice) * inner + i % inner;
    let (mut model, mut bounds) = (want.values.clone(), old.clone());
    for (at, row) in found.iter().enumerate() {
        for i in 0..each {
            let here = index(at, i);
            model[here] = row.iter().enumerate().map(|(from, of)| of * want.values[index(from, i)]).sum();
            // What is put together of others is as far off as they are.
            let others = row.iter().enumerate().filter(|(_, of)| **of != 0.0);
            let of_others: f64 = others.map(|(from, of)| of.abs() * old[index(from, i) / width]).sum();
            bounds[here / width] = bounds[here / width].max(of_others);
        }
    }
    let fit = look.fit_within(&bounds, &model, 0..model.len());
    let what = mixture(&item(look, axis), found)?;
    let name = MIXED.0.to_owned();
    fit.explains().then_some(Diagnosis { name, what, residual: fit.residual })
}

/// What stands along an axis.
pub fn item(look: &Look, axis: usize) -> String {
    let of_four = look.case.want[look.name].shape.len() == 4;
    let is_shared = look.case.problem.shared_by(look.name).is_some();
    match (look.name, axis) {
        (A | D | DeltaBias, 0) | (Delta, 1) if is_shared => "head",
        (A | D | DeltaBias, 0) => "channel",
        (B | C, 0) if !of_four => "channel",
        (_, 0) => "item of the batch",
        (A, _) => "state",
        (B | C, 1) if !of_four => "state",
        (B | C, 1) => "group",
        (B | C, 2) => "state",
        (B | C, _) => "position",
        (_, 1) => "channel",
        (U | Delta | Z, _) => "position",
        _ => "state",
    }
    .to_owned()
}

/// What a matrix of small integers says, row by row.
fn mixture(item: &str, rows: &[Vec<f64>]) -> Option<String> {
    let count = rows.len();
    let all = |of: &dyn Fn(usize, usize) -> bool| {
        (0..count).all(|i| (0..count).all(|j| rows[i][j] == f64::from(u8::from(of(i, j)))))
    };
    if all(&|i, j| i == j) {
        return None;
    }
    let is_diagonal = (0..count).all(|i| (0..count).all(|j| i == j || rows[i][j] == 0.0));
    let single = |row: &[f64]| {
        let at = row.iter().position(|&of| of == 1.0)?;
        (row.iter().filter(|&&of| of != 0.0).count() == 1).then_some(at)
    };
    let moved: Option<Vec<usize>> = rows.iter().map(|row| single(row)).collect();
    Some(if is_diagonal {
        listed(item, &(0..count).map(|i| rows[i][i]).collect::<Vec<_>>())
    } else if all(&|i, j| j <= i) {
        format!("each {item} has the sum of all up to it")
    } else if all(&|i, j| j >= i) {
        format!("each {item} has the sum of all from it on")
    } else if all(&|_, _| true) {
        format!("each {item} has the sum of all")
    } else if all(&|i, j| i + j + 1 == count) {
        format!("each {item} has the gradient of the one that is as far from the other end")
    } else if let Some(by) = (1..count).find(|by| all(&|i, j| (i + by) % count == j)) {
        let (by, side) = if 2 * by <= count { (by, "after") } else { (count - by, "before") };
        format!("each {item} has the gradient of the one {by} {side} it, around the end")
    } else if let Some(by) = (1..count).find(|by| all(&|i, j| j + by == i)) {
        format!("each {item} has the gradient of the one {by} before it, and the first has 0")
    } else if let Some(by) = (1..count).find(|by| all(&|i, j| i + by == j)) {
        format!("each {item} has the gradient of the one {by} after it, and the last has 0")
    } else if let Some(of) = (0..count).find(|&of| all(&|_, j| j == of)) {
        format!("each {item} has the gradient of {item} {of}")
    } else {
        let off = (0..count).filter(|&i| (0..count).any(|j| rows[i][j] != f64::from(u8::from(i == j))));
        let text = |i: usize| match moved.as_ref() {
            Some(from) => format!("{item} {i} has the gradient of {item} {}", from[i]),
            None => {
                let of = |j: usize| match rows[i][j] {
                    1.0 => format!("{j}"),
                    factor => format!("{factor} times {j}"),
                };
                let from: Vec<String> = (0..count).filter(|&j| rows[i][j] != 0.0).map(of).collect();
                format!(
                    "{item} {i} has the sum of those of {}",
                    if from.is_empty() { "none".to_owned() } else { from.join(", ") }
                )
            }
        };
        let off: Vec<String> = off.map(text).collect();
        let more =
            if off.len() > 3 { format!(", and {} more like these", off.len() - 3) } else { String::new() };
        format!("{}{more}", off[..off.len().min(3)].join(", "))
    })
}

/// Which have another factor than 1.
fn listed(item: &str, factors: &[f64]) -> String {
    let mut ranges: Vec<(usize, usize, f64)> = Vec::new();
    for (i, &factor) in factors.iter().enumerate() {
        match ranges.last_mut() {
            Some((_, to, of)) if *of == factor => *to = i,
            _ => ranges.push((i, i, factor)),
        }
    }
    let text = |&(from, to, factor): &(usize, usize, f64)| match from == to {
        true => format!("{item} {from} has the factor {}", number(factor)),
        false => format!("each {item} from {from} to {to} has the factor {}", number(factor)),
    };
    let off: Vec<String> = ranges.iter().filter(|(.., factor)| *factor != 1.0).map(text).collect();
    let more = if off.len() > 3 { format!(", and {} more", off.len() - 3) } else { String::new() };
    format!("{}{more} (of 0 to {})", off[..off.len().min(3)].join(", "), factors.len() - 1)
}

/// A simple fraction, if it is one.
pub fn simple(value: f64) -> Option<f64> {
    let below = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    let close = |below: f64| (value * below).round() / below;
    below.into_iter().map(close).find(|close| (close - value).abs() < NOTICED)
}

/// A small integer, if it is one.
fn whole(value: f64) -> Option<f64> {
    let close = value.round();
    ((close - value).abs() < NOTICED && close.abs() <= 64.0).then_some(close + 0.0)
}

/// The factors of members that come closest to each target.
fn least_squares(members: &[Vec<f64>], weights: &[f64], targets: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let count = members.len();
    // Members differ in size by orders of magnitude.
    let dot = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).zip(weights).map(|((a, b), weight)| a * b * weight * weight).sum()
    };
    let sizes: Vec<f64> = members.iter().map(|member| dot(member, member).sqrt()).collect();
    if sizes.iter().any(|&size| size.is_nan() || size <= 0.0 || size.is_infinite()) {
        return None;
    }
    let mut rows: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let of_members = (0..count).map(|j| dot(&members[i], &members[j]) / (sizes[i] * sizes[j]));
            let of_targets = targets.iter().map(|target| dot(&members[i], target) / sizes[i]);
            of_members.chain(of_targets).collect()
        })
        .collect();
    for i in 0..count {
        let pivot = (i..count).max_by(|&a, &b| rows[a][i].abs().total_cmp(&rows[b][i].abs()))?;
        rows.swap(i, pivot);
        // Members that are almost one another tell nothing apart.
        if rows[i][i].is_nan() || rows[i][i].abs() < 1e-9 {
            return None;
        }
        let pivot = rows[i].clone();
        for row in rows[i + 1..].iter_mut() {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(&pivot).for_each(|(x, pivot)| *x -= factor * pivot);
        }
    }
    let solve = |at: usize| -> Vec<f64> {
        let mut found = vec![0.0; count];
        for i in (0..count).rev() {
            let known: f64 = (i + 1..count).map(|j| rows[i][j] * found[j]).sum();
            found[i] = (rows[i][count + at] - known) / rows[i][i];
        }
        found.iter().zip(&sizes).map(|(x, size)| x / size).collect()
    };
    Some((0..targets.len()).map(solve).collect())
}
