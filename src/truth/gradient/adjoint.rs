//! The adjoint of the selective scan (spec.md §6), written once for every kind of number.
//!
//! Cotangents are carried as p with dL = Re(p dw), the conjugate of the gradient of w: no product needs a conjugate then, and
//! the gradients of weights are conjugated at the end.

use super::number::Number;
use super::rules::Rules;
use super::step::Step;
use crate::formula::{Fraction, ReadsNow};
use crate::parallel;
use crate::problem::{Operand, OutputGradients, Problem};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::Named;
use crate::truth::limit::clamped;

/// Every gradient's values, part by part, in the layout of its input.
pub type Sums<R> = Named<Vec<R>, GradientName>;

/// Channels whose shares are held at a time: bounds the memory without idling a thread.
const CHANNELS_AT_ONCE: usize = 16;

/// One scan, its form and what its outputs' gradients are.
#[derive(Clone, Copy)]
pub struct Scan<'p> {
    pub problem: &'p Problem,
    pub form: ReadsNow,
    pub given: &'p OutputGradients,
}

/// A gradient's values from a place on.
type Share<R> = (GradientName, usize, Vec<R>);

/// What one state adds to the gradients of its channel, and to y before it is averaged and doubled.
pub(super) struct Node<V: Number> {
    pub y: Vec<V::Real>,
    pub u: Vec<V::Real>,
    pub delta: Vec<V::Real>,
    /// Its row, of a dense one.
    pub a: Vec<V>,
    /// At each position.
    pub b: Vec<V>,
    pub c: Vec<V>,
    pub initial: V,
}

impl Scan<'_> {
    /// How many values each gradient has.
    pub fn lengths(&self) -> Named<usize, GradientName> {
        self.problem.gradients().into_iter().collect()
    }

    /// The sums over these channels, in their order. None where a step cannot be computed.
    pub fn sums<V: Number>(&self, rules: &Rules<V>, channels: &[(usize, usize)]) -> Option<Sums<V::Real>> {
        let mut sums = self.lengths().map(|_, &len| vec![V::Real::zero(); len]);
        for some in channels.chunks(CHANNELS_AT_ONCE) {
            let share = |i: usize| self.channel(rules, some[i]).ok_or(());
            let shares = parallel::try_each(some.len(), &share).ok()?;
            for (name, start, values) in shares.into_iter().flatten() {
                let Some(sum) = sums.get_mut(name) else { continue };
                for (sum, value) in sum[start..].iter_mut().zip(&values) {
                    *sum = sum.plus(value);
                }
            }
        }
        Some(sums)
    }

    /// What a channel adds, sequence by sequence.
    fn channel<V: Number>(&self, rules: &Rules<V>, at: (usize, usize)) -> Option<Vec<Share<V::Real>>> {
        let mut all = Vec::new();
        for sequence in self.problem.sequences(at.0).iter().filter(|sequence| !sequence.is_padding) {
            let (problem, place) = self.problem.alone(at, sequence);
            let given = self.problem.given_alone(self.given, at, sequence);
            let alone = Scan { problem: &problem, form: self.form, given: &given };
            for (name, values) in alone.sequence(rules, place)? {
                let (places, run) = self.problem.places_alone(name, at, sequence, values.len());
                let runs = values.chunks(run.max(1)).zip(places);
                all.extend(runs.map(|(values, start)| (name, start, values.to_vec())));
            }
        }
        Some(all)
    }

    fn sequence<V: Number>(
        &self,
        rules: &Rules<V>,
        at: (usize, usize),
    ) -> Option<Vec<(GradientName, Vec<V::Real>)>> {
        let p = self.problem;
        let (batch, d) = at;
        let len = p.shape.seqlen;
        let start = p.sequence_index(batch, d, 0);
        let real = |x: f32| V::Real::given(&[x]);
        let optional = |values: &Option<Vec<f32>>| values.as_ref().map(|values| real(values[d]));
        let row = |values: &[f32]| values[start..start + len].iter().map(|&x| real(x)).collect::<Vec<_>>();
        let (u, dout) = (row(&p.u), row(&self.given.dout));
        let bias = optional(&p.delta_bias).unwrap_or_else(V::Real::zero);
        // Δ and its derivative by delta.
        let step_of = |&delta: &f32| {
            let raw = real(delta).plus(&bias);
            match clamped(p, d, delta) {
                Some(limit) => [real(limit), V::Real::zero()],
                None if p.delta_softplus => (rules.softplus)(&raw),
                None => [raw, V::Real::one()],
            }
        };
        let deltas: Vec<[V::Real; 2]> = p.delta[start..start + len].iter().map(step_of).collect();
        let gates: Option<Vec<[V::Real; 2]>> =
            p.z.as_ref().map(|z| row(z).iter().map(|z| (rules.gate)(z)).collect());
        // The gradient of y + D·u.
        let ungated: Vec<V::Real> = match &gates {
            Some(gates) => dout.iter().zip(gates).map(|(dout, gate)| dout.times(&gate[0])).collect(),
            None => dout.clone(),
        };
        // y is this power of two of Re Σ C x.
        let doubling = i64::from(p.output_factor() == 2.0) - i64::from(self.form.is_bidirectional());
        let read: Vec<V::Real> = ungated.iter().map(|ds| ds.shifted(doubling)).collect();
        let node = |n: usize| self.node(rules, at, n, &u, &deltas, &read).ok_or(());
        let nodes = match p.is_dense() {
            true => self.coupled(rules, at, &u, &deltas, &read)?,
            false => parallel::try_each(p.shape.dstate, &node).ok()?,
        };

        let sum = |of: fn(&Node<V>) -> &Vec<V::Real>| {
            nodes.iter().fold(vec![V::Real::zero(); len], |mut sums, node| {
                sums.iter_mut().zip(of(node)).for_each(|(sum, value)| *sum = sum.plus(value));
                sums
            })
        };
        let add = |sum: V::Real, value: &V::Real| sum.plus(value);
        let mut du = sum(|node| &node.u);
        let skip = optional(&p.d);
        if let Some(skip) = &skip {
            du.iter_mut().zip(&ungated).for_each(|(du, ds)| *du = du.plus(&skip.times(ds)));
        }
        let by_step = sum(|node| &node.delta);
        let ddelta: Vec<V::Real> =
            by_step.iter().zip(&deltas).map(|(by, [_, slope])| by.times(slope)).collect();
        let by_weight = |gradients: Vec<&V>| {
            let parts = |x: &V| conjugated(x, p.weights.width()).collect::<Vec<_>>();
            gradients.into_iter().flat_map(parts).collect::<Vec<_>>()
        };
        // B and C: constant ones take the sum over positions.
        let operand = |operand: Operand, of: fn(&Node<V>) -> &Vec<V>| {
            if operand == Operand::Variable {
                return by_weight(nodes.iter().flat_map(of).collect());
            }
            let totals: Vec<V> = nodes
                .iter()
                .map(|node| of(node).iter().fold(V::zero(), |sum, value| sum.plus(value)))
                .collect();
            by_weight(totals.iter().collect())
        };
        // One A of all states collects from all of them.
        let of_head = nodes.iter().flat_map(|node| &node.a).fold(V::zero(), |sum, a| sum.plus(a));
        let of_a = match p.shared_by(A) {
            Some(_) => vec![&of_head],
            None => nodes.iter().flat_map(|node| &node.a).collect(),
        };
        let of_d = ungated.iter().zip(&u).fold(V::Real::zero(), |sum, (ds, u)| sum.plus(&ds.times(u)));
        let mut shares = vec![
            (A, by_weight(of_a)),
            (B, operand(p.b_operand, |node| &node.b)),
            (C, operand(p.c_operand, |node| &node.c)),
            (DeltaBias, vec![ddelta.iter().fold(V::Real::zero(), add)]),
            (D, vec![of_d]),
        ];
        if p.initial_state.is_some() {
            shares.push((InitialState, by_weight(nodes.iter().map(|node| &node.initial).collect())));
        }
        if let Some(gates) = &gates {
            let mut s: Vec<V::Real> = sum(|node| &node.y).iter().map(|y| y.shifted(doubling)).collect();
            if let Some(skip) = &skip {
                s.iter_mut().zip(&u).for_each(|(s, u)| *s = s.plus(&skip.times(u)));
            }
            let dz = (0..len).map(|l| dout[l].times(&s[l]).times(&gates[l][1])).collect();
            shares.push((Z, dz));
        }
        shares.extend([(U, du), (Delta, ddelta)]);
        Some(shares)
    }

    fn node<V: Number>(
        &self,
        rules: &Rules<V>,
        at: (usize, usize),
        n: usize,
        u: &[V::Real],
        deltas: &[[V::Real; 2]],
        read: &[V::Real],
    ) -> Option<Node<V>> {
        let problem = self.problem;
        let len = u.len();
        let width = problem.weights.width();
        let weight = |values: &[f32], start: usize| V::given(&values[start..start + width]);
        let a = weight(&problem.a, problem.weight_index(at.1, n));
        let state = problem.state_index(at, n);
        let initial = problem.initial_state.as_ref().map_or(V::zero(), |values| weight(values, state));
        let operand = |values: &[f32], operand: Operand| -> Vec<V> {
            (0..len).map(|l| weight(values, problem.operand_index(operand, at, n, l))).collect()
        };
        let (b, c) = (operand(&problem.b, problem.b_operand), operand(&problem.c, problem.c_operand));
        // Equal steps in a row have the same coefficients.
        let raw = |l: usize| problem.delta[problem.sequence_index(at.0, at.1, l)].to_bits();
        let mut steps: Vec<Step<V>> = Vec::with_capacity(len);
        for (l, [delta, _]) in deltas.iter().enumerate() {
            let step = match steps.last() {
                Some(step) if raw(l) == raw(l - 1) => step.clone(),
                _ => (rules.step)(self.form, delta, &a)?,
            };
            steps.push(step);
        }
        // What multiplies h u, and what multiplies the states that are read.
        let (forces, reads) = match problem.reads_with_b() {
            true => (vec![V::one(); len], c.iter().zip(&b).map(|(c, b)| c.times(b)).collect()),
            false => (b.clone(), c.clone()),
        };
        let input: Vec<V> = (0..len).map(|l| forces[l].scaled(&u[l])).collect();
        let advance = |x: &V, l: usize| steps[l].a_bar.times(x).plus(&steps[l].b_bar.times(&input[l]));

        let mut node = Node {
            y: Vec::with_capacity(len),
            u: Vec::with_capacity(len),
            delta: Vec::with_capacity(len),
            a: Vec::new(),
            b: Vec::with_capacity(len),
            c: Vec::with_capacity(len),
            initial: V::zero(),
        };
        let last = self.given.dlast_state.as_ref().map_or(V::zero(), |values| {
            let parts = &values[state..state + width];
            V::given(&[parts[0], -parts[width - 1]][..width])
        });
        let early = problem.reads_before();
        let back = |first: V, order: &mut dyn Iterator<Item = usize>| {
            let mut carried = first;
            let visit = |l: usize| {
                let (arriving, late) = (reads[l].scaled(&read[l]), carried.clone());
                let p = if early { late } else { late.plus(&arriving) };
                let returned = steps[l].a_bar.times(&p);
                carried = if early { returned.plus(&arriving) } else { returned };
                p
            };
            let p: Vec<V> = order.map(visit).collect();
            (p, carried)
        };
        let x = states(initial.clone(), 0..len, advance);
        let (mut p, first) = back(last, &mut (0..len).rev());
        p.reverse();
        node.initial = first;
        // The reversed scan; its last state is no output, so that no gradient arrives there.
        let reversed = self.form.is_bidirectional().then(|| {
            let mut x = states(V::zero(), (0..len).rev(), advance);
            x.reverse();
            (x, back(V::zero(), &mut (0..len)).0)
        });
        let (zero, mut by_a) = (V::zero(), V::zero());

        for l in 0..len {
            let step = &steps[l];
            let before = if l > 0 { &x[l - 1] } else { &initial };
            let mut by_a_bar = p[l].times(before);
            let mut seen = if early { before } else { &x[l] }.clone();
            let mut p = p[l].clone();
            if let Some((x, other_p)) = &reversed {
                let before = x.get(l + 1).unwrap_or(&zero);
                by_a_bar = by_a_bar.plus(&other_p[l].times(before));
                seen = seen.plus(if early { before } else { &x[l] });
                p = p.plus(&other_p[l]);
            }
            let by_input = p.times(&step.b_bar);
            let by_b_bar = p.times(&input[l]);
            let by_reads = seen.scaled(&read[l]);
            node.y.push(reads[l].real_product(&seen));
            node.u.push(by_input.real_product(&forces[l]));
            let (by_b, by_c) = match problem.reads_with_b() {
                true => (by_reads.times(&c[l]), by_reads.times(&b[l])),
                false => (by_input.scaled(&u[l]), by_reads),
            };
            node.b.push(by_b);
            node.c.push(by_c);
            let [first, second] = [0, 1].map(|i| (&step.a_bar_by[i], &step.b_bar_by[i]));
            let by_step = by_a_bar.real_product(first.0).plus(&by_b_bar.real_product(first.1));
            node.delta.push(by_step);
            by_a = by_a.plus(&by_a_bar.times(second.0).plus(&by_b_bar.times(second.1)));
        }
        node.a.push(by_a);
        Some(node)
    }
}

/// The states of a scan, in its order.
fn states<V: Number>(
    first: V,
    order: impl Iterator<Item = usize>,
    advance: impl Fn(&V, usize) -> V,
) -> Vec<V> {
    let visit = |x: &mut V, l| {
        *x = advance(x, l);
        Some(x.clone())
    };
    order.scan(first, visit).collect()
}

/// The parts of a weight's gradient, from its cotangent.
fn conjugated<V: Number>(p: &V, width: usize) -> impl Iterator<Item = V::Real> {
    let im = (width == 2).then(|| p.part(1).ratio(Fraction(-1, 1)));
    std::iter::once(p.part(0)).chain(im)
}
